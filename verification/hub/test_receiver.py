"""Bench of hdl/hub/receiver.py: what arrives is sorted; a command enters the queue whole or not at all."""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import Op
from nectar.hdl.hub.receiver import Receiver
from nectar.hdl.link.symbol import ANY_HUB, CONTROL_BIT, Control, command, packet, reply
from nectar.verification.bench import Bench
from nectar.verification.hub.lockstep import Lockstep

HUB = 0x42
OWN = 1 << 16
CODES = [int(code) for code in Control]
RESERVED = [code for code in range(0x100, 0x200) if code not in CODES]
ERRORS = ("reserved", "overrun", "command_cut", "reply_cut")


class Model:
    """The receiver's contract, told by frames: a frame is a list of the symbols that have arrived of it.

    Outputs per symbol: pulses, and the whole content of the queue that the head may see (``visible``), which the bench
    builds up from the component's write, first, commit and cut.
    """

    def __init__(self):
        self.command = None
        self.spoiled = False
        self.reply = None
        self.visible = []

    def step(self, symbol, full):
        """Takes a symbol (None: nothing arrives); returns the pulses."""
        shown = dict.fromkeys((*ERRORS, "ready", "reply_valid"), False)
        if symbol in (None, Control.IDLE):
            return shown
        if symbol == Control.READY:
            return shown | {"ready": True}
        if symbol & CONTROL_BIT:
            shown["reply_cut"] = self.reply is not None
            self.reply = [] if symbol == Control.REPLY else None
            shown["reserved"] = symbol in RESERVED
            if symbol == Control.REPLY or shown["reserved"]:
                return shown
            shown["command_cut"] = self.command is not None
            self.command = [] if symbol == Control.COMMAND else None
            self.spoiled = False
        elif self.reply is not None:
            self.reply.append(symbol)
            if len(self.reply) == 3:
                shown |= {"reply_valid": True, "reply": int.from_bytes(bytes(self.reply), "big")}
                self.reply = None
            return shown
        if self.command is None:
            shown["overrun"] = full
            if not full:
                self.visible.append(symbol)
            return shown
        self.command.append(symbol)
        self.spoiled |= full
        shown["overrun"] = self.spoiled
        if len(self.command) == 4:
            _, op, hub, param = self.command
            if not self.spoiled:
                self.visible += [OWN | op << 8 | param] if hub == HUB and op != Op.CLOSE_ALL else self.command
            self.command = None
        return shown


class Collector:
    """The queue that the receiver writes to."""

    OUTPUTS = ("write", "entry", "first", "commit", "cut")

    def __init__(self):
        self.visible, self.open = [], []

    def step(self, write, entry, first, commit, cut):
        """What the outputs of one cycle do."""
        if cut:
            self.open = []
        if write:
            self.open = [entry] if first else [*self.open, entry]
            if first:
                assert commit, "an own command is written but not committed"
            if commit:
                self.visible += self.open
                self.open = []


def soup():
    """Endless symbols: frames of all kinds, with ready, idle, replies and reserved codes inside, often cut short."""
    while True:
        op = random.choice([Op.OPEN, Op.CLOSE_ALL, random.randrange(256)])
        hub = random.choice([HUB, HUB, ANY_HUB, random.randrange(256)])
        frame = random.choice([command(op, hub, random.randrange(256)), reply(op, hub, random.randrange(256)),
                               packet(random.randbytes(random.randrange(6))), [random.randrange(256)], [random.choice(RESERVED)]])
        if random.random() < 0.3:
            frame = frame[:random.randrange(len(frame) + 1)]
        for symbol in frame:
            while random.random() < 0.15:
                yield from random.choice([[Control.READY], [Control.IDLE], reply(Op.OPEN, 1, 2), [random.choice(RESERVED)], [Control.REPLY]])
            yield symbol


async def compare(dut, lockstep, model, collector, symbols, gap=0.0, full=0.0):
    """Sends ``symbols``; compares the pulses in every cycle and what the head may see behind it."""
    count = dict.fromkeys(ERRORS, 0)
    for symbol in symbols:
        while random.random() < gap:
            await lockstep.step({"hub_id": HUB, "symbol": random.getrandbits(9), "full": random.random() < 0.5},
                                dict.fromkeys((*ERRORS, "ready", "reply_valid", "write"), 0) | {"cut": 0})
        is_full = random.random() < full
        shown = model.step(symbol, is_full)
        outputs = await lockstep.step({"hub_id": HUB, "symbol": symbol, "valid": 1, "full": is_full}, shown, Collector.OUTPUTS)
        assert not (is_full and outputs[0]), "written into a full queue"
        collector.step(*outputs)
        assert collector.visible == model.visible, f"cycle {lockstep.cycle}: the head sees {collector.visible[-4:]}, expected {model.visible[-4:]}"
        del collector.visible[:-4], model.visible[:-4]
        for name in ERRORS:
            count[name] += shown[name]
    return count


async def start(dut):
    lockstep = Lockstep(dut, ["hub_id", "symbol", "valid", "full"])
    await lockstep.reset()
    return lockstep, Model(), Collector()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sorts_whatever_arrives(dut):
    """H8, H12, H16, docs/wire.md: commands, replies, packets, cut short and interrupted at every place."""
    parts = await start(dut)
    stream = soup()
    for gap in (0.0, 0.3):
        count = await compare(dut, *parts, (next(stream) for _ in range(4000)), gap)
        assert count["overrun"] == 0 and all(count[name] > 20 for name in ERRORS if name != "overrun"), count


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def drops_what_finds_the_queue_full(dut):
    """docs/hub.md: a symbol that finds the queue full is dropped and counted, and with it the rest of its command."""
    parts = await start(dut)
    stream = soup()
    for full in (0.05, 0.5):
        count = await compare(dut, *parts, (next(stream) for _ in range(3000)), full=full)
        assert count["overrun"] > 20, count


bench = Bench(__name__, {"receiver": Receiver}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_receiver(configuration, claim):
    bench.check(configuration, claim)

"""Bench of hdl/hub/port/symbol_decoder.py: what arrives is sorted; a command enters the queue whole or not at all."""

import random

import cocotb
import pytest

from nectar.hdl.hub.commands import Op
from nectar.hdl.hub.port.entry import CLOSES, OWN
from nectar.hdl.hub.port.symbol_decoder import SymbolDecoder
from nectar.hdl.link.symbol import ANY_HUB, CONTROL_BIT, Control, command, packet, reply
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep
from nectar.verification.hub.port.test_input_register import kind

FOR_ANY = (Op.ECHO_REPLY, Op.IDENTITY_REPLY, Op.SIZE_REPLY)
RESERVED = [code for code in range(0x100, 0x200) if code not in {int(code) for code in Control}]
ERRORS = ("refused", "reserved", "overrun", "command_cut", "reply_cut")
PULSES = (*ERRORS, "ready", "reply_strobe", "plain", "own", "flush")


class Model:
    """The decoder's contract, told by frames: a frame is a list of the symbols that have arrived of it.

    ``visible`` is the content of the queue that the head may see, which the bench builds up from the component's
    outputs."""

    def __init__(self):
        self.hub = random.randrange(255)
        self.command = None
        self.fate = None  # why the command is dropped: "spoiled" or "void"
        self.reply = None
        self.visible = []
        self.seen = {}

    def step(self, symbol, room, enabled, discard, past=False, taken=False):
        """Takes a symbol (None: nothing arrives) with room for that many entries, while symbols go past the queue,
        while commands are taken; returns the outputs."""
        self.past, self.taken = past, taken
        shown = dict.fromkeys(PULSES, False)
        shown["partial"] = self.command is not None and self.fate is None
        if discard and self.command is not None and self.fate != "spoiled":
            self.fate = "void"
        elif discard and self.command is not None:
            self.fate = "spoiled and void"
        if not enabled:
            shown["refused"] = symbol in (Control.START, Control.COMMAND, Control.REPLY)
            self.command = self.reply = self.fate = None
        elif symbol not in (None, Control.IDLE):
            self._take(symbol, room, shown)
        for name, value in shown.items():
            self.seen[name] = self.seen.get(name, 0) + bool(value)
        return shown

    def _take(self, symbol, room, shown):
        if symbol == Control.READY:
            shown["ready"] = True
        elif symbol & CONTROL_BIT:
            shown["reply_cut"] = self.reply is not None
            self.reply = [] if symbol == Control.REPLY else None
            shown["reserved"] = symbol in RESERVED
            if symbol == Control.REPLY or shown["reserved"]:
                return
            shown["command_cut"] = self.command is not None
            self.command = None
            if symbol == Control.COMMAND:
                self.command = [symbol]
                self.fate = None if room >= 4 else "spoiled"
                shown["overrun"] = room < 4
            else:
                self._plain(symbol, room, shown)
        elif self.reply is not None:
            self.reply.append(symbol)
            shown |= {"reply_strobe": True, "reply_place": len(self.reply)}
            if len(self.reply) == 3:
                self.reply = None
        elif self.command is None:
            self._plain(symbol, room, shown)
        else:
            self.command.append(symbol)
            shown["overrun"] = self.fate == "spoiled"
            if len(self.command) == 4:
                self._execute(shown)

    def _plain(self, symbol, room, shown):
        shown |= {"plain": True, "overrun": not room}
        if room and not self.past:
            self.visible.append(symbol)

    def _execute(self, shown):
        _, op, hub, param = self.command
        if op != Op.CLOSE_ALL and (hub == self.hub or hub == ANY_HUB and op in FOR_ANY):
            flush = op == Op.FLUSH_REPLY and self.fate in (None, "spoiled")
            if self.fate is None or flush:
                shown |= {"own": self.fate is None and not flush, "op": op, "flush": flush}
                self.seen["flushes without room"] = self.seen.get("flushes without room", 0) + (self.fate is not None)
                if flush or not self.taken:
                    self.visible += [OWN | op & 0x7F, (op & 0x80) << 1 | param]
        elif self.fate is None:
            self.visible += self.command if op != Op.CLOSE_ALL else [Control.COMMAND, CLOSES | op, hub, param]
        self.command = None


class Collector:
    """The queue that the decoder writes to."""

    OUTPUTS = ("write", "entry", "offset", "first", "commit", "amount")

    def __init__(self):
        self.visible, self.open = [], {}

    def step(self, write, entry, offset, first, commit, amount):
        """What the outputs of one cycle do."""
        offset = 0 if first else offset
        assert not commit or write and amount == offset + 1
        if write:
            self.open[offset] = entry
            if commit:
                self.visible += [self.open[n] for n in range(offset + 1)]
                self.open = {}


def soup(own):
    """Endless symbols for the HUB with the ID ``own``: frames of all kinds, with ready, idle, replies and reserved
    codes inside, often cut short."""
    while True:
        op = random.choice([Op.OPEN, Op.CLOSE_ALL, Op.FLUSH_REPLY, random.choice(FOR_ANY), 0x57, random.randrange(256)])
        hub = random.choice([own, own, ANY_HUB, random.randrange(256)])
        # What differs in one bit is something else.
        if random.random() < 0.2:
            op ^= 1 << random.randrange(8)
        elif random.random() < 0.2:
            hub ^= 1 << random.randrange(8)
        frame = random.choice(
            [
                command(op, hub, random.randrange(256)),
                command(op, hub, random.randrange(256)),
                reply(op, hub, random.randrange(256)),
                packet(random.randbytes(random.randrange(6))),
                [random.randrange(256)],
                [random.choice(RESERVED)],
            ]
        )
        if random.random() < 0.3:
            frame = frame[: random.randrange(len(frame) + 1)]
        for symbol in frame:
            while random.random() < 0.15:
                yield from random.choice(
                    [[Control.READY], [Control.IDLE], reply(Op.OPEN, 1, 2), [random.choice(RESERVED)], [Control.REPLY]]
                )
            yield symbol


async def compare(lockstep, model, collector, symbols, gap=0.0, crowded=0.0, discard=0.0, off=0.0, past=0.0):
    """Sends ``symbols``; compares the outputs in every cycle and what the head may see behind it."""
    enabled = True
    room = 4
    # The first cycle is idle, since what arrives is told one cycle before.
    arrives = [None, *(None if random.random() < gap else symbol for symbol in symbols)]
    payloads = [random.getrandbits(9) if symbol is None else symbol for symbol in arrives] + [random.getrandbits(9)]
    for symbol, payload, coming in zip(arrives, payloads, payloads[1:]):
        if random.random() < off:
            enabled = not enabled
        if model.command is None or symbol == Control.COMMAND:
            room = random.choice([0, 1, 2, 3]) if random.random() < crowded else 4
        discards, goes_past, takes = (
            random.random() < discard,
            room > 0 and random.random() < past,
            random.random() < past,
        )
        inputs = {
            "hub_id": model.hub,
            "coming": coming,
            "symbol": payload,
            "enabled": enabled,
            "kind": 0 if symbol is None else kind(symbol, enabled),
            "full": room == 0,
            "tight": room < 4,
            "discard": discards,
            "past": goes_past,
            "taken": takes,
        }
        shown = model.step(symbol, room, enabled, discards, goes_past, takes)
        outputs = await lockstep.step(inputs, shown, Collector.OUTPUTS)
        collector.step(*outputs)
        assert collector.visible == model.visible, (
            f"cycle {lockstep.cycles}: the head sees {collector.visible[-4:]}, expected {model.visible[-4:]}"
        )
        del collector.visible[:-4], model.visible[:-4]


async def start(dut):
    lockstep = Lockstep(
        dut, ["hub_id", "coming", "symbol", "kind", "enabled", "discard", "full", "tight", "past", "taken"]
    )
    await lockstep.start()
    return lockstep, Model(), Collector()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def sorts_whatever_arrives(dut):
    """H8, H12, H16, docs/wire.md: commands, replies, packets, cut short and interrupted at every place."""
    parts = await start(dut)
    for op in FOR_ANY:  # none of what differs in one bit is for any HUB
        await compare(*parts, [symbol for bit in range(8) for symbol in command(op ^ 1 << bit, ANY_HUB, bit)])
    for hub in (ANY_HUB, parts[1].hub):  # nor is what differs in one bit from the ID of any HUB, or from ours
        await compare(*parts, [symbol for bit in range(8) for symbol in command(FOR_ANY[0], hub ^ 1 << bit, bit)])
    stream = soup(parts[1].hub)
    seen, rare = parts[1].seen, [name for name in PULSES if name not in ("overrun", "refused")]
    for gap in (0.0, 0.3, 0.0, 0.3):
        await compare(*parts, (next(stream) for _ in range(6000)), gap)
        if gap and all(seen[name] > 20 for name in rare):
            break
    assert seen["overrun"] == seen["refused"] == 0 and all(seen[name] > 20 for name in rare), seen


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_symbol_may_come_in_the_first_cycle_behind_a_reset(dut):
    """docs/hub.md, "Reset hub": nothing is left of what was under way, and the symbol is not taken for a part of it."""
    lockstep, model, collector = await start(dut)
    hub = model.hub
    begun = [command(opcode, hub, 0x66) for opcode in (Op.OPEN, FOR_ANY[0], Op.CLOSE_ALL)]
    for frame in (*begun, reply(Op.OPEN, 1, 2)):
        for byte in (hub, ANY_HUB, 0x55):
            for place in range(4):
                await compare(lockstep, model, collector, frame[:place])
                await lockstep.reset({"hub_id": hub, "coming": byte, "enabled": 1})
                model, collector = Model(), Collector()
                model.hub = hub
                inputs = {"hub_id": hub, "symbol": byte, "kind": kind(byte, True), "enabled": 1}
                collector.step(*await lockstep.step(inputs, model.step(byte, 4, True, False), Collector.OUTPUTS))
                assert collector.visible == model.visible == [byte]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def drops_what_finds_no_room(dut):
    """docs/hub.md: a symbol that finds the queue full is dropped and counted; a command needs room for all four of
    its symbols."""
    parts = await start(dut)
    stream = soup(parts[1].hub)
    for crowded in (0.05, 0.5):
        await compare(*parts, (next(stream) for _ in range(4000)), crowded=crowded)
    assert parts[1].seen["overrun"] > 100, parts[1].seen
    await compare(*parts, [Control.END])
    await compare(*parts, command(Op.FLUSH_REPLY, parts[1].hub, 0x77), crowded=1)
    assert parts[1].seen["flushes without room"], parts[1].seen


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_goes_past_the_queue_does_not_enter_it(dut):
    """docs/hub.md, Timing: an empty queue is bypassed, by symbols and by commands for this HUB, but never by a
    flush."""
    parts = await start(dut)
    hub = parts[1].hub
    await compare(
        *parts,
        [0x11, *command(Op.OPEN, hub, 0x22), *command(Op.FLUSH_REPLY, hub, 0x33), *command(Op.OPEN, hub ^ 1, 0x44)],
        past=1,
    )
    assert parts[1].visible == command(Op.OPEN, hub ^ 1, 0x44)
    stream = soup(parts[1].hub)
    for past in (0.5, 0.9):
        await compare(*parts, (next(stream) for _ in range(3000)), crowded=0.05, discard=0.01, past=past)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def forgets_a_command_of_which_a_part_has_arrived(dut):
    """H20, docs/hub.md, Watchdog: the rest of a command that was taken back is dropped in silence, at whatever place
    it was."""
    parts = await start(dut)
    stream = soup(parts[1].hub)
    for discard in (0.02, 0.3):
        await compare(*parts, (next(stream) for _ in range(4000)), crowded=0.05, discard=discard)
    for place in range(5):
        await compare(*parts, [Control.END])
        symbols = command(Op.OPEN, parts[1].hub, 0x55)
        await compare(*parts, symbols[:place])
        await compare(*parts, [None], discard=1)
        await compare(*parts, [*symbols[place:], 0x66])
        last = [0x66] if place else [OWN, 0x55, 0x66]  # an open
        assert parts[1].visible[-len(last) :] == last


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def takes_nothing_while_it_is_disabled(dut):
    """docs/hub.md, "Disable": frames are counted and dropped; what was under way is forgotten."""
    parts = await start(dut)
    stream = soup(parts[1].hub)
    for off in (0.1, 0.03):
        await compare(*parts, (next(stream) for _ in range(6000)), discard=0.01, crowded=0.05, off=off)
    assert all(parts[1].seen[name] > 0 for name in PULSES), parts[1].seen


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_arrives_in_the_cycle_of_a_disabling_is_dropped(dut):
    """docs/hub.md, "Disable": its kind was told when the port was still in use, and nothing of it stays, wherever it
    comes."""
    lockstep, model, _ = await start(dut)
    symbols = command(Op.FLUSH_REPLY, model.hub, 0x12)
    for before in range(4):
        for symbol in (Control.START, Control.END, Control.COMMAND, 0x55, symbols[before]):
            for sent, following in zip(symbols[:before], symbols[1:]):
                await lockstep.step(
                    {"hub_id": model.hub, "symbol": sent, "coming": following, "kind": kind(sent, True), "enabled": 1}
                )
            await lockstep.step(
                {
                    "hub_id": model.hub,
                    "symbol": symbol,
                    "kind": kind(symbol, True),
                    "full": symbol != 0x55,
                    "tight": symbol != 0x55,
                },
                {"plain": 0, "commit": 0, "own": 0, "flush": 0, "overrun": 0},
            )
            await lockstep.step({"hub_id": model.hub}, {"partial": 0})


bench = Bench(__name__, {"decoder": SymbolDecoder}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_symbol_decoder(configuration, claim):
    bench.check(configuration, claim)

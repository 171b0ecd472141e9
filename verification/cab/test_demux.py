"""Bench of hdl/cab/demux.py: where each symbol goes."""

import random

import cocotb
import pytest

from nectar.hdl.cab.demux import Demux
from nectar.hdl.link.symbol import Control, command, is_control, reply
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep


class Reference:
    """docs/wire.md, frames: lists of the bytes of a reply and of a command that have come."""

    def __init__(self):
        self.reply = self.command = None  # bytes so far; None outside of a frame
        self.seen = {"reply": 0, "cut": 0, "both cut": 0, "inside": 0}

    def step(self, inputs):
        """See ``lockstep``."""
        outputs = {"queue__valid": 0, "reply__valid": 0, "ready": 0, "reserved": 0, "cut": 0}
        symbol = inputs["rx__payload"]
        if not inputs["rx__valid"] or symbol == Control.IDLE:
            return outputs
        if symbol == Control.READY:
            return outputs | {"ready": 1}
        if not is_control(symbol):
            return outputs | self._byte(symbol)
        # A control code cuts a reply short; only what goes to the queue, or begins a command, cuts a command short.
        cut = self.reply is not None
        self.reply = [] if symbol == Control.REPLY else None
        if symbol in (Control.START, Control.END, Control.COMMAND):
            self.seen["both cut"] += cut and self.command is not None
            cut += self.command is not None
            self.command = [] if symbol == Control.COMMAND else None
        if symbol in (Control.START, Control.END):
            outputs |= {"queue__valid": 1, "queue__payload": symbol}
        self.seen["cut"] += cut
        return outputs | {"cut": cut, "reserved": symbol not in set(Control)}

    def _byte(self, byte):
        if self.reply is not None:
            self.seen["inside"] += self.command is not None
            self.reply.append(byte)
            if len(self.reply) < 3:
                return {}
            opcode, hub, value = self.reply
            self.reply = None
            self.seen["reply"] += 1
            return {"reply__valid": 1, "reply__payload": opcode << 16 | hub << 8 | value}
        if self.command is not None:
            self.command.append(byte)
            if len(self.command) == 3:
                self.command = None
            return {}
        return {"queue__valid": 1, "queue__payload": byte}


def rubbish():
    """Frames, whole and broken, one inside the other, and all 512 symbols."""
    kind = random.random()
    if kind < 0.2:
        return reply(*random.randbytes(3), done=random.random() < 0.5)[: random.choice([1, 2, 3, 4, 4, 4])]
    if kind < 0.4:
        return command(*random.randbytes(3))[: random.choice([1, 2, 3, 4, 4, 4])]
    if kind < 0.5:
        outer, inner = random.choice([command, reply])(*random.randbytes(3)), reply(*random.randbytes(3))
        place = random.randrange(1, 4)
        return [*outer[:place], *inner, *outer[place:]]
    if kind < 0.7:
        return [random.choice([*Control]) ^ 1 << random.randrange(9)]  # nearly a control code
    return [random.choice([random.getrandbits(9), random.getrandbits(8), *Control])]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_symbol_goes_where_the_wire_says(dut):
    """docs/wire.md, frames and what goes the other way; docs/cab.md, fiber in 1: with and without pauses, and with idle
    and ready symbols at any place, inside of frames, too."""
    clock = Lockstep(dut)
    await clock.start("rx__payload", "rx__valid")
    reference = Reference()

    def stimuli():
        for density in (1, 0.6):
            for _ in range(3000):
                for symbol in rubbish():
                    while random.random() >= density:
                        yield {"rx__valid": 0, "rx__payload": random.getrandbits(9)}
                    while random.random() < 0.1:
                        yield {"rx__valid": 1, "rx__payload": int(random.choice([Control.IDLE, Control.READY]))}
                    yield {"rx__valid": 1, "rx__payload": int(symbol)}

    await clock.follow(reference.step, stimuli())
    assert min(reference.seen.values()) > 20, reference.seen


bench = Bench(__name__, {"demux": Demux}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_demux(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)

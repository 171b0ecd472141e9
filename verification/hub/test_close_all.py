"""Bench of hdl/hub/close_all.py: close all and nothing else is recognised."""

import random

import cocotb
import pytest

from nectar.hdl.hub.close_all import CloseAllDetector
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import Control, command, packet
from nectar.verification.bench import Bench
from nectar.verification.hub.lockstep import Lockstep


def piece():
    """A random part of a stream, with the outputs that belong to each symbol: [(symbol, command, inside, last)]."""
    draw = random.random()
    if draw < 0.3:
        close_all = command(Op.CLOSE_ALL, *random.choices([0, Op.CLOSE_ALL, 0x55, 0xFF], k=2))
        return [(symbol, n == 0, n > 0, n == 3) for n, symbol in enumerate(close_all)]
    if draw < 0.6:
        op = random.choice([op for op in range(256) if op != Op.CLOSE_ALL])
        other = command(op, *random.choices([0, Op.CLOSE_ALL, 0x55, 0xFF], k=2))
        return [(symbol, n == 0, False, False) for n, symbol in enumerate(other)]
    symbols = packet(random.choices([Op.CLOSE_ALL, 0x05, 0x55], k=random.randrange(5))) if draw < 0.8 else [Op.CLOSE_ALL]
    return [(symbol, False, False, False) for symbol in symbols]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def recognises_close_all_and_nothing_else(dut):
    """H13: close all is recognised whatever its HUB ID and parameter, and not in data nor in the bytes of other commands."""
    lockstep = Lockstep(dut, ["symbol", "strobe", "forget"])
    await lockstep.reset()
    found = 0
    for share in (1.0, 0.5):
        for _ in range(300):
            for symbol, is_command, is_inside, is_last in piece():
                while random.random() > share:
                    await lockstep.step({"symbol": random.choice([symbol, Control.COMMAND, Op.CLOSE_ALL]), "strobe": 0}, {"last": is_last})
                await lockstep.step({"symbol": symbol, "strobe": 1}, {"command": is_command, "inside": is_inside, "last": is_last})
                found += is_last
    assert found > 100


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def forgets_a_close_all_of_which_the_rest_is_thrown_away(dut):
    """docs/hub.md, "Flush": behind a close all that was cut short in the queue the next symbol begins something new."""
    lockstep = Lockstep(dut, ["symbol", "strobe", "forget"])
    await lockstep.reset()
    close_all = command(Op.CLOSE_ALL, 0xFF, 0)
    for place in range(4):
        for together in (False, True):
            for n, symbol in enumerate(close_all[:place]):
                await lockstep.step({"symbol": symbol, "strobe": 1, "forget": together and n == place - 1}, {"inside": n > 0})
            if not together:
                await lockstep.step({"symbol": random.getrandbits(9), "forget": 1})
            for n, symbol in enumerate(close_all if place % 2 else packet(b"\x14\x14")):
                await lockstep.step({"symbol": symbol, "strobe": 1}, {"inside": n > 0 and place % 2, "last": n == 3 and place % 2})


bench = Bench(__name__, {"detector": CloseAllDetector}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_close_all(configuration, claim):
    bench.check(configuration, claim)

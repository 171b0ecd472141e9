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
    lockstep = Lockstep(dut, ["symbol", "strobe"])
    await lockstep.reset()
    found = 0
    for share in (1.0, 0.5):
        for _ in range(300):
            for symbol, is_command, is_inside, is_last in piece():
                while random.random() > share:
                    await lockstep.step({"symbol": random.choice([symbol, Control.COMMAND, Op.CLOSE_ALL]), "strobe": 0}, {"last": 0})
                await lockstep.step({"symbol": symbol, "strobe": 1}, {"command": is_command, "inside": is_inside, "last": is_last})
                found += is_last
    assert found > 100


bench = Bench(__name__, {"detector": CloseAllDetector}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_close_all(configuration, claim):
    bench.check(configuration, claim)

"""Bench of hdl/hub/port/input_register.py: what arrives, from where, and what it is."""

import random

import cocotb
import pytest

from nectar.hdl.hub.port.input_register import InputRegister
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

BITS = {name: 1 << n for n, name in enumerate(("byte", "frame", "command", "reply", "ready", "reserved", "refused"))}
CODES = {
    Control.START: "frame",
    Control.END: "frame",
    Control.COMMAND: "command",
    Control.REPLY: "reply",
    Control.READY: "ready",
}
INPUTS = ["rx_payload", "rx_valid", "looped", "loop_symbol", "loop_valid", "enabled"]


def kind(symbol, enabled):
    """The kind of a symbol as a number."""
    if not enabled:
        return BITS["refused"] if symbol in (Control.START, Control.COMMAND, Control.REPLY) else 0
    if symbol == Control.IDLE:
        return 0
    return BITS["byte" if symbol < 0x100 else CODES.get(symbol, "reserved")]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def knows_every_symbol(dut):
    """docs/wire.md, Symbols; docs/hub.md, "Disable": every symbol from the pins and from the loop, at a port in use
    and at one that is not."""
    lockstep = Lockstep(dut, INPUTS)
    await lockstep.start()
    shown = {}
    symbols = [
        (symbol, enabled, looped, valid)
        for symbol in range(512)
        for enabled in (0, 1)
        for looped in (0, 1)
        for valid in ((0, 1) if symbol in CODES else (random.random() < 0.9,))
    ]
    random.shuffle(symbols)
    for symbol, enabled, looped, valid in symbols:
        other = {"payload": random.getrandbits(9), "valid": random.random() < 0.5}
        here, there = ("loop_symbol", "rx_payload") if looped else ("rx_payload", "loop_symbol")
        inputs = {
            here: symbol,
            there: other["payload"],
            here.split("_")[0] + "_valid": valid,
            there.split("_")[0] + "_valid": other["valid"],
            "looped": looped,
            "enabled": enabled,
        }
        await lockstep.step(inputs, shown | {"coming": symbol})
        shown = {"symbol": symbol, "valid": valid, "kind": kind(symbol, enabled) if valid else 0}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def nothing_has_arrived_behind_a_reset(dut):
    """docs/hub.md, "Reset hub": a reset of one cycle forgets what was at the port, and what comes in that cycle."""
    lockstep = Lockstep(dut, INPUTS)
    await lockstep.start()
    for symbol in [*Control, 0x1F0, *(random.randrange(256) for _ in range(4))]:
        for enabled in (0, 1):
            inputs = {"rx_payload": symbol, "rx_valid": 1, "enabled": enabled}
            await lockstep.step(inputs)
            await lockstep.reset(inputs)
            await lockstep.step({"enabled": enabled}, {"valid": 0, "kind": 0})


bench = Bench(__name__, {"register": InputRegister}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_input_register(configuration, claim):
    bench.check(configuration, claim)

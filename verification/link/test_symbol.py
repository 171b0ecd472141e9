"""Bench of hdl/link/symbol.py: the numbers of the wire and the frames made of them."""

import ast

import pytest

from nectar.hdl.link import symbol
from nectar.hdl.link.symbol import (
    ANY_HUB,
    CONTROL_BIT,
    MAX_PACKET,
    SYMBOL_BITS,
    Control,
    command,
    is_control,
    packet,
    reply,
)


def test_every_control_code_is_a_symbol_beyond_the_data_bytes():
    """docs/wire.md, symbols: nine bits, bit 8 tells control codes from data."""
    for code in Control:
        assert code < 1 << SYMBOL_BITS and code & CONTROL_BIT
        assert is_control(code)
    assert not any(is_control(byte) for byte in range(256))


def test_control_codes_are_the_taxi_commands_of_the_specification():
    """docs/wire.md, symbols: the codes are fixed, since software and other hardware rely on them."""
    assert {code.name: int(code) for code in Control} == {
        "IDLE": 0x100,
        "START": 0x102,
        "END": 0x103,
        "READY": 0x104,
        "COMMAND": 0x105,
        "REPLY": 0x106,
    }


def test_a_command_is_three_bytes_behind_its_control_code():
    """H8: command, HUB ID, parameter."""
    assert command(0x02, 7, 8) == [0x105, 0x02, 7, 8]
    assert command(0x14, ANY_HUB, 0) == [0x105, 0x14, 0xFF, 0]


@pytest.mark.parametrize("opcode", [0x02, 0x03, 0x30, 0x31, 0xFE, 0xFF])
def test_a_reply_tells_done_from_refused_in_bit_0(opcode):
    """docs/wire.md, frames: bit 0 of the opcode in a reply is 1 for done and 0 for refused, whatever it was in the
    command."""
    assert reply(opcode, 9, 0x85) == [0x106, opcode | 1, 9, 0x85]
    assert reply(opcode, 9, 3, done=False) == [0x106, opcode & 0xFE, 9, 3]


@pytest.mark.parametrize("data", [b"", b"\x00", bytes(range(256)), bytes(MAX_PACKET)])
def test_a_packet_is_its_data_between_start_and_end(data):
    """H16: data packets are framed by start of packet and end of packet."""
    symbols = packet(data)
    assert symbols[0] == Control.START and symbols[-1] == Control.END
    assert bytes(symbols[1:-1]) == data


@pytest.mark.parametrize("make", [command, reply])
@pytest.mark.parametrize("place, name", [(0, "opcode"), (1, "hub"), (2, None)])
@pytest.mark.parametrize("value", [-1, 256])
def test_a_field_that_is_no_byte_is_refused(make, place, name, value):
    """The message names the field and the value."""
    fields = [1, 2, 3]
    fields[place] = value
    name = name or ("param" if make is command else "value")
    with pytest.raises(ValueError, match=rf"^{name} must be 0 to 255, not {value}$"):
        make(*fields)


def test_data_that_are_no_bytes_are_refused():
    """A packet carries bytes only: a control code inside would be taken for what it says."""
    with pytest.raises(ValueError):
        packet([0x103])


def test_the_module_imports_nothing_of_the_hardware():
    """Software reads the wire from here without pulling in an HDL library."""
    with open(symbol.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules == {"enum"}

"""Memories of which nobody reads a word while it is written, in RTLIL. Plain Python.

Amaranth's read ports give the old word then. A block RAM may not, so yosys puts registers and a comparison of addresses
beside it, unless it is told that any value will do. Verilog says so by the attribute ``no_rw_check`` of the memory; for
the ports of RTLIL it comes too late."""

import re

__all__ = ["unchecked"]

_MODULE = re.compile(r"^module .*?^end$", re.M | re.S)
_MARKED = re.compile(r"^  attribute \\no_rw_check 1\n(?:  attribute .*\n)*  memory .* (\S+)$", re.M)
_PORT = re.compile(r"^  cell \$mem(rd|wr)_v2 .*?^  end$", re.M | re.S)
_MASK = re.compile(r"(parameter \\COLLISION_X_MASK (\d+)')[01]+")


def unchecked(text):
    """RTLIL ``text``, in which any value will do for what is read from a memory with the attribute ``no_rw_check``
    while it is written at the same clock."""
    return _MODULE.sub(_module, text)


def _module(match):
    text = match.group()
    marked = {name.replace("\\", "\\\\") for name in _MARKED.findall(text)}
    if not marked:
        return text
    ports = [port for port in _PORT.finditer(text) if _value(port, "parameter \\MEMID").strip('"') in marked]
    writes = {}
    for port in ports:
        if port.group(1) == "wr":
            writes.setdefault(_value(port, "parameter \\MEMID"), set()).add(_value(port, "connect \\CLK"))
    for port in reversed(ports):
        if (
            port.group(1) == "rd"
            and writes.get(_value(port, "parameter \\MEMID")) == {_value(port, "connect \\CLK")}
            and _value(port, "parameter \\CLK_ENABLE") == "1"
        ):
            loose = _MASK.sub(lambda mask: mask.group(1) + "1" * int(mask.group(2)), port.group())
            text = text[: port.start()] + loose + text[port.end() :]
    return text


def _value(port, what):
    """What follows ``what`` in its line of a port."""
    return re.search(rf"^    {re.escape(what)} (.*)$", port.group(), re.M).group(1)

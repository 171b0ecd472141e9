"""The address map of the iPSC/2's node: as the table of docs/ipsc2-node.md, and for the header of a Verilog file. Plain
Python that imports nothing of the hardware."""

from ...cab.listing import bits
from .registers import REGISTERS

__all__ = ["listing", "table"]


def _registers():
    return sorted(REGISTERS, key=lambda register: register.offset)


def table():
    """Lines of a Markdown table: registers in the order of their addresses, each with its fields."""
    yield "| address | | register, field | bits | |"
    yield "|---|---|---|---|---|"
    for register in _registers():
        yield f"| `0x{register.address:06X}` | {register.access} | `{register.name}` | | {register.purpose} |"
        for item in sorted(register.fields, key=lambda item: item.low):
            yield f"| | | `{item.name}` | {bits(item)} | {item.purpose} |"


def listing(memory_bytes):
    """Lines that tell memory of so many bytes, registers and fields."""
    yield "regions (byte addresses)"
    yield f"  0x000000-0x{memory_bytes - 1:06X}  memory"
    yield "registers (32-bit words; r read, w write)"
    for register in _registers():
        yield f"  0x{register.address:06X}  {register.access:3} {register.name:16}{register.purpose}"
        for item in sorted(register.fields, key=lambda item: item.low):
            yield f"                {bits(item):>7}  {item.name:16}{item.purpose}"

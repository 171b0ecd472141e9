"""The registers of the iPSC/2's node as the table of docs/ipsc2-node.md. Plain Python that imports nothing of the
hardware."""

from .registers import REGISTERS

__all__ = ["table"]


def table():
    """Lines of a Markdown table: registers in the order of their addresses, each with its fields."""
    yield "| address | | register, field | bits | |"
    yield "|---|---|---|---|---|"
    for register in sorted(REGISTERS, key=lambda register: register.offset):
        yield f"| `0x{register.address:06X}` | {register.access} | `{register.name}` | | {register.purpose} |"
        for item in sorted(register.fields, key=lambda item: item.low):
            bits = str(item.low) if item.width == 1 else f"{item.low + item.width - 1}:{item.low}"
            yield f"| | | `{item.name}` | {bits} | {item.purpose} |"

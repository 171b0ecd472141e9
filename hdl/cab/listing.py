"""The CAB's address map as text, for ``nectar map`` and for the header of a Verilog file. Plain Python that imports
nothing of the hardware."""

from .addresses import REGISTERS
from .regions import REGIONS
from .vme.registers import VME_REGISTERS

__all__ = ["bits", "listing", "registers"]


def bits(item):
    """The bits of a field, as people write them."""
    return str(item.low) if item.width == 1 else f"{item.low + item.width - 1}:{item.low}"


def registers(vme=True):
    """The registers in the order of their addresses, those of VME only with ``vme``."""
    return sorted(
        (register for register in REGISTERS if vme or register not in VME_REGISTERS),
        key=lambda register: register.offset,
    )


def listing(sizes=None, vme=None):
    """Lines that tell regions, registers and fields.

    ``sizes``: bytes that the board has of a region, by the region's name, where not all. ``vme``: whether the board has
    VME; if None, the registers of VME are told, and that most boards have no window.
    """
    yield "regions (byte addresses)"
    for region in sorted(REGIONS.values(), key=lambda region: region.base):
        if vme is False and not region.present:
            continue
        end = region.base + (sizes or {}).get(region.name, region.size)
        absent = "" if region.present or vme else " (not on this board: bus error)"
        yield f"  0x{region.base:06X}-0x{end - 1:06X}  {region.name:12}{region.purpose}{absent}"
    yield "registers (32-bit words; r read, w write)"
    for register in registers(vme is not False):
        yield f"  0x{register.address:06X}  {register.access:3} {register.name:15}{register.purpose}"
        for item in register.fields:
            yield f"                {bits(item):>7}  {item.name:15}{item.purpose}"

"""Prints the CAB's address map: regions, registers and their fields."""

from .errors import DONE
from .results import Result, add_json_option, check_target, save_json

HELP = "print the CAB's address map and registers"


def configure(parser):
    """Options of ``nectar map``."""
    add_json_option(parser)


def _bits(item):
    return str(item.low) if item.width == 1 else f"{item.low + item.width - 1}:{item.low}"


def _region(region):
    return Result(f"region.{region.name}", region.base, "byte address", more={
        "size": region.size, "end": region.end, "present": region.present, "purpose": region.purpose})


def _register(register):
    return Result(f"register.{register.name}", register.address, "byte address", more={
        "access": register.access, "purpose": register.purpose,
        "fields": [{"name": item.name, "low": item.low, "width": item.width, "purpose": item.purpose}
                   for item in register.fields]})


def execute(options):
    """Prints regions and registers in the order of their addresses."""
    from ..hdl.cab.addresses import REGISTERS, REGIONS
    check_target("--json", options.json)
    regions = sorted(REGIONS.values(), key=lambda region: region.base)
    registers = sorted(REGISTERS, key=lambda register: register.offset)
    print("regions (byte addresses)")
    for region in regions:
        absent = "" if region.present else " (not on this board: bus error)"
        print(f"  0x{region.base:06X}-0x{region.end - 1:06X}  {region.name:12}{region.purpose}{absent}")
    print("registers (32-bit words; r read, w write)")
    for register in registers:
        print(f"  0x{register.address:06X}  {register.access:3} {register.name:15}{register.purpose}")
        for item in register.fields:
            print(f"                {_bits(item):>7}  {item.name:15}{item.purpose}")
    save_json(options.json, [*map(_region, regions), *map(_register, registers)])
    return DONE

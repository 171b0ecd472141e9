"""Prints the CAB's address map: regions, registers and their fields."""

from .errors import DONE
from .results import Result, add_json_option, check_target, save_json

HELP = "print the CAB's address map and registers"


def configure(parser):
    """Options of ``nectar map``."""
    parser.add_argument("--markdown", action="store_true", help="print it as the page docs/map.md")
    add_json_option(parser)


def _region(region):
    return Result(
        f"region.{region.name}",
        region.base,
        "byte address",
        more={"size": region.size, "end": region.end, "present": region.present, "purpose": region.purpose},
    )


def _register(register):
    return Result(
        f"register.{register.name}",
        register.address,
        "byte address",
        more={
            "access": register.access,
            "purpose": register.purpose,
            "fields": [
                {"name": item.name, "low": item.low, "width": item.width, "purpose": item.purpose}
                for item in register.fields
            ],
        },
    )


_PAGE = """\
# The CAB's registers

Made from the tables in `nectar.hdl.cab.addresses` and `regions` by `nectar map --markdown`; a test keeps it up to date.
What a CAB does with them is in [cab.md](cab.md), and in [vme.md](vme.md) for those of VME, which only a board with VME
has.

All registers are words of 32 bits at byte addresses of the CPU bus: an access that is not a whole word, a load of one
that is not marked `r`, a store to one that is not marked `w`, and any access to an address that is not named here is a
bus error. Bits that no field names read as 0 and are ignored when written; a register without fields is one number of
32 bits. The program of a CPU that is not this project's can take names and numbers from `nectar map --json FILE`.

"""
#: What the registers of each page of 1 kbyte are for.
_PAGES = "Fiber and interrupts", "Timers", "VME", "The kernel's"


def _markdown(regions, registers):
    """Prints the page."""
    from ..hdl.cab.listing import bits

    print(_PAGE, end="")
    print("## Regions\n\n| first address | last address | region | |\n|---|---|---|---|")
    for region in regions:
        print(
            f"| `0x{region.base:06X}` | `0x{region.end - 1:06X}` | {region.name} | {region.purpose}"
            f"{'' if region.present else '; only on a board with VME'} |"
        )
    page = None
    for register in registers:
        if page != register.offset >> 10:
            page = register.offset >> 10
            print(f"\n## {_PAGES[page]}\n\n| address | | register, field | bits | |\n|---|---|---|---|---|")
        print(f"| `0x{register.address:06X}` | {register.access} | `{register.name}` | | {register.purpose} |")
        for item in register.fields:
            print(f"| | | `{item.name}` | {bits(item)} | {item.purpose} |")


def execute(options):
    """Prints regions and registers in the order of their addresses."""
    from ..hdl.cab import listing
    from ..hdl.cab.regions import REGIONS

    check_target("--json", options.json)
    regions = sorted(REGIONS.values(), key=lambda region: region.base)
    registers = listing.registers()
    if options.markdown:
        _markdown(regions, registers)
    else:
        print(*listing.listing(), sep="\n")
    save_json(options.json, [*map(_region, regions), *map(_register, registers)])
    return DONE

"""The HUB on an FPGA, beside other switches of its size, a CAB, router and node of the iPSC/2, and small HUBs on
other FPGAs: what ``nectar bench fpga`` measures.

The other switches were measured once, with the same tools and the same FPGA; their sources are not part of this
project, so their figures stand here."""

from dataclasses import asdict, dataclass

from ...hdl.hub.profile import HUB_PROFILES
from ...hdl.product import product
from . import fpga
from .devices import DEVICES
from .outcome import Outcome

__all__ = ["CAB", "DIMENSIONS", "MEMORY_BYTES", "OTHERS", "PEERS", "PORTS", "Peer", "TARGETS", "measure"]

PORTS = 16
#: The CAB that is measured: memories and table of rights of a size that an FPGA has.
CAB = {"data_bytes": 64 << 10, "program_bytes": 64 << 10, "domains": 4, "pages": 256}
#: Dimensions of the cube of router and node: the largest one.
DIMENSIONS = 7
#: Memory of the node that is measured.
MEMORY_BYTES = 64 << 10
#: FPGAs of other families, and the HUB that they have room for.
OTHERS = {"ice40": {"ports": 4, "monitor": False}, "gowin": {"ports": 4}}


@dataclass(frozen=True)
class Peer:
    """Another switch: ``comb`` LUTs and ``mhz`` by way of synthesis (the names of ``fpga.OPTIONS``), ``ram`` block
    RAMs."""

    name: str
    comb: dict
    mhz: dict
    ram: int


PEERS = (
    Peer(
        "bare AXI-stream crosspoint, 16 x 16 x 8 bits: no commands, no arbitration, no queues",
        {"default": 3361, "nowidelut": 2081},
        {"default": 178, "nowidelut": 197},
        0,
    ),
    Peer(
        "arbitrated AXI-stream switch, 16 x 16 x 8 bits, 3 cycles from first beat to first beat",
        {"default": 6663, "nowidelut": 5584},
        {"default": 75, "nowidelut": 75},
        0,
    ),
    Peer("the same with input FIFOs of 1 kbyte, 6 cycles", {"default": 8092}, {"default": 75}, 16),
    Peer("one router with 5 ports of a network on chip with virtual channels", {"default": 3877}, {"default": 75}, 0),
)

#: What a profile of the HUB, or the CAB, must reach with ``-nowidelut``: at least MHz, at most LUTs and block RAMs.
TARGETS = {"modern": {"mhz": 125, "comb": 9000, "ram": 16}, "cab": {"mhz": 80}}


def _figures(values):
    return " / ".join(f"{value:,.0f}" for value in values.values())


def _peers():
    """Lines of a table; where there are two figures the second is with ``-nowidelut``."""
    return [
        f"beside it: {_figures(peer.comb):>13} LUTs {_figures(peer.mhz):>9} MHz {peer.ram:2} block RAMs  {peer.name}"
        for peer in PEERS
    ]


def measure(scale, ports=PORTS, scheduler=None):
    """Measures the HUB in all profiles, the CAB, the router and the node; then small HUBs on other FPGAs. Returns a
    list of Outcomes. ``scale`` below 1: one seed, and ``-nowidelut`` only. ``scheduler``: address of a Dask scheduler,
    on whose workers the seeds run.

    Raises NotInstalled without the tools, SpreadError.
    """
    fpga.versions()
    seeds, ways = ((1, 2, 3), ("nowidelut", "default")) if scale >= 1 else ((1,), ("nowidelut",))
    outcomes = []
    for profile in HUB_PROFILES:
        text = product("hub", ports=ports, profile=profile)
        outcomes += _placed(text, "hub", f"{ports} ports, {profile}", profile, seeds, ways, PEERS, scheduler)
    data, program, domains = CAB["data_bytes"] >> 10, CAB["program_bytes"] >> 10, CAB["domains"]
    size = f"CAB, {data} kbyte of data memory, {program} of program RAM, {domains} domains"
    outcomes += _placed(product("cab", **CAB), "cab", size, "cab", seeds, ways, (), scheduler)
    text, size = product("router", dimensions=DIMENSIONS), f"router of the iPSC/2, {DIMENSIONS} dimensions"
    outcomes += _placed(text, "router", size, "router", seeds, ways, (), scheduler)
    text = product("node", dimensions=DIMENSIONS, memory_bytes=MEMORY_BYTES)
    size = f"node of the iPSC/2 with its router, {DIMENSIONS} dimensions, {MEMORY_BYTES >> 10} kbyte of memory"
    outcomes += _placed(text, "node", size, "node", seeds, ways, (), scheduler)
    for device, small in OTHERS.items():
        without = "" if small.get("monitor", True) else " without monitor"
        what = f"{small['ports']} ports{without}, modern, on a {DEVICES[device].title}"
        text = product("hub", profile="modern", **small)
        outcomes += _placed(text, "hub", what, device, seeds, ("default",), (), scheduler, device)
    return outcomes


def _placed(text, top, what, part, seeds, ways, peers, scheduler, device="ecp5"):
    """Speed, LUTs and block RAMs of one design on a ``device``; ``what`` it is, beside ``peers``."""
    cells = DEVICES[device]
    found = {way: fpga.measure(text, top, options=way, device=device, seeds=seeds, scheduler=scheduler) for way in ways}
    target = TARGETS.get(part, {})
    best, *others = found.items()
    other = "".join(f"; {way}: {item.area.comb} LUTs, {item.mhz:.1f} MHz" for way, item in others)
    runs = ", ".join(f"{run.mhz:.1f}" for run in best[1].runs)
    measured = {way: {"mhz": item.mhz, **asdict(item)} for way, item in found.items()}
    about = f"{what}, {best[0]}"
    area, path = best[1].area, best[1].path
    lines = [f"{about}: {runs} MHz{other}; slowest from {path[0][1]} to {path[-1][1]}", *(_peers() if peers else ())]
    return [
        Outcome(
            best[1].mhz,
            "MHz",
            target.get("mhz"),
            "\n".join(lines),
            measured=measured | {"peers": [asdict(peer) for peer in peers]},
            part=f"{part}.speed",
        ),
        Outcome(
            area.comb,
            "LUTs",
            target.get("comb"),
            f"{about}: {' and '.join(cells.comb)}; {area.ff} flip-flops, {area.lutram} LUT RAMs",
            at_most=True,
            part=f"{part}.luts",
        ),
        Outcome(area.ram, "RAMs", target.get("ram"), f"{about}: {cells.ram}", at_most=True, part=f"{part}.memory"),
    ]

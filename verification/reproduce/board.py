"""Figures of one CAB: what its board says of itself, and the rates of its memory with everybody busy at once."""

from functools import cache

from ...hdl.cab.addresses import REG
from ...hdl.cab.regions import ADDRESS_BITS, REGIONS
from ...sim.profile import PROTOTYPE
from ..benchmarks import cab
from ..benchmarks.outcome import NotInstalled
from .facts import Found
from .runs import simulate

__all__ = [
    "added_latency",
    "clock",
    "data_memory",
    "domains",
    "fiber_in",
    "fiber_out",
    "memory_rate",
    "page_bytes",
    "program_memory",
    "prom",
    "vme_rate",
]

_CONFIG = REG["CONFIG"]


async def _ask(cab):
    return await cab.door.read(_CONFIG.address)


@cache
def _config():
    return simulate("hub:1", [("CAB1", _ask, ())])[0][0]


_SAID = "the simulated board's register CONFIG"


def data_memory():
    """C3: kbytes of data memory."""
    return Found((1 << _CONFIG.data.get(_config())) >> 10, _SAID)


def program_memory():
    """C3: kbytes of program RAM."""
    return Found((1 << _CONFIG.program.get(_config())) >> 10, _SAID)


async def _read_prom(cab):
    region = REGIONS["prom"]
    return len(await cab.door.read_block(region.base, region.size))


def prom():
    """C3: kbytes of program PROM."""
    return Found(
        simulate("hub:1", [("CAB1", _read_prom, ())])[0][0] >> 10,
        "the CPU of a simulated CAB has read it from its first byte to its last",
    )


def page_bytes():
    """C4: bytes of a protection page."""
    return Found(
        (1 << ADDRESS_BITS) >> _CONFIG.pages.get(_config()), f"the address space by the number of pages in {_SAID}"
    )


def domains():
    """C5: protection domains."""
    return Found(1 << _CONFIG.domains.get(_config()), _SAID)


def clock():
    """C8: megahertz of the CPU."""
    return Found(PROTOTYPE.cpu_hz / 1e6, "clock of the simulated CAB, to which all times of software refer")


@cache
def _outcomes():
    """What ``nectar bench cab`` finds, by part; or the reason why not."""
    try:
        return {outcome.part: outcome for outcome in cab.measure(1)}
    except NotInstalled as error:
        return str(error)


def _rate(part, of=None):
    outcomes = _outcomes()
    if isinstance(outcomes, str):
        return Found(None, outcomes)
    outcome = outcomes[part]
    value = outcome.value if of is None else outcome.measured[of]
    return Found(round(value, 3), f"RTL at 16.5 MHz with both fibers, VME and CPU busy at once: {outcome.text}")


def fiber_out():
    """C1: Mbyte/s of the outgoing fiber with everybody busy."""
    return _rate("fiber_out", "rate")


def fiber_in():
    """C1: the same of the incoming fiber."""
    return _rate("fiber_in", "rate")


def memory_rate():
    """C3: all together."""
    return _rate("total", "rate")


def vme_rate():
    """C7: DMA to and from VME."""
    return _rate("vme", "rate")


def added_latency():
    """C4: cycles that protection adds to an access."""
    return _rate("protection")

"""A HUB at its pins: what the papers say of cycles, measured on the RTL with a symbol driven and looked at in every
cycle.

The terms are those of docs/wire.md, "How latency is measured at the pins". Times in nanoseconds are cycles of 70 ns.
"""

from array import array
from functools import cache
from itertools import takewhile

from ...hdl.hub.commands import Op
from ...hdl.hub.profile import PROTOTYPE
from ...hdl.link.symbol import ANY_HUB, MAX_PACKET, Control, command, packet
from ...sim.profile import PROTOTYPE as SYSTEM
from ..hub.harness import VALID, Harness
from .facts import Found

__all__ = [
    "PORTS",
    "aggregate",
    "connection_rate",
    "largest_packet",
    "setup_cycles",
    "setup_time",
    "transfer_cycles",
    "transfer_time",
]

PORTS = 16
_HUB = 1
_CLOSE = command(Op.CLOSE_ALL, ANY_HUB, 0)
_PAIRS = [(i, o) for i in range(PORTS) for o in range(PORTS) if i != o]


def _play(streams, cycles, ready=None):
    """Drives ``streams``, {port: {cycle: symbol}}, into a fresh HUB; returns [(cycle, symbol) taken] of each port.

    ``ready``: for each cycle whether fibers take a symbol in it; always by default.
    """
    rx, taken = array("H", bytes(2 * PORTS * cycles)), array("B", b"\1" * (PORTS * cycles))
    for port, stream in streams.items():
        for cycle, symbol in stream.items():
            rx[cycle * PORTS + port] = VALID | symbol
    if ready is not None:
        for cycle in range(cycles):
            if not ready(cycle):
                taken[cycle * PORTS : (cycle + 1) * PORTS] = array("B", bytes(PORTS))
    harness = Harness(PORTS, PROTOTYPE, _HUB)
    try:
        return harness.run(rx, taken)[0]
    finally:
        harness.close()


def _at(cycle, symbols):
    return {cycle + n: symbol for n, symbol in enumerate(symbols)}


@cache
def _latencies():
    """(cycles of set-up and transfer, cycles of transfer) of every pair of ports."""
    found = []
    step = 64
    streams, asked = {port: {} for port in range(PORTS)}, []
    for number, (i, o) in enumerate(_PAIRS):
        begin = 16 + number * step
        stream = command(Op.OPEN_RETRY, _HUB, o) + packet([i, o])
        streams[i] |= _at(begin, stream) | _at(begin + 32, [0x55]) | _at(begin + 40, _CLOSE)
        asked.append((o, begin + 4, begin + 32))
    sent = _play(streams, 16 + len(_PAIRS) * step)
    for o, first, later in asked:
        start = next(cycle for cycle, symbol in sent[o] if cycle >= first and symbol == Control.START)
        data = next(cycle for cycle, symbol in sent[o] if cycle >= later and symbol == 0x55)
        found.append((start - first, data - later))
    return found


def _all_pairs(index, scale, unit):
    values = [pair[index] for pair in _latencies()]
    low, high = min(values), max(values)
    spread = "" if low == high else f"; the fastest {low * scale:g} {unit}"
    return Found(high * scale, f"RTL at its pins, the slowest of all {len(values)} pairs of ports{spread}")


def setup_cycles():
    """H2: from the first symbol of a packet behind its *open* at the input to the same at the output."""
    return _all_pairs(0, 1, "cycles")


def setup_time():
    """H2 in nanoseconds."""
    return _all_pairs(0, SYSTEM.hub_period_ps / 1000, "ns")


def transfer_cycles():
    """H3: the same of a byte on an established connection."""
    return _all_pairs(1, 1, "cycles")


def transfer_time():
    """H3 in nanoseconds."""
    return _all_pairs(1, SYSTEM.hub_period_ps / 1000, "ns")


def connection_rate():
    """H4: connections set up in each cycle while all ports ask at once."""
    # All commands are complete in the same cycle; the data behind them leave when their connection stands.
    sent = _play({i: _at(16, command(Op.OPEN_RETRY, _HUB, (i + 1) % PORTS) + [0x55]) for i in range(PORTS)}, 100)
    firsts = sorted(next(cycle for cycle, symbol in sent[o] if symbol == 0x55) for o in range(PORTS))
    span = firsts[-1] - firsts[0] + 1
    return Found(
        PORTS / span,
        f"RTL at its pins: {PORTS} inputs asked in the same cycle, and the data behind their commands left in {span} "
        f"cycles",
    )


def aggregate():
    """H5: what all ports carry together when each sends to another, at the fibers' pace."""
    pace, cycles = SYSTEM.symbol_ps / SYSTEM.hub_period_ps, 4000

    def fiber(cycle):
        """Whether a fiber begins a symbol in a cycle."""
        return int((cycle + 1) / pace) > int(cycle / pace)

    beats = [cycle for cycle in range(100, cycles) if fiber(cycle)]
    streams = {
        i: _at(16, command(Op.OPEN_RETRY, _HUB, (i + 5) % PORTS)) | {cycle: cycle & 0xFF for cycle in beats}
        for i in range(PORTS)
    }
    sent = _play(streams, cycles, fiber)
    window = range(1000, cycles)
    carried = sum(cycle in window for port in sent for cycle, _ in port)
    rate = carried * 8 / (len(window) * SYSTEM.hub_period_ps / 1000)
    return Found(
        round(rate, 3),
        f"RTL at its pins, with a symbol each 80 ns into all {PORTS} ports: {carried} bytes in {len(window)} cycles "
        f"of 70 ns",
    )


def largest_packet():
    """H14: bytes of the largest packet that an input queue keeps whole while its output is taken."""
    data = [n & 0xFF for n in range(MAX_PACKET)]
    busy = command(Op.OPEN_RETRY, _HUB, 2)
    waiting = command(Op.OPEN_RETRY, _HUB, 2) + packet(data)
    sent = _play({0: _at(16, busy) | _at(16 + 2 * MAX_PACKET, _CLOSE), 1: _at(40, waiting)}, 5 * MAX_PACKET)
    left = [symbol for _, symbol in sent[2]]
    left = left[left.index(int(Control.START)) + 1 :] if Control.START in left else []
    whole = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(data, left)))
    return Found(
        whole,
        f"RTL at its pins: a packet of {MAX_PACKET} bytes waited for a taken output; so many of its bytes left it as "
        f"they came",
    )

"""Data between the HUB's parts: requests, replies, symbols in the crossbar, and ports as masks.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2; the layouts are ours.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.lib import data
from amaranth.utils import bits_for

from ..link.symbol import SYMBOL_BITS
from .commands import Error

__all__ = [
    "FAULTS",
    "LEVEL_BITS",
    "Request",
    "Reply",
    "CrossbarBeat",
    "check_ports",
    "index_bits",
    "is_absent",
    "port_mask",
    "chosen",
    "one_hot_index",
]

#: Refusals that are counted as errors, and the names of their pulses. One-hot signals of refusals have this order.
FAULTS = {
    error: error.name.lower()
    for error in (Error.UNKNOWN, Error.BAD_PORT, Error.NOT_MINE, Error.NOT_ALLOWED, Error.DISABLED)
}
#: Bits of the number of entries in a queue, of which the highest counts for all that are above it.
LEVEL_BITS = 11


class Request(data.Struct):
    """A command for this HUB: opcode and parameter."""

    param: 8
    op: 8


class Reply(data.Struct):
    """The three bytes of a reply behind its control code."""

    value: 8
    hub: 8
    op: 8


class CrossbarBeat(data.Struct):
    """A symbol in the crossbar."""

    symbol: SYMBOL_BITS
    closes: 1  # the last symbol of a close all


def check_ports(ports):
    """Raises TypeError or ValueError unless ``ports`` is an int from 2 to 128."""
    if not isinstance(ports, int) or isinstance(ports, bool):
        raise TypeError(f"number of ports must be an int, not {ports!r}")
    if not 2 <= ports <= 128:
        raise ValueError(f"a HUB has 2 to 128 ports, not {ports}")


def index_bits(ports):
    """Bits of a port's number among ``ports`` ports."""
    return bits_for(ports - 1)


def is_absent(param, ports):
    """Whether ``param`` names a port that does not exist among ``ports`` ports."""
    bits = index_bits(ports)
    if ports < 1 << bits:
        return param >= ports
    # A comparison would become a carry chain.
    return param[bits:].any() if len(param) > bits else Const(0, 1)


def port_mask(param, ports):
    """One-hot mask (``ports`` bits) of the port that the byte ``param`` names; 0 if there is no such port."""
    mask = (Const(1, 1) << param[: index_bits(ports)])[:ports]
    return Mux(is_absent(param, ports), 0, mask)


def chosen(one_hot, values):
    """The value whose bit in ``one_hot`` is set; 0 if no bit is set."""
    values = map(Value.cast, values)
    return reduce(or_, (value & bit.replicate(len(value)) for bit, value in zip(one_hot, values)))


def one_hot_index(mask):
    """Number of the bit that is set in ``mask``; 0 if no bit is set. At most one bit may be set."""
    bits = index_bits(len(mask))
    return Cat((mask & sum(1 << n for n in range(len(mask)) if n >> bit & 1)).any() for bit in range(bits))

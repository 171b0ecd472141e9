"""What the HUB's parts tell each other: queue entries, requests, replies, and ports as masks.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2; the layouts are ours.
"""

from amaranth.hdl import Cat, Const, Mux
from amaranth.lib import data
from amaranth.utils import bits_for

from ..link.symbol import SYMBOL_BITS

__all__ = ["Request", "Reply", "RoutedReply", "Passage", "Content", "QueueEntry", "check_ports", "index_bits", "port_mask",
           "one_hot_index"]


class Request(data.Struct):
    """A command for this HUB: opcode and parameter."""

    param: 8
    op: 8


class Reply(data.Struct):
    """The three bytes of a reply behind its control code."""

    value: 8
    hub: 8
    op: 8


class RoutedReply(data.Struct):
    """A reply at the port where it, or the command that it answers, arrived."""

    reply: Reply
    own: 1  # leaves through this very port: the answer to a command


class Passage(data.Struct):
    """What passes the crossbar."""

    symbol: SYMBOL_BITS
    closes: 1  # the last symbol of a close all


class Content(data.Union):
    """Content of a queue entry."""

    symbol: SYMBOL_BITS
    request: Request


class QueueEntry(data.Struct):
    """What one slot of the input queue holds: a symbol, or a whole command for this HUB."""

    content: Content
    command: 1


def check_ports(ports):
    """Raises TypeError or ValueError unless ``ports`` is an int from 2 to 128."""
    if not isinstance(ports, int) or isinstance(ports, bool):
        raise TypeError(f"number of ports must be an int, not {ports!r}")
    if not 2 <= ports <= 128:
        raise ValueError(f"a HUB has 2 to 128 ports, not {ports}")


def index_bits(ports):
    """Bits of a port's number among ``ports`` ports."""
    return bits_for(ports - 1)


def port_mask(param, ports):
    """One-hot mask (``ports`` bits) of the port that the byte ``param`` names; 0 if there is no such port."""
    mask = (Const(1, 1) << param[:index_bits(ports)])[:ports]
    return Mux(param < ports, mask, 0)


def one_hot_index(mask):
    """Number of the bit that is set in ``mask``, of which at most one is; 0 if none is."""
    bits = index_bits(len(mask))
    return Cat((mask & sum(1 << n for n in range(len(mask)) if n >> bit & 1)).any() for bit in range(bits))

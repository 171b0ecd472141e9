"""Figures of datalink and transports, measured on simulated boards by ``verification.software``."""

from importlib import import_module

from ...sim.profile import PROTOTYPE
from .facts import Found

__all__ = ["QUEUE_US", "flow_control", "routing", "stream", "upcall"]

#: From the first symbol of a packet until a CAB's input queue of 1152 symbols overflows.
QUEUE_US = 1152 * PROTOTYPE.symbol_ps / 1e6


def _measured(where, name):
    """What the function ``name`` of verification.software's module ``where`` returns; None, with the reason, if what it needs is not installed."""
    try:
        return getattr(import_module(f"..software.{where}", __package__), name)(), ""
    except ModuleNotFoundError as error:
        return None, f"needs {error.name}: pip install 'nectar[test]'"


def flow_control():
    """S11: percent of the throughput of 1-kbyte packets that flow control in software costs."""
    rates, reason = _measured("figures", "flow_control_cost")
    if rates is None:
        return Found(None, reason)
    with_it, without = rates
    return Found(round(100 * (1 - with_it / without), 2), f"packets of 1 kbyte over two HUBs: {with_it:.2f} Mbit/s with it, {without:.2f} without")


def routing():
    """S11: percent that routing in software costs."""
    rates, reason = _measured("figures", "routing_cost")
    if rates is None:
        return Found(None, reason)
    looked_up, _, standing = rates
    return Found(round(100 * (1 - looked_up / standing), 2), f"packets of 1 kbyte over two HUBs: {looked_up:.2f} Mbit/s with a look-up and commands for each, "
                 f"{standing:.2f} over a connection that stands")


def upcall():
    """S4: from the first symbol of a packet to the receive upcall's answer, at worst."""
    times, reason = _measured("figures", "upcall_us")
    if times is None:
        return Found(None, reason)
    return Found(round(max(times), 2), f"the longest of {len(times)} packets that come without a gap while long handlers run; the shortest {min(times):.2f} us")


def stream():
    """S13: a byte stream from CAB to CAB."""
    rate, reason = _measured("transport.figures", "stream_mbits")
    if rate is None:
        return Found(None, reason)
    return Found(round(rate, 2), "byte stream of 120,000 bytes between tasks on two CABs over one HUB, to the last acknowledgment")

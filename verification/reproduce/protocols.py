"""Figures of datalink and transports, measured on simulated boards by ``verification.software``."""

from functools import wraps

from ...extras import how_to_get
from ...sim.profile import PROTOTYPE
from .facts import Found

__all__ = ["QUEUE_US", "flow_control", "routing", "stream", "upcall"]

#: From the first symbol of a packet until a CAB's input queue of 1152 symbols overflows.
QUEUE_US = 1152 * PROTOTYPE.symbol_ps / 1e6


def _if_installed(measure):
    """A measurement whose module may need what only the regression has."""

    @wraps(measure)
    def found():
        try:
            return measure()
        except ModuleNotFoundError as error:
            return Found(None, f"needs {error.name}; {how_to_get('test')}")

    return found


@_if_installed
def flow_control():
    """S11: percent of the throughput of 1-kbyte packets that flow control in software costs."""
    from ..software.figures import flow_control_cost

    with_it, without = flow_control_cost()
    return Found(
        round(100 * (1 - with_it / without), 2),
        f"packets of 1 kbyte over two HUBs: {with_it:.2f} Mbit/s with it, {without:.2f} without",
    )


@_if_installed
def routing():
    """S11: percent that routing in software costs."""
    from ..software.figures import routing_cost

    looked_up, _, standing = routing_cost()
    return Found(
        round(100 * (1 - looked_up / standing), 2),
        f"packets of 1 kbyte over two HUBs: {looked_up:.2f} Mbit/s with a look-up and commands for each, "
        f"{standing:.2f} over a connection that stands",
    )


@_if_installed
def upcall():
    """S4: from the first symbol of a packet to the receive upcall's answer, at worst."""
    from ..software.figures import upcall_us

    times = upcall_us()
    return Found(
        round(max(times), 2),
        f"the longest of {len(times)} packets that come without a gap while long handlers run; the shortest "
        f"{min(times):.2f} us",
    )


@_if_installed
def stream():
    """S13: a byte stream from CAB to CAB."""
    from ..software.transport.figures import stream_mbits

    return Found(
        round(stream_mbits(), 2),
        "byte stream of 120,000 bytes between tasks on two CABs over one HUB, to the last acknowledgment",
    )

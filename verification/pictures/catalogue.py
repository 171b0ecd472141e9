"""All pictures of the documentation, by the name of their file."""

import functools

from ...hdl.hub.profile import MODERN
from . import boards, figure7, hub_timing, ipsc2, layers

__all__ = ["PICTURES"]

#: Name of the file, without suffix -> function that makes the Drawing.
PICTURES = {
    "block-hub": boards.hub,
    "block-port": boards.port,
    "block-cab": boards.cab,
    "block-vme": boards.vme,
    "block-router": ipsc2.router,
    "block-software": layers.software,
    "timing-transfer": hub_timing.transfer,
    "timing-set-up": hub_timing.set_up,
    "timing-retry": hub_timing.retry,
    "timing-reply": hub_timing.reply,
    "timing-close-all": hub_timing.close_all,
    "timing-flow-control": hub_timing.flow_control,
    "timing-modern-transfer": functools.partial(hub_timing.transfer, MODERN),
    "timing-modern-set-up": functools.partial(hub_timing.set_up, MODERN),
    "timing-modern-retry": functools.partial(hub_timing.retry, MODERN),
    "sequence-circuit": figure7.circuit,
    "sequence-multicast-circuit": figure7.multicast_circuit,
    "sequence-packet": figure7.packet,
    "sequence-multicast-packet": figure7.multicast_packet,
}

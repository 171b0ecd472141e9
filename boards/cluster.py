"""A HUB with CABs inside one FPGA, whose software runs on a computer at the board's USB serial.

Source: ours; HUB and CAB are those of "The Design of Nectar" (1989). ``docs/cable.md`` tells how it is used.
"""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..hdl.host.cluster import Cluster
from ..hdl.host.host_controller import check_cabs
from ..hdl.host.numbers import BAUD
from .gate import BoardGate
from .hub import check_hub_id, hub_profile
from .interface import UART, BoardInterface
from .led_stretcher import LedStretcher

__all__ = ["ClusterTop", "bit_cycles"]

#: How far the line's rate may be from what it should be.
_TOLERANCE = 0.02


def bit_cycles(clock_hz, baud):
    """Clock cycles of a bit. Raises TypeError or ValueError for a rate that the clock cannot make."""
    if not isinstance(baud, int):
        raise TypeError(f"the rate of a serial line must be an integer, not {baud!r}")
    cycles = round(clock_hz / baud) if baud > 0 else 0
    if not 4 <= cycles <= 65536 or abs(clock_hz / cycles - baud) > _TOLERANCE * baud:
        raise ValueError(
            f"a clock of {clock_hz / 1e6:g} MHz makes no serial line of {baud} baud: that must be "
            f"{clock_hz // 65536 + 1} to {clock_hz // 4}, "
            f"and within {_TOLERANCE:.0%} of a fraction of the clock"
        )
    return cycles


class ClusterTop(wiring.Component):
    """One HUB and 1 to 16 CABs.

    Parameters
    ----------
    interface : BoardInterface
        The board.
    cabs : int
        CABs; each hangs on a port of the HUB.
    profile : str
        Name of the HUB's profile.
    hub_id : int
        ID of the HUB, 0 to 254.
    data_bytes : int
        Data memory of each CAB, as in ``Cab``.
    baud : int
        Bits in a second on the serial line.

    Members
    -------
    uart : Out(UART)
        The host's cable.
    leds : Out(leds)
        Bit 0: a request of the host is being executed. Bit 1: something is sent to the host.

    Timing
    ------
    docs/cable.md. The lights stay on for 2**20 cycles, so that they can be seen.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(self, interface=BoardInterface(), cabs=4, profile="modern", hub_id=1, data_bytes=32768, baud=BAUD):
        check_cabs(cabs)
        check_hub_id(hub_id)
        self.cluster = Cluster(
            cabs=cabs,
            profile=hub_profile(profile),
            hub_id=hub_id,
            data_bytes=data_bytes,
            period_ps=round(1e12 / interface.clock_hz),
            bit_cycles=bit_cycles(interface.clock_hz, baud),
            gate=BoardGate,
        )
        super().__init__({"uart": Out(UART), "leds": Out(interface.leds)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.cluster = cluster = self.cluster
        m.submodules.busy = busy = LedStretcher()
        m.submodules.sending = sending = LedStretcher()
        m.d.comb += [
            cluster.rx.eq(self.uart.rx),
            self.uart.tx.eq(cluster.tx),
            busy.event.eq(cluster.busy),
            sending.event.eq(~cluster.tx),
            self.leds.eq(Cat(busy.light, sending.light)),
        ]
        return m

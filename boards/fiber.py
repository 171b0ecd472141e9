"""A fiber of a board: from a port of a HUB or a CAB to the pins.

Source: ours. ``docs/serial.md`` specifies what is on the pins, ``docs/boards.md`` which they are.
"""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out, connect, flipped

from ..hdl.link.code4b5b import WORD_BITS
from ..hdl.link.crossing import FiberCrossing
from ..hdl.link.parallel import CYCLES, ParallelPhy
from ..hdl.link.port import FiberPort
from ..hdl.link.serial import SerialPhy
from ..hdl.link.transmitter import INTERVAL_HUB
from .interface import PHYS, WIRES, BoardInterface, line

__all__ = ["Fiber", "check_phy"]


def check_phy(phy):
    """Raises ValueError if there is no such kind of fiber."""
    if phy not in PHYS:
        raise ValueError(f"there is no fiber {phy!r}; there are {' and '.join(PHYS)}")


class Fiber(wiring.Component):
    """A pair of fibers with its PHY, serial by a clock of its own or parallel.

    Parameters
    ----------
    interface : BoardInterface
        The board.
    phy : str
        ``serial`` or ``parallel``.
    interval : int
        Of a serial one: symbols between two pairs of idles, ``INTERVAL_HUB`` or ``INTERVAL_CAB``.

    Members
    -------
    port : In(FiberPort())
        To be connected to the port of a board, by the clock ``sync``.
    pins : Out(line(samples)) or Out(WIRES)
        To the top's member ``line_N`` (by the clock ``line``) or ``wires_N``.
    up : Out(1)
        The neighbour is heard; by the clock ``sync``.

    ``symbol_ps``, no signal, is the time of a symbol on the fiber in picoseconds.

    Timing
    ------
    That of ``SerialPhy`` behind a ``FiberCrossing``, where ``up`` is two cycles late, or without one, if there is one
    clock; or of ``ParallelPhy``.

    Raises
    ------
    ValueError, TypeError
        If there is no such fiber.
    """

    def __init__(self, interface=BoardInterface(), phy="serial", interval=INTERVAL_HUB):
        check_phy(phy)
        self.serial = phy == "serial"
        self.one_clock = interface.one_clock
        self.symbol_ps = round(1e12 * (WORD_BITS / interface.baud if self.serial else CYCLES / interface.clock_hz))
        self._phy = SerialPhy(interface.samples, interface.oversampling, interval) if self.serial else ParallelPhy()
        super().__init__(
            {"port": In(FiberPort()), "pins": Out(line(interface.samples) if self.serial else WIRES), "up": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        phy = self._phy
        if self.serial and self.one_clock:
            m.submodules.phy = phy
            m.d.comb += self.up.eq(phy.up)
            fiber, pins = phy.fiber, phy.line
        elif self.serial:
            m.submodules.crossing = crossing = FiberCrossing()
            m.submodules.phy = DomainRenamer("line")(phy)
            m.submodules.up_sync = FFSynchronizer(phy.up, self.up)
            connect(m, crossing.fiber, phy.fiber)
            fiber, pins = crossing.board, phy.line
        else:
            m.submodules.phy = phy
            m.d.comb += self.up.eq(phy.up)
            fiber, pins = phy.fiber, phy.wires
        connect(m, flipped(self.port), fiber)
        connect(m, flipped(self.pins), pins)
        return m

"""A CAB with a fiber on the board's connectors, whose software runs on a computer at the board's serial line.

Source: ours; the CAB is that of "The Design of Nectar" (1989), section 5. ``docs/boards.md``, "cab"; ``docs/cable.md``
for the cable."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetInserter, ResetSignal, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import Out, connect, flipped
from amaranth.utils import exact_log2

from ..hdl.cab.cab import Cab
from ..hdl.host.cable import Cable
from ..hdl.host.numbers import BAUD, BUFFER_WORDS
from ..hdl.link.symbol import SYMBOL_BITS, Control
from ..hdl.link.transmitter import INTERVAL_CAB
from .cluster import bit_cycles
from .fiber import Fiber
from .gate import BoardGate
from .interface import UART, BoardInterface
from .led_stretcher import LedStretcher

__all__ = ["CabTop", "DEPTH", "PROGRAM_BYTES"]

#: Symbols that may arrive while the CAB's clock stands still: a packet, what HUBs say, and as much again.
DEPTH = 2048
#: Program RAM of the CAB, which no software uses while the CPU is elsewhere.
PROGRAM_BYTES = 4096


class CabTop(wiring.Component):
    """One CAB, its fiber, and the cable.

    The CAB's clock stands still while the host thinks, as in a ``cluster``; the fiber's never does. What arrives
    meanwhile waits in a queue: no more than a packet comes before the CAB answers its start with ``ready``. The reset
    of the CAB empties the queue.

    Parameters
    ----------
    interface : BoardInterface
        The board.
    phy : str
        ``serial`` or ``parallel``.
    data_bytes : int
        Data memory, as in ``Cab``.
    baud : int
        Bits in a second on the serial line of the host.

    Members
    -------
    uart : Out(UART)
        The host's cable. It says that there is one CAB, and a HUB of no ports.
    line_0 : Out(line(samples)), or wires_0 : Out(WIRES)
        The fiber.
    leds : Out(leds)
        Bit 0: a request of the host is being executed. Bit 1: the neighbour is heard. Bit 2: a symbol has found no
        room, until the reset.

    Timing
    ------
    docs/cable.md; it is never quiet, since something may come by the fiber at any time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(self, interface=BoardInterface(), phy="serial", data_bytes=32768, baud=BAUD):
        period_ps = round(1e12 / interface.clock_hz)
        self.cab = Cab(data_bytes, PROGRAM_BYTES, domains=4, pages=256)
        self.fiber = Fiber(interface, phy, INTERVAL_CAB)
        sizes = exact_log2(data_bytes) << 24 | exact_log2(PROGRAM_BYTES) << 16 | exact_log2(BUFFER_WORDS) << 8
        self.cable = Cable(1, [1 << 24, period_ps, sizes, self.fiber.symbol_ps], bit_cycles(interface.clock_hz, baud))
        self._name = "line_0" if phy == "serial" else "wires_0"
        super().__init__(
            {
                "uart": Out(UART),
                self._name: Out(self.fiber.signature.members["pins"].signature),
                "leds": Out(interface.leds),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.cable = cable = self.cable
        m.submodules.fiber = fiber = self.fiber
        m.submodules.gate = gate = BoardGate()
        m.domains.boards = ClockDomain("boards", local=True)
        m.d.comb += [
            gate.enable.eq(cable.tick),
            ClockSignal("boards").eq(gate.clock),
            ResetSignal("boards").eq(cable.reset),
            cable.rx.eq(self.uart.rx),
            self.uart.tx.eq(cable.tx),
            cable.quiet.eq(0),
        ]
        cab = self.cab
        m.submodules.cab = DomainRenamer("boards")(cab)
        connect(m, cable.bus_0, cab.bus)
        m.d.comb += cable.irq.eq(cab.irq)
        connect(m, flipped(getattr(self, self._name)), fiber.pins)

        # The fiber has time of its own: a symbol passes to the CAB, or from it, at an edge of the CAB's clock.
        arriving = fifo.SyncFIFOBuffered(width=SYMBOL_BITS, depth=DEPTH)
        m.submodules.arriving = ResetInserter(cable.reset)(arriving)
        m.d.comb += [
            arriving.w_data.eq(fiber.port.rx.payload),
            arriving.w_en.eq(fiber.port.rx.valid & (fiber.port.rx.payload != Control.IDLE)),
            cab.fiber.rx.payload.eq(arriving.r_data),
            cab.fiber.rx.valid.eq(arriving.r_rdy),
            arriving.r_en.eq(cable.tick),
            fiber.port.tx.payload.eq(cab.fiber.tx.payload),
            fiber.port.tx.valid.eq(cab.fiber.tx.valid & cable.tick),
            cab.fiber.tx.ready.eq(fiber.port.tx.ready),
        ]
        m.submodules.busy = busy = LedStretcher()
        lost = Signal()
        with m.If(arriving.w_en & ~arriving.w_rdy):
            m.d.sync += lost.eq(1)
        m.d.comb += [busy.event.eq(cable.busy), self.leds.eq(Cat(busy.light, fiber.up, lost))]
        return m

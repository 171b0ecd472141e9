"""A top on a board: clocks, pins, lights.

Source: ours. ``interface`` tells how a top and a board find each other.
"""

from amaranth.build import Attrs, Pins, Resource, Subsignal
from amaranth.hdl import Cat, Module
from amaranth.lib import io, wiring

from ..hdl.link.symbol import SYMBOL_BITS
from .clocktree import ClockTree

__all__ = ["Assembly", "fibers_of", "pins_of"]


def fibers_of(top):
    """Names of the members of a top that are fibers."""
    return [name for name in top.signature.members if name.startswith(("line_", "wires_"))]


def pins_of(top, name):
    """[(signal of the member, direction, number of pins)] of a fiber, in the order in which they get pins: what is
    sent first."""
    members = top.signature.members[name].signature.members
    names = sorted(members, key=lambda name: (not name.startswith("tx"), name.endswith("strobe")))
    width = {"tx_data": SYMBOL_BITS, "rx_data": SYMBOL_BITS}
    return [(signal, "o" if signal.startswith("tx") else "i", width.get(signal, 1)) for signal in names]


class Assembly(wiring.Component):
    """All of what is in the FPGA: a top, and what joins it to the board.

    Parameters
    ----------
    top : Component
        See ``interface``.
    board : Board
        From the catalogue.
    clocks : Clocks
        From the board's oscillator.

    Members
    -------
    None: the pins are the platform's.

    Timing
    ------
    Serial lines go through registers at the pins, ``samples`` in a cycle; all else goes as it is.
    """

    def __init__(self, top, board, clocks):
        self.top = top
        self.board = board
        self.clocks = clocks
        #: [(member of the top, signal of it, pin of the FPGA)], filled by ``elaborate``.
        self.pins = []
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        board, top = self.board, self.top
        m.submodules.top = top
        oscillator = platform.request(platform.default_clk, dir="-")
        rate = int(platform.lookup(platform.default_clk).clock.frequency)
        direct = board.family == "ice40" and self.clocks.pll  # such a PLL takes the pin itself
        m.submodules.clocks = tree = ClockTree(board.family, self.clocks, rate, oscillator.io if direct else None)
        m.domains += tree.domains()
        if not direct:
            m.submodules.oscillator = buffer = io.Buffer("i", oscillator)
            m.d.comb += tree.oscillator.eq(buffer.i)
        if platform.default_rst is not None:
            m.submodules.reset = buffer = io.Buffer("i", platform.request(platform.default_rst, dir="-"))
            m.d.comb += tree.reset.eq(buffer.i)
        if board.family != "gowin":  # where it would only keep the clock from the lines that are made for clocks
            for net, rate in tree.nets.values():
                platform.add_clock_constraint(net, rate)
        self._fibers(m, platform)
        if "uart" in top.signature.members:
            self._uart(m, platform)
        if "leds" in top.signature.members:
            self._leds(m, platform)
        return m

    def _fibers(self, m, platform):
        free = iter(self.board.pins)
        for name in fibers_of(self.top):
            member = getattr(self.top, name)
            for signal, direction, width in pins_of(self.top, name):
                names = [next(free) for _ in range(width)]
                platform.add_resources(
                    [
                        Resource(
                            f"{name}_{signal}", 0, Pins(" ".join(names), dir=direction), Attrs(**self.board.attributes)
                        )
                    ]
                )
                port = platform.request(f"{name}_{signal}", 0, dir="-")
                self.pins += [(name, signal, bit.name) for bit in port.io.metadata]
                m.submodules[f"{name}_{signal}"] = self._buffer(m, name, direction, port, getattr(member, signal))

    def _buffer(self, m, name, direction, port, signal):
        """What stands between the pins and the member of a top."""
        if not name.startswith("line_"):
            buffer = io.Buffer(direction, port)
            values = [buffer.i if direction == "i" else buffer.o]
        elif len(signal) == 1:
            buffer = io.FFBuffer(direction, port, **{f"{direction}_domain": "line"})
            values = [buffer.i if direction == "i" else buffer.o]
        else:
            buffer = io.DDRBuffer(direction, port, **{f"{direction}_domain": "line"})
            values = [getattr(buffer, direction)[n] for n in range(2)]
        m.d.comb += signal.eq(Cat(values)) if direction == "i" else Cat(values).eq(signal)
        return buffer

    def _uart(self, m, platform):
        uart, pins = self.top.uart, self.board.uart
        if pins:
            platform.add_resources(
                [
                    Resource(
                        "uart",
                        0,
                        Subsignal("rx", Pins(pins[0], dir="i")),
                        Subsignal("tx", Pins(pins[1], dir="o")),
                        Attrs(**self.board.attributes),
                    )
                ]
            )
        ports = platform.request("uart", 0, dir="-")
        m.submodules.uart_rx = rx = io.Buffer("i", ports.rx)
        m.submodules.uart_tx = tx = io.Buffer("o", ports.tx)
        m.d.comb += [uart.rx.eq(rx.i), tx.o.eq(uart.tx)]
        self.pins += [("uart", name, getattr(ports, name).io.metadata[0].name) for name in ("rx", "tx")]

    def _leds(self, m, platform):
        if self.board.uart_takes_leds and "uart" in self.top.signature.members:
            return
        groups = {}
        for (resource, number, part), light in zip(self.board.leds, self.top.leds, strict=False):
            key = resource, number
            if key not in groups:
                groups[key] = platform.request(resource, number, dir="-")
            port = groups[key] if part is None else getattr(groups[key], part)
            m.submodules[f"{resource}_{number}_{part or 'all'}"] = buffer = io.Buffer("o", port)
            m.d.comb += buffer.o.eq(light)

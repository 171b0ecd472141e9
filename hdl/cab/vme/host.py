"""Synchronous host port: the CAB's address map for a host in the same FPGA.

Source: "The Design of Nectar" (1989), section 5.2 (a VME interface was the natural choice in its environment); the
port follows Wishbone B4, classic cycles.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..access import AccessPort
from ..memory import LANES
from ..regions import ADDRESS_BITS
from ..registers import WORD_BITS

__all__ = ["HostPins", "HostPort"]


class HostPins(wiring.Signature):
    """The pins, seen from the board.

    Members
    -------
    cyc, stb, lock, we : In(1)
    adr : In(22)
        Address of a word.
    sel : In(4)
        Bit 3 is the byte at the word's own address.
    dat_w : In(32), dat_r : Out(32)
    ack, err : Out(1)
        One of them, for one cycle, ends an access.
    """

    def __init__(self):
        super().__init__(
            {
                "cyc": In(1),
                "stb": In(1),
                "lock": In(1),
                "we": In(1),
                "adr": In(ADDRESS_BITS - 2),
                "sel": In(LANES),
                "dat_w": In(WORD_BITS),
                "dat_r": Out(WORD_BITS),
                "ack": Out(1),
                "err": Out(1),
            }
        )


class HostPort(wiring.Component):
    """Turns Wishbone cycles into accesses in VME's protection domain.

    Parameters
    ----------
    lock_cycles : int
        How long the CPU may be kept out.

    Members
    -------
    pins : Out(HostPins())
    access : Out(AccessPort())

    Timing
    ------
    ``ack`` or ``err`` comes 5 cycles after ``stb`` if nobody else wants anything. While ``cyc`` and ``lock`` are 1 no
    access of the CPU comes between, but only for ``lock_cycles``; an access of the host that comes after
    that, before it lets go, is answered with ``err`` and not made. A host that withdraws ``stb`` gets no answer; the
    access is made nevertheless if it had begun.

    Raises
    ------
    ValueError
        If ``lock_cycles`` is not positive.
    """

    def __init__(self, lock_cycles=160):
        if lock_cycles < 1:
            raise ValueError(f"lock_cycles must be at least 1, not {lock_cycles}")
        self.lock_cycles = lock_cycles
        super().__init__({"pins": Out(HostPins()), "access": Out(AccessPort())})

    def elaborate(self, platform):
        """One access at a time."""
        m = Module()
        pins, port = self.pins, self.access
        want, waits, wanted = (Signal(name=name) for name in ("want", "waits", "wanted"))
        lines = Cat(pins.adr, pins.we, pins.sel, pins.dat_w)
        asked = Signal(len(lines), reset_less=True)
        read = Signal(WORD_BITS, reset_less=True)
        locking = Signal()
        left = Signal(range(self.lock_cycles + 1))
        late = Signal()
        asks = Signal()
        m.d.comb += [
            asks.eq(pins.cyc & pins.stb),
            locking.eq(pins.cyc & pins.lock),
            port.valid.eq(want),
            Cat(port.address[2:], port.write, port.select, port.write_data).eq(asked),
            pins.dat_r.eq(read),
            port.lock.eq((left != 0) & (locking | want)),
        ]
        m.d.sync += [pins.ack.eq(0), pins.err.eq(0), read.eq(port.read_data)]
        with m.If(~want):
            m.d.sync += asked.eq(lines)
        with m.If(~locking & ~want):
            m.d.sync += [left.eq(0), late.eq(0)]
        with m.Elif(port.lock & ~want & ~waits):
            m.d.sync += [left.eq(left - 1), late.eq(left == 1)]
        with m.If(asks & ~want & ~waits & ~pins.ack & ~pins.err):
            with m.If(late & locking):
                m.d.sync += pins.err.eq(1)
            with m.Else():
                m.d.sync += [want.eq(1), wanted.eq(1)]
                with m.If(pins.lock & (left == 0)):
                    m.d.sync += left.eq(self.lock_cycles)
        with m.If(want & port.ready):
            m.d.sync += [want.eq(0), waits.eq(1)]
        with m.If((want | waits) & ~asks):
            m.d.sync += wanted.eq(0)
        with m.If(port.done):
            m.d.sync += [waits.eq(0), pins.ack.eq(wanted & asks & ~port.error), pins.err.eq(wanted & asks & port.error)]
        return m

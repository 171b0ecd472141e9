"""A FIFO of a few registers, for what may come in the cycle in which it is decided whether there was room.

Source: ours. The oldest entry is always in the first register, so no address has to be decoded in front of it.
"""

from amaranth.hdl import Cat, Mux, Signal

__all__ = ["Places"]


class Places:
    """The registers of ``count`` entries of a ``shape``, the oldest first, inside of a component.

    ``some[n]`` tells that place ``n`` is taken. The places are taken from the first on."""

    def __init__(self, shape, count, name="place"):
        self.entries = [Signal(shape, name=f"{name}_{n}", reset_less=True) for n in range(count)]
        self.some = Signal(count)

    def connect(self, m, coming, comes, goes, clear=0):
        """Adds the registers to ``m``.

        ``comes``: the entry ``coming`` is kept; only when a place is free. ``goes``: the oldest entry is taken out; if
        there is none, an entry that comes is not kept. ``clear``: all entries are thrown away."""
        some = self.some
        for n, entry in enumerate(self.entries):
            behind = some[n + 1] if n + 1 < len(some) else 0
            with m.If(goes | ~some[n]):
                m.d.sync += entry.eq(Mux(behind, self.entries[n + 1], coming) if n + 1 < len(some) else coming)
        m.d.sync += some.eq(Mux(clear, 0, Mux(comes, Mux(goes, some, Cat(1, some[:-1])), Mux(goes, some[1:], some))))

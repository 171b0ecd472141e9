"""Input queue of a port: a kilobyte and room for framing; a command becomes visible only when it is complete.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.3. The extra room and the commit are ours (``docs/hub.md``).
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH
from .messages import QueueEntry

__all__ = ["InputQueue"]


class InputQueue(wiring.Component):
    """FIFO of queue entries whose end can be taken back.

    Parameters
    ----------
    capacity : int
        Symbols it holds, at least 4. A symbol takes one slot; a command for this HUB takes four, as on the wire.

    Members
    -------
    write, entry : In(1), In(QueueEntry)
        Writes an entry; only when not ``full``.
    first : In(1)
        With ``write``: writes it to the first slot that is not committed. The end moves by one slot, as always.
    commit : In(1)
        With ``write``: all that was written is committed.
    cut : In(1)
        What is not committed is taken back before the write of this cycle.
    full : Out(1)
        No slot is free.
    oldest, valid : Out(QueueEntry), Out(1)
        The oldest entry that is committed.
    pending : Out(1)
        There will be an entry in the next cycle, whether it is now or not.
    pop : In(1)
        The oldest entry is taken; only when ``valid``.

    Timing
    ------
    An entry that is written in cycle t and committed at once is the oldest in cycle t + 2 if the queue is empty. One entry in
    and one out in every cycle. ``full`` follows the writes and the pops at once.

    Raises
    ------
    TypeError, ValueError
        If ``capacity`` is not an int of at least 4.
    """

    def __init__(self, capacity):
        if not isinstance(capacity, int) or isinstance(capacity, bool):
            raise TypeError(f"capacity of a queue must be an int, not {capacity!r}")
        if capacity < COMMAND_LENGTH:
            raise ValueError(f"a queue must hold a command of {COMMAND_LENGTH} symbols, not {capacity}")
        self.capacity = capacity
        super().__init__({
            "write": In(1), "entry": In(QueueEntry), "first": In(1), "commit": In(1), "cut": In(1), "full": Out(1),
            "oldest": Out(QueueEntry), "valid": Out(1), "pending": Out(1), "pop": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        depth = 1 << self.capacity.bit_length()
        m.submodules.memory = storage = memory.Memory(shape=QueueEntry, depth=depth, init=[])
        write_port, read_port = storage.write_port(), storage.read_port()

        written = Signal(range(depth))    # end of what is written
        committed = Signal(range(depth))  # end of what the head may see
        taken = Signal(range(depth))      # where the head stands
        end, after = Signal(range(depth)), Signal(range(depth))
        m.d.comb += [
            end.eq(Mux(self.cut, committed, written)),
            after.eq(end + self.write),
            write_port.addr.eq(Mux(self.first, committed, end)),
            write_port.data.eq(self.entry),
            write_port.en.eq(self.write),
        ]
        m.d.sync += written.eq(after)
        with m.If(self.write & self.commit):
            m.d.sync += committed.eq(after)

        room = Signal(range(depth))
        m.d.comb += [
            room.eq(taken + self.capacity - written),
            self.full.eq(room == 0),
        ]

        next_taken = Signal(range(depth))
        m.d.comb += next_taken.eq(taken)
        with m.If(self.pop):
            m.d.comb += next_taken.eq(taken + Mux(self.oldest.command, COMMAND_LENGTH, 1))
        m.d.comb += [
            self.pending.eq(committed != next_taken),
            read_port.addr.eq(next_taken),
            self.oldest.eq(read_port.data),
        ]
        m.d.sync += [
            taken.eq(next_taken),
            self.valid.eq(self.pending),
        ]

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.spy = SimpleNamespace(address=look.addr, data=look.data, taken=taken, committed=committed, written=written)
            m.d.comb += [
                Assert(room <= self.capacity, "the queue holds no more than its capacity"),
                Assert((committed - taken)[:len(taken)] <= (written - taken)[:len(taken)],
                       "the head sees no more than was written"),
            ]
        return m

"""DMA from the router to memory: a message goes to its head's place, and what is too long for it to the body's.

Source: Close, "The iPSC/2 Node Architecture" (1988), section 2.4.4: one channel of the 82258 from routing logic to
node; Pierce, "The NX/2 Operating System" (1988), sections 2.3 and 3.2: it is set up at all times with a place for a
complete message; the bytes of a long message beyond the size of a short one go to a buffer of their own. The registers
are ours: ``docs/ipsc2-node.md``, "DMA".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..formats import WORD_BITS
from .deserializer import InWord

__all__ = ["Store", "place_layout"]


def place_layout(memory_bytes):
    """A place of ``words`` words from the word ``address`` on, in a memory of ``memory_bytes``, a power of two."""
    bits = ceil_log2(memory_bytes) - 2
    return data.StructLayout({"address": bits, "words": bits + 1})


class Store(wiring.Component):
    """Writes messages.

    Parameters
    ----------
    memory_bytes : int
        Size of the memory: a power of two, as Bus checks.

    Members
    -------
    head, arm : In(place_layout), In(1)
        The place for the first words of the next message. With ``arm`` it is taken, and the message before is
        forgotten.
    body, set_body : In(place_layout), In(1)
        The place for the words that the head has no room for; taken with ``set_body``.
    body_left : Out
        Words of the body that are free; 0 when a message that has used it has ended.
    words : In(stream of InWord)
        From the FIFO.
    wants, address, write_data : Out
        A word is to be written; all stay until ``done``.
    done : In(1)
        The word has been written in this cycle.
    armed : Out(1)
        A message can be stored, or is being stored.
    arrived : Out(1)
        A message has ended, and its state holds until ``arm``.
    stored, in_body, too_long, bad, cut : Out
        Words stored; the body has been used; words were dropped for want of a place; see InWord.

    Timing
    ------
    A word that has a place is taken in the cycle of ``done``, another one in a cycle. ``arrived`` is 1 from the cycle
    behind that of the last word on. ``arm`` while a message is being stored is ignored, from the cycle on in which its
    first word is taken, as is ``set_body`` while the message uses the body.
    """

    def __init__(self, memory_bytes):
        self._place = place = place_layout(memory_bytes)
        words = place["words"].width
        super().__init__(
            {
                "head": In(place),
                "arm": In(1),
                "body": In(place),
                "set_body": In(1),
                "body_left": Out(words),
                "words": In(stream.Signature(InWord)),
                "wants": Out(1),
                "address": Out(place["address"].width),
                "write_data": Out(2 * WORD_BITS),
                "done": In(1),
                "armed": Out(1),
                "arrived": Out(1),
                "stored": Out(words + 1),
                "in_body": Out(1),
                "too_long": Out(1),
                "bad": Out(1),
                "cut": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        head, body = (
            SimpleNamespace(
                address=Signal(self._place["address"].shape, name=f"{name}_address", reset_less=True),
                words=Signal(self._place["words"].shape, name=f"{name}_words"),
            )
            for name in ("head", "body")
        )
        stored = Signal.like(self.stored, reset_less=True)
        begun = Signal()  # a word of the message has been taken
        in_head = Signal()
        there = Signal()
        taken = Signal()
        word = self.words.payload
        m.d.comb += [
            in_head.eq(head.words != 0),
            there.eq(in_head | (body.words != 0)),
            self.wants.eq(self.armed & self.words.valid & there),
            self.write_data.eq(word.data),
            self.body_left.eq(body.words),
            self.stored.eq(stored),
            self.words.ready.eq(self.armed & (self.done | ~there)),
            taken.eq(self.words.ready & self.words.valid),
        ]
        with m.If(in_head):
            m.d.comb += self.address.eq(head.address)
        with m.Else():
            m.d.comb += self.address.eq(body.address)

        with m.If(self.set_body & ~(begun & self.in_body)):
            m.d.sync += [body.address.eq(self.body.address), body.words.eq(self.body.words)]
        with m.If(self.arm & ~begun):
            m.d.sync += [
                head.address.eq(self.head.address),
                head.words.eq(self.head.words),
                self.armed.eq(1),
                self.arrived.eq(0),
                stored.eq(0),
                self.in_body.eq(0),
                self.too_long.eq(0),
            ]
        with m.If(taken):
            # The address of a head without words means nothing.
            m.d.sync += [begun.eq(1), head.address.eq(head.address + 1), head.words.eq(head.words - in_head)]
            with m.If(there):
                m.d.sync += stored.eq(stored + 1)
            with m.Else():
                m.d.sync += self.too_long.eq(1)
            with m.If(there & ~in_head):
                m.d.sync += [
                    body.address.eq(body.address + 1),
                    body.words.eq(body.words - 1),
                    self.in_body.eq(1),
                ]
            with m.If(word.last):
                m.d.sync += [
                    begun.eq(0),
                    self.armed.eq(0),
                    self.arrived.eq(1),
                    self.bad.eq(word.bad),
                    self.cut.eq(word.cut),
                ]
                with m.If(self.in_body | there & ~in_head):
                    m.d.sync += body.words.eq(0)
        if platform == "formal":
            self.probes = SimpleNamespace(head=head, body=body)
        m.d.comb += Assert(~(self.armed & self.arrived), "a message is being stored, or has been")
        return m

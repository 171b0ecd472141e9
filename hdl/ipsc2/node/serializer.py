"""Serializer: makes frames of a node's words and puts them into the network.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Routing Operation": the low 16 bits of
the first word are the routing probe; the serializer requests the channel, sends the probe, waits for allow data, sends,
is throttled by status nibbles, and appends the checksum word with EOM. Cycles, the end of a refused or given up
message, and the checksum's algorithm are ours: ``docs/ipsc2-node.md``.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..formats import DATA_START, NIBBLE_PAIRS, NIBBLE_START, PAIR_BITS, RDY_PLACE, WORD_BITS, WORD_PAIRS
from ..signatures import NodeSource
from .checksum import CHECKSUM_BITS, START, advance

__all__ = ["OutWord", "Serializer"]


class OutWord(data.Struct):
    """A word of a message to send, and whether it is the last one."""

    data: 2 * WORD_BITS
    last: 1


class Serializer(wiring.Component):
    """Sends messages.

    Members
    -------
    words : In(stream of OutWord)
        The words of the messages. The low half of a message's first word is the routing probe.
    source : Out(NodeSource())
        To the router.
    abort : In(1)
        The message under way is given up. It is ignored without a message, and from the cycle on in which the checksum
        word is chosen.
    busy : Out(1)
        A message is under way: its first word has been taken, and it has not ended.
    sent : Out(1)
        In this cycle the last pair of a whole message is taken by the router.
    refused : Out(1)
        In this cycle the router refuses the message.
    aborted : Out(1)
        In this cycle the network is rid of a message that was given up.

    Timing
    ------
    ``request`` is 1 from the cycle behind the one in which the first word is taken. With ``grant`` a pair goes out in
    each cycle, and with ``allow`` and words there are no nibbles between words. The rest of a message that was refused
    or given up is taken at a word a cycle, and dropped. A word that gives a message up is sent behind a nibble.
    """

    def __init__(self):
        super().__init__(
            {
                "words": In(stream.Signature(OutWord)),
                "source": Out(NodeSource()),
                "abort": In(1),
                "busy": Out(1),
                "sent": Out(1),
                "refused": Out(1),
                "aborted": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # All of a message, which the state IDLE sets before it is looked at.
        probe = Signal(WORD_BITS, reset_less=True)
        high = Signal(WORD_BITS, reset_less=True)
        waits = Signal(reset_less=True)  # the word in high is still to be sent
        ended = Signal(reset_less=True)  # the last word of the message has been taken
        give_up = Signal(reset_less=True)
        frame = Signal(PAIR_BITS * WORD_PAIRS, reset_less=True)  # what is left of it
        place = Signal(range(WORD_PAIRS), reset_less=True)
        nibble = Signal(reset_less=True)  # it is one
        final = Signal(reset_less=True)
        value = Signal(CHECKSUM_BITS, reset_less=True)
        value_next = Signal(CHECKSUM_BITS)
        word = self.words.payload
        m.d.comb += [
            self.source.probe.eq(probe),
            self.source.data.eq(frame[:PAIR_BITS]),
            # Behind RDY comes data: that of the checksum word is counted too, but nobody looks at the value then.
            value_next.eq(Mux(place > RDY_PLACE, advance(value, self.source.data), value)),
        ]
        m.d.sync += value.eq(value_next)

        # The next frame: what it carries, or a status nibble.
        loads = Signal()
        unit = Signal(WORD_BITS)
        end = Signal()
        ends = Signal()
        m.d.comb += ends.eq(self.source.grant & (place == Mux(nibble, NIBBLE_PAIRS - 1, WORD_PAIRS - 1)))
        with m.If(self.source.grant):
            m.d.sync += [frame.eq(frame >> PAIR_BITS), place.eq(place + 1)]
        with m.If(ends):
            m.d.sync += [frame[: 2 * PAIR_BITS].eq(NIBBLE_START | 0b10 << PAIR_BITS), nibble.eq(1), place.eq(0)]
        with m.If(loads):
            m.d.sync += [
                frame.eq(Cat(Const(DATA_START, PAIR_BITS), Const(0, 1), end, unit)),
                nibble.eq(0),
                final.eq(end),
                place.eq(0),
            ]
        with m.If(ends & self.source.allow):
            m.d.sync += waits.eq(0)
        with m.If(self.words.ready):
            m.d.sync += [high.eq(word.data[WORD_BITS:]), waits.eq(1), ended.eq(word.last)]

        def leave():
            """The message is over; its words that are still to come are dropped."""
            with m.If(ended):
                m.next = "IDLE"
            with m.Else():
                m.next = "DROP"

        with m.If(self.abort & self.busy & ~final & ~end):
            m.d.sync += give_up.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.words.ready.eq(1), loads.eq(1), unit.eq(word.data[:WORD_BITS])]
                m.d.sync += [probe.eq(word.data[:WORD_BITS]), value.eq(START), give_up.eq(0)]
                with m.If(self.words.valid):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += [
                    self.busy.eq(1),
                    self.source.request.eq(~give_up),
                    self.refused.eq(self.source.refused),
                    self.aborted.eq(give_up & ~self.source.grant),
                ]
                with m.If(self.source.grant):
                    m.next = "SEND"
                with m.Elif(self.source.refused | give_up):
                    leave()
            with m.State("SEND"):
                m.d.comb += self.busy.eq(1)
                with m.If(ends):
                    with m.If(final):
                        m.d.comb += [self.sent.eq(~give_up), self.aborted.eq(give_up)]
                        leave()
                    with m.Elif(give_up):
                        with m.If(nibble):
                            m.d.comb += [loads.eq(1), unit.eq(~value_next), end.eq(1)]
                    with m.Elif(self.source.allow & waits):
                        m.d.comb += [loads.eq(1), unit.eq(high)]
                    with m.Elif(self.source.allow & ended):
                        m.d.comb += [loads.eq(1), unit.eq(value_next), end.eq(1)]
                    with m.Elif(self.source.allow & self.words.valid):
                        m.d.comb += [self.words.ready.eq(1), loads.eq(1), unit.eq(word.data[:WORD_BITS])]
            with m.State("DROP"):
                m.d.comb += self.words.ready.eq(1)
                with m.If(self.words.valid & word.last):
                    m.next = "IDLE"
        return m

"""Reply bus: carries replies from port to port, a byte in every cycle, beside crossbar and connections.

Source: "The Design of Nectar" (1989), section 4.2.1: a reply is never blocked and arrives within a bounded time. The
bus, and the hellos of neighbours that travel on it, are ours (``docs/hub.md``, "Replies" and "Neighbours")."""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH
from .commands import HELLO, HELLO_ASK, HELLO_HUB, Op
from .control.arbiter import Arbiter
from .messages import check_ports, index_bits, one_hot_index
from .port.reply_buffer import ReplySource

__all__ = ["ReplyBus", "HelloWrite"]

_LAST = COMMAND_LENGTH - 1


class HelloWrite(wiring.Signature):
    """A hello of a neighbour, in two consecutive cycles.

    Members
    -------
    index : Out(range(ports))
        The port where it arrived.
    byte : Out(8)
        The ID or the kind.
    id, kind : Out(1)
        ``byte`` is the ID; ``byte`` is the kind.
    """

    def __init__(self, ports):
        super().__init__({"index": Out(index_bits(ports)), "byte": Out(8), "id": Out(1), "kind": Out(1)})


class ReplyBus(wiring.Component):
    """Moves replies to the ports from which they leave.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Members
    -------
    hub_id : In(8)
        ID of this HUB.
    source : In(ReplySource()).array(ports)
        Replies that wait at each port.
    ask : In(ports)
        Ports at which a hello is to be sent that asks for the neighbour's hello. Remembered until it is sent.
    connected, owner : as in StatusTable
        A reply that arrived at a port leaves through the input connected to the port's output.
    byte, place, push : Out(8), Out(2), Out(ports)
        A byte of a reply, opcode (1), HUB (2) or value (3), for one output port, one-hot.
    full : In(ports)
        Output ports without room. Of a reply for such a port only the opcode is pushed, and the port does not take it.
    close : Out(ports)
        One-hot, the port whose connection ends: a reply to *close all reply* passes there.
    no_route, lost : Out(ports)
        One-hot, the port whose reply had nowhere to go, or found no room.
    hello : Out(HelloWrite(ports))
        A hello. It is not passed on; it is answered if it asks for an answer.
    busy : Out(1)
        A reply is on the bus, or a neighbour is still to be asked.

    Timing
    ------
    A reply takes four cycles, as on the fiber. The ports take turns, so each port waits for at most ports - 1 others. A
    reply that is picked in cycle t is read in t + 1 to t + 3. Its route and the end of its connection belong to cycle
    t + 2. It is pushed, or lost, from t + 3 on.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        bits = index_bits(ports)
        super().__init__(
            {
                "hub_id": In(8),
                "source": In(ReplySource()).array(ports),
                "ask": In(ports),
                "connected": In(ports),
                "owner": In(bits).array(ports),
                "byte": Out(8),
                "place": Out(2),
                "push": Out(ports),
                "full": In(ports),
                "close": Out(ports),
                "no_route": Out(ports),
                "lost": Out(ports),
                "hello": Out(HelloWrite(ports)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)

        def chosen(mask, values):
            """The value whose bit in ``mask`` is set; 0 if no bit is set."""
            return reduce(or_, (Mux(bit, value, 0) for bit, value in zip(mask, values)))

        # Pick: the port, and whether the bus asks its neighbour or carries a reply.
        place = Signal(range(COMMAND_LENGTH))  # of the byte that is read, 0 while picking
        origin = Signal(self.ports)
        asks = Signal(self.ports)
        were_asks = Signal(self.ports, reset_less=True)  # ``asks`` as they were at the pick
        asking = Signal()
        m.submodules.turns = turns = Arbiter(self.ports)
        picks = Signal()
        m.d.comb += [
            turns.asks.eq(asks | Cat(source.valid for source in self.source)),
            picks.eq(place == 0),
            turns.keep.eq(~picks),
        ]
        with m.If(picks):
            m.d.sync += [origin.eq(turns.pick), place.eq(turns.asks.any()), were_asks.eq(asks)]
        with m.Else():
            m.d.sync += place.eq(place + 1)
        m.d.sync += asks.eq(asks & ~(turns.pick & picks.replicate(self.ports)) | self.ask)
        m.d.comb += asking.eq((origin & were_asks).any())
        for n in ports:
            m.d.comb += [
                self.source[n].place.eq(place),
                self.source[n].pop.eq(origin[n] & (place == _LAST) & ~asking),
            ]

        # Read.
        read = Signal(8, reset_less=True)
        read_place = Signal(range(COMMAND_LENGTH))
        read_asking = Signal(reset_less=True)
        read_origin = Signal(self.ports, reset_less=True)
        index = Signal(range(self.ports), reset_less=True)
        m.d.sync += [
            read.eq(chosen(origin, (source.byte for source in self.source))),
            read_place.eq(place),
            read_asking.eq(asking),
            read_origin.eq(origin),
            index.eq(one_hot_index(origin)),
        ]

        # Route, decided with the opcode. The other two bytes go the same way.
        opcode = Signal()
        hello = Signal()
        greets = Signal()
        connected = Signal()
        # a hello is under way; a hello of this HUB is under way
        heard = Signal(reset_less=True)
        greeted = Signal(reset_less=True)
        # the reply goes somewhere; it should go somewhere, and cannot
        routed = Signal(reset_less=True)
        nowhere = Signal(reset_less=True)
        target = Signal(self.ports, reset_less=True)  # one-hot, the port to which it goes
        m.d.comb += [
            opcode.eq(read_place == 1),
            hello.eq(~read_asking & (read[1:] == HELLO >> 1)),
            greets.eq(read_asking | hello & read[0]),
            connected.eq((self.connected & read_origin).any()),
            self.close.eq(Mux(opcode & (read == Op.CLOSE_ALL_REPLY) & ~read_asking, self.connected & read_origin, 0)),
            self.hello.index.eq(index),
            self.hello.byte.eq(read),
            self.hello.id.eq((read_place == 2) & heard),
            self.hello.kind.eq((read_place == _LAST) & heard),
        ]
        out = Signal(8, reset_less=True)
        out_place = Signal(range(COMMAND_LENGTH))
        out_origin = Signal(self.ports, reset_less=True)
        m.d.sync += [out_place.eq(read_place), out_origin.eq(read_origin), out.eq(read)]
        with m.If(opcode):
            m.d.sync += [
                heard.eq(hello),
                greeted.eq(greets),
                routed.eq(greets | ~hello & connected),
                nowhere.eq(~greets & ~hello & ~connected),
                target.eq(1 << Mux(greets, index, chosen(read_origin, self.owner))),
            ]
            with m.If(greets):
                m.d.sync += out.eq(Mux(read_asking, HELLO_ASK, HELLO))
        with m.Elif(greeted):
            m.d.sync += out.eq(Mux(read_place == 2, self.hub_id, HELLO_HUB | index))

        # Push the opcode, and the other bytes if there is room when the opcode comes.
        goes = Signal()
        room = Signal()
        fits = Signal()
        m.d.comb += [
            room.eq((target & ~self.full).any()),
            goes.eq(routed & ((out_place == 1) | (out_place != 0) & fits)),
            self.push.eq(Mux(goes, target, 0)),
            self.byte.eq(out),
            self.place.eq(out_place),
            self.no_route.eq(Mux((out_place == 1) & nowhere, out_origin, 0)),
            self.lost.eq(Mux((out_place == 1) & routed & ~room, out_origin, 0)),
            self.busy.eq((place != 0) | (read_place != 0) | (out_place != 0) | asks.any()),
        ]
        with m.If(out_place == 1):
            m.d.sync += fits.eq(room)

        if platform == "formal":
            self.probes = SimpleNamespace(turns=turns, origin=origin, place=place, asks=asks)
            m.d.comb += Assert((target & (target - 1))[: self.ports] == 0, "a reply goes to one port")
        return m

"""Reply bus: carries replies from port to port, a byte in every cycle, beside crossbar and connections.

Source: "The Design of Nectar" (1989), section 4.2.1: a reply is never blocked and arrives within a bounded time. The
bus, and the hellos of neighbours that travel on it, are ours (``docs/hub.md``, "Replies" and "Neighbours")."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH
from .commands import HELLO, HELLO_ASK, HELLO_HUB, Op
from .control.arbiter import Arbiter
from .messages import chosen, index_bits, one_hot_index
from .part import HubPart
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


class _Signals:
    """What the sections of the bus of so many ``ports`` share, in the order of the cycles; proofs look into them. The
    pick is in cycle t."""

    def __init__(self, ports):
        # The pick, and from t + 1 on the picked port.
        self.turns = Arbiter(ports)
        self.asks = Signal(ports)  # ports whose neighbours are to be asked
        self.asked_anew = Signal(ports, reset_less=True)  # ports that were to be asked since the pick
        self.were_asks = Signal(ports, reset_less=True)  # ``asks`` as they were at the pick
        self.origin = Signal(ports)  # the picked port, one-hot
        self.asking = Signal()  # the bus asks its neighbour
        self.place = Signal(range(COMMAND_LENGTH))  # of the byte that is read, 0 while picking

        # From t + 2 on: the byte that was read, its place in the reply, and its port.
        self.read = Signal(8, reset_less=True)
        self.read_place = Signal(range(COMMAND_LENGTH))
        self.read_asking = Signal(reset_less=True)
        self.read_origin = Signal(ports, reset_less=True)
        self.index = Signal(range(ports), reset_less=True)
        self.opcode = Signal()  # the byte is the opcode
        self.hello = Signal()  # the opcode is that of a hello
        self.greets = Signal()  # a hello of this HUB is to be sent
        self.connected = Signal()  # the port's output is connected
        self.heard = Signal(reset_less=True)  # a hello is under way
        self.greeted = Signal(reset_less=True)  # a hello of this HUB is under way

        # From t + 3 on: the byte that leaves, and its route.
        self.out = Signal(8, reset_less=True)
        self.out_place = Signal(range(COMMAND_LENGTH))
        self.out_origin = Signal(ports, reset_less=True)
        self.routed = Signal(reset_less=True)  # the reply goes somewhere
        self.nowhere = Signal(reset_less=True)  # the reply should go somewhere, and cannot
        self.target = Signal(range(ports), reset_less=True)  # the port to which it goes


class ReplyBus(HubPart):
    """Moves replies to the ports from which they leave.

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
    """

    def members(self):
        ports, bits = self.ports, index_bits(self.ports)
        return {
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

    def elaborate(self, platform):
        """The turns of the ports; the byte that is read; what it says; its route; the push."""
        m = Module()
        s = _Signals(self.ports)
        m.submodules.turns = s.turns
        self._pick(m, s)
        self._read(m, s)
        self._hear(m, s)
        self._route(m, s)
        self._push(m, s)
        m.d.comb += self.busy.eq((s.place != 0) | (s.read_place != 0) | (s.out_place != 0) | s.asks.any())
        if platform == "formal":
            self.probes = s
        return m

    def _pick(self, m, s):
        """Cycle t: picks the port, and whether the bus asks its neighbour or carries a reply. In the next three cycles
        the port gives the bytes of its reply."""
        picks = Signal()
        m.d.comb += [
            s.turns.asks.eq(s.asks | Cat(source.valid for source in self.source)),
            picks.eq(s.place == 0),
            s.turns.keep.eq(~picks),
        ]
        with m.If(picks):
            m.d.sync += [s.origin.eq(s.turns.pick), s.place.eq(s.turns.asks.any()), s.were_asks.eq(s.asks)]
        with m.Else():
            m.d.sync += s.place.eq(s.place + 1)
        # A port that is to be asked again since the pick stays.
        m.d.sync += [
            s.asked_anew.eq(self.ask | Mux(s.place == 1, s.asked_anew, 0)),
            s.asks.eq(s.asks & ~Mux((s.place == 2) & s.read_asking, s.origin & ~s.asked_anew, 0) | self.ask),
        ]
        m.d.comb += s.asking.eq((s.origin & s.were_asks).any())
        for n in range(self.ports):
            m.d.comb += [
                self.source[n].place.eq(s.place),
                self.source[n].pop.eq(s.origin[n] & (s.place == _LAST) & ~s.read_asking),
            ]

    def _read(self, m, s):
        """Cycles t + 1 to t + 3: a byte of the reply is read, and stands in a register in the next cycle."""
        m.d.sync += [
            s.read.eq(chosen(s.origin, (source.byte for source in self.source))),
            s.read_place.eq(s.place),
            s.read_asking.eq(s.asking),
            s.read_origin.eq(s.origin),
            s.index.eq(one_hot_index(s.origin)),
        ]

    def _hear(self, m, s):
        """Cycle t + 2: what the opcode says. The ID and the kind of a hello follow in t + 3 and t + 4."""
        m.d.comb += [
            s.opcode.eq(s.read_place == 1),
            s.hello.eq(~s.read_asking & (s.read[1:] == HELLO >> 1)),
            s.greets.eq(s.read_asking | s.hello & s.read[0]),
            s.connected.eq((self.connected & s.read_origin).any()),
            self.close.eq(
                Mux(s.opcode & (s.read == Op.CLOSE_ALL_REPLY) & ~s.read_asking, self.connected & s.read_origin, 0)
            ),
            self.hello.index.eq(s.index),
            self.hello.byte.eq(s.read),
            self.hello.id.eq((s.read_place == 2) & s.heard),
            self.hello.kind.eq((s.read_place == _LAST) & s.heard),
        ]

    def _route(self, m, s):
        """Cycle t + 2: the route, decided with the opcode. The other two bytes go the same way, in t + 3 and t + 4.

        A reply leaves at the port whose input is connected to the output of the port where the reply arrived. A hello
        of this HUB leaves at the port of the neighbour, and its bytes replace the bytes that were read."""
        m.d.sync += [s.out_place.eq(s.read_place), s.out_origin.eq(s.read_origin), s.out.eq(s.read)]
        with m.If(s.opcode):
            m.d.sync += [
                s.heard.eq(s.hello),
                s.greeted.eq(s.greets),
                s.routed.eq(s.greets | ~s.hello & s.connected),
                s.nowhere.eq(~s.greets & ~s.hello & ~s.connected),
                s.target.eq(Mux(s.greets, s.index, chosen(s.read_origin, self.owner))),
            ]
            with m.If(s.greets):
                m.d.sync += s.out.eq(Mux(s.read_asking, HELLO_ASK, HELLO))
        with m.Elif(s.greeted):
            m.d.sync += s.out.eq(Mux(s.read_place == 2, self.hub_id, HELLO_HUB | s.index))

    def _push(self, m, s):
        """Cycles t + 3 to t + 5: pushes the opcode, and the other bytes if there is room when the opcode comes."""
        goes = Signal()
        room = Signal()
        fits = Signal()
        m.d.comb += [
            room.eq(~self.full.bit_select(s.target, 1)),
            goes.eq(s.routed & ((s.out_place == 1) | (s.out_place != 0) & fits)),
            self.push.eq(goes << s.target),
            self.byte.eq(s.out),
            self.place.eq(s.out_place),
            self.no_route.eq(Mux((s.out_place == 1) & s.nowhere, s.out_origin, 0)),
            self.lost.eq(Mux((s.out_place == 1) & s.routed & ~room, s.out_origin, 0)),
        ]
        with m.If(s.out_place == 1):
            m.d.sync += fits.eq(room)

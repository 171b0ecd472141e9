"""Proof of how heads, crossbar, status table and output ports work together when a close all passes.

Statement: H13; docs/hub.md, "Input side of a port" and "Output side of a port".
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import Op
from ...hdl.hub.control.status_table import StatusTable
from ...hdl.hub.crossbar import Crossbar
from ...hdl.hub.messages import index_bits, one_hot_index
from ...hdl.hub.port.entry import CLOSES
from ...hdl.hub.port.head import Head
from ...hdl.hub.port.output_port import OutputPort
from .faults import Fault
from .output_port import MARK_OUTLIVES, is_sent
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "TransferProof"]


class TransferProof(wiring.Component):
    """Heads between queues and outputs; ``late`` as in Crossbar. Connections are entered for heads that wait, end
    for whatever reason, decisions come, and ready signals are sent, at any time."""

    def __init__(self, ports, late):
        self.ports = ports
        self.late = late
        self.heads = [Head(ports, n) for n in range(ports)]
        self.outputs = [OutputPort(register=not late) for _ in range(ports)]
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)
        table, crossbar = StatusTable(self.ports), Crossbar(self.ports, self.late)
        m.submodules.table = look_into(table, platform)
        m.submodules.crossbar = look_into(crossbar, platform)

        # A connection is entered now and then, as the controller does it: to an output that has been free for a cycle.
        was_connected, giver, named = Signal(self.ports), Signal(index_bits(self.ports)), Signal(self.ports)
        in_use = Cat(Cat(targets[o] for targets in table.targets).any() for o in ports)
        m.d.comb += [
            table.enter.eq(AnySeq(self.ports)),
            Assume((table.enter & (table.enter - 1))[: self.ports] == 0),
            giver.eq(one_hot_index(table.enter)),
            named.eq(Array([head.named for head in self.heads])[giver]),
            table.entered_input.eq(giver),
            Assume(~table.enter.any() | named.any()),
            Assume(~table.enter.any() | ~named.bit_select(giver, 1)),
            Assume(~table.enter.any() | ((named & (in_use | table.connected | was_connected)) == 0)),
        ]
        m.d.sync += was_connected.eq(table.connected)

        for n, head, port in zip(ports, self.heads, self.outputs):
            m.submodules[f"head_{n}"] = look_into(head, platform)
            m.submodules[f"output_{n}"] = look_into(port, platform)
            entry, own = Signal(9, name=f"entry_{n}"), Signal(name=f"own_{n}")
            control = head.control
            waits = head.probes.states[4]
            outside = ~(head.probes.last_but_one | head.probes.last)  # the next entry is not part of a close all
            was_clean = Signal(name=f"was_clean_{n}")
            m.d.sync += was_clean.eq(head.clean)
            m.d.comb += [
                entry.eq(AnySeq(9)),
                own.eq(AnySeq(1)),
                Assume(is_sent(entry) | own | (entry == CLOSES | Op.CLOSE_ALL) & outside | head.probes.states[1]),
                Assume(~own | entry[7] & entry[8] & outside),
                Assert(head.probes.states[0] | outside),
                Assert(head.probes.passes == (head.probes.states[0] & ~head.probes.closing)),
                Assert(~head.probes.closing | head.probes.states[:3].any() & outside),
                Assert(
                    ((head.probes.states & (head.probes.states - 1))[:5] == 0)
                    & ~(head.probes.last_but_one & head.probes.last)
                ),
                head.entry.eq(entry),
                head.own.eq(own),
                head.control_code.eq(Mux(own, AnySeq(1), entry[8] & (entry != CLOSES | Op.CLOSE_ALL))),
                head.valid.eq(AnySeq(1) & ~head.halt),
                head.clean.eq(AnySeq(1) & ~head.valid & outside),
                head.offer.eq(AnySeq(1)),
                Assume(~(head.offer & was_clean) | ~head.valid & outside),
                Assert(~head.probes.way | was_clean & head.probes.idle),
                Assert((head.named & (head.named - 1))[: self.ports] == 0),
                head.offered.eq(AnySeq(16)),
                head.halt.eq(AnySeq(1)),
                head.expired.eq(AnySeq(1)),
                control.resume.eq(AnySeq(1) & waits),
                control.response_valid.eq(AnySeq(1) & head.probes.asked),
                control.done.eq(AnySeq(1)),
                control.value.eq(AnySeq(8)),
                control.fault.eq(AnySeq(5)),
                control.quiet.eq(AnySeq(1)),
                head.answer.ready.eq(AnySeq(1)),
                control.mine.eq(table.mine[n]),
                head.crossbar.connected.eq(crossbar.listened[n]),
                head.crossbar.blocked.eq(crossbar.blocked[n]),
                head.crossbar.clear.eq(crossbar.clear[n]),
                table.named[n].eq(head.named),
                table.close_one[n].eq(control.close_one),
                table.close_mine[n].eq(control.close_mine | AnySeq(1)),
                table.closed[n].eq(port.closed | AnySeq(1)),
                Assume(~table.enter[n] | waits),
                Assert(~waits | head.probes.asked),
                Assert(
                    port.push == Cat(one.crossbar.move & table.targets[i][n] for i, one in enumerate(self.heads)).any(),
                    "a symbol goes over the connections that stand, and over no other",
                ),
                Assert(crossbar.listened[n] == table.targets[n].any(), "each head knows whether it has a connection"),
                Assert(crossbar.clear[n] == ~crossbar.blocked[n], "both registers tell the same"),
                crossbar.beat[n].eq(head.crossbar.beat),
                crossbar.move[n].eq(head.crossbar.move),
                crossbar.targets[n].eq(table.targets[n]),
                crossbar.owner[n].eq(table.owner[n]),
                crossbar.named[n].eq(head.named),
                crossbar.space[n].eq(port.space),
                port.beat.eq(crossbar.out[n]),
                port.push.eq(crossbar.push[n]),
                port.ended.eq(table.ended[n]),
                port.send_ready.eq(AnySeq(1)),
                port.ready_arrived.eq(AnySeq(1)),
                port.tx.ready.eq(AnySeq(1)),
                port.looped.eq(AnySeq(1)),
            ]
            sender = port.probes.replies.probes
            m.d.comb += Assert(
                (sender.at == 0) & (sender.come == sender.sent)
            )  # ready signals stand for all that is inserted

        m.d.comb += [
            crossbar.enter.eq(table.enter),
            *(Assert(~table.targets[i][i]) for i in ports),
            *(Assert(~table.targets[i][o] | (table.owner[o] == i)) for i in ports for o in ports),
        ]

        closing = Cat(head.probes.closing for head in self.heads)
        under_way = Signal(self.ports)  # the end of a close all is in the output port
        for o, port in zip(ports, self.outputs):
            probes = port.probes
            marks = [probes.taken & probes.beside.closes]  # the oldest first
            standing = [probes.taken]
            behind = probes.behind.probes
            standing.extend(behind.some)
            marks += [here & beat.closes for here, beat in zip(behind.some, behind.entries)]
            if self.late:
                m.d.comb += [
                    Assert(~marks[0]),
                    *(Assert(~table.targets[i][o] | crossbar.blocked[i] | ~behind.some[-1]) for i in ports),
                ]
            standing = Cat(standing)
            listeners = Cat(table.targets[i][o] for i in ports)
            m.d.comb += [
                under_way[o].eq(Cat(marks).any() | port.closed),
                Assert(sum(marks) + port.closed <= 1, "one close all at a time"),
                *(
                    Assert(~mark | ~standing[n + 1 :].any(), "nothing stands behind a close all")
                    for n, mark in enumerate(marks[:-1])
                ),
                Assert(
                    ~port.closed | ~standing[1:].any(),
                    "when it closes, all that came before has entered the output register",
                ),
                Assert(
                    ~under_way[o] | table.ended[o] | (listeners & closing).any(),
                    "until then, or until its connection has ended otherwise, that stands, and the head that sent the "
                    "close all waits",
                ),
                Assert(~under_way[o] | ~port.push, "and nothing follows"),
                Assert(~(listeners & ~closing).any() | ~under_way[o], "and cannot close another"),
            ]
        for n in ports:
            m.d.comb += Assert(
                ~closing[n] | ((table.targets[n] & ~under_way) == 0), "a head waits only for outputs that will close"
            )
        return m


PROOFS = [
    Proof(
        "transfer",
        "nothing overtakes or follows a close all",
        "H13",
        holds={
            "2 ports": Attempt(lambda: TransferProof(2, False), depth=3),
            "2 ports, late": Attempt(lambda: TransferProof(2, True), depth=3),
            "3 ports": Attempt(lambda: TransferProof(3, False), depth=3, nightly=True),
            "3 ports, late": Attempt(lambda: TransferProof(3, True), depth=3, nightly=True),
        },
        search=Attempt(lambda: TransferProof(2, True), mode="bmc", depth=14),
        everyday=0,
        faults={
            "it closes before the last symbol has left": Fault(
                OutputPort, "closed", lambda was, s: s.push & s.beat.closes
            ),
            "a mark outlives its connection": Fault(
                OutputPort, "beside", lambda was, s: Mux(s.load | s.free, was, s.beside)
            ),
            "a mark in the skid buffer outlives its connection": MARK_OUTLIVES,
            "nothing waits for a close all": Fault(Head, "closed", lambda was, s: 0),
            "a head does not look for room": Fault(Head, "leaves", lambda was, s: s.passes & s.valid & ~s.own),
            "a head does not know of its connection": Fault(Crossbar, "listened", lambda was, s: 0),
            "the parameter of a command goes on as a symbol": Fault(Head, "leaves", lambda was, s: was | s.loads),
        },
        searches={
            "a mark outlives its connection": Attempt(lambda: TransferProof(2, False), mode="bmc", depth=14),
        },
    )
]

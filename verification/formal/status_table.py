"""Proof of hdl/hub/control/status_table.py: an output has one input at most (H10), and a grant stands in the next
cycle (H4)."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.control.status_table import StatusTable
from ...hdl.hub.messages import one_hot_index
from ..specs.spec import agree, beside
from ..specs.status_table import ConnectionSpec
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "StatusTableProof", "any_port", "table_properties"]


def any_port(m, ports, name):
    """An arbitrary port's number, which does not change."""
    port = Signal(range(ports), name=name)
    m.d.comb += [port.eq(AnyConst(port.shape())), Assume(port < ports)]
    return port


def table_properties(m, table, i, o):
    """States what the table does with output ``o``, and what it tells input ``i`` of it, seen from outside."""

    def bits(masks):
        return Cat(mask.bit_select(o, 1) for mask in masks)

    names = bits(table.named)
    ends = table.closed.bit_select(o, 1).replicate(table.ports) | table.close_mine | table.close_one & names
    spec, shown = beside(m, ConnectionSpec(table.ports), {"enter": table.enter & names, "close": ends})
    m.d.comb += [
        Assert((spec.before & (spec.before - 1))[: table.ports] == 0, "an output has one input at most"),
        Assert((spec.owner & ~spec.before) == 0),
        agree(
            bits(table.targets),
            shown.targets,
            "a grant stands in the next cycle, what is closed is free in it, and else nothing changes",
        ),
        agree(
            table.connected.bit_select(o, 1),
            shown.connected,
            "the outputs' side shows a connection as soon, and its end a cycle later",
        ),
        agree(Array(table.owner)[o], shown.owner, "and names the same input"),
        agree(table.ended.bit_select(o, 1), shown.ended, "an end is told once"),
        Assert(
            ~names.bit_select(i, 1) | (table.mine.bit_select(i, 1) == spec.owner.bit_select(i, 1)),
            "an input is told whether it has what it names",
        ),
        Assert(Array(table.named)[i].any() | ~table.mine.bit_select(i, 1), "and has nothing if it names nothing"),
    ]


class StatusTableProof(wiring.Component):
    """A table whose surroundings enter and close connections as its docstring allows."""

    def __init__(self, ports):
        self.table = StatusTable(ports)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        table, ports = self.table, self.ports
        m.submodules.table = look_into(table, platform)
        for named in table.named:
            m.d.comb += [named.eq(AnySeq(ports)), Assume((named & (named - 1))[:ports] == 0)]
        m.d.comb += [
            table.enter.eq(AnySeq(ports)),
            Assume((table.enter & (table.enter - 1))[:ports] == 0),
            Assume((table.enter & table.close_one) == 0),
            table.close_one.eq(AnySeq(ports)),
            table.close_mine.eq(AnySeq(ports)),
            table.closed.eq(AnySeq(ports)),
        ]
        input_number, output = one_hot_index(table.enter), Signal(ports)
        in_use = Cat(Cat(targets[o] for targets in table.targets).any() for o in range(ports))
        m.d.comb += [
            output.eq(Array(table.named)[input_number]),
            table.entered_input.eq(input_number),
            Assume((table.enter == 0) | output.any() & ~output.bit_select(input_number, 1) & ((output & in_use) == 0)),
        ]
        table_properties(m, table, any_port(m, ports, "any_input"), any_port(m, ports, "any_output"))
        return m


PROOFS = [
    Proof(
        "status_table",
        "an output has one input, and a grant stands in the next cycle",
        "H10, H4",
        holds={
            "3 ports": Attempt(lambda: StatusTableProof(3)),
            "16 ports": Attempt(lambda: StatusTableProof(16), nightly=True),
        },
        search=Attempt(lambda: StatusTableProof(3), mode="bmc", depth=5),
        faults={
            "a close by the output leaves the mask of the input": Fault(StatusTable, "closed", lambda was, s: 0),
            "a grant is not noted": Fault(
                StatusTable, "targets__{n}", lambda was, s, n: Mux(s.enter[n], s[f"targets__{n}"], was)
            ),
            "an input closes what is not its own": Fault(
                StatusTable, "targets__{n}", lambda was, s, n: Mux(s.close_one[n] & ~s.mine[n], 0, was)
            ),
            "the owner is not noted": Fault(StatusTable, "owner__{n}", lambda was, s, n: s[f"owner__{n}"]),
            "the outputs' side is late with a grant": Fault(StatusTable, "entered", lambda was, s: 0),
        },
    )
]

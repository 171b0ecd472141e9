"""Proof of hdl/hub/control/status_table.py: an output has one input at most (H10), and a grant stands in the next
cycle (H4)."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.control.status_table import StatusTable
from ...hdl.hub.messages import one_hot_index
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
    """States what the table does with the pair of input ``i`` and output ``o``, seen from outside."""
    names, mine, in_use, entered = Signal(), Signal(), Signal(), Signal()
    owners = sum(targets.bit_select(o, 1) for targets in table.targets)
    m.d.comb += [
        names.eq(Array(table.named)[i].bit_select(o, 1)),
        mine.eq(Array(table.targets)[i].bit_select(o, 1)),
        in_use.eq(owners != 0),
        entered.eq(Cat(enters & named.bit_select(o, 1) for enters, named in zip(table.enter, table.named)).any()),
        Assert(owners <= 1, "an output has one input at most"),
    ]
    ends = (
        table.closed.bit_select(o, 1) | table.close_mine.bit_select(i, 1) | (table.close_one.bit_select(i, 1) & names)
    )
    owner = Array(table.owner)[o]
    expected, was_mine, was_in_use = Signal(), Signal(), Signal()
    m.d.sync += [
        expected.eq((mine | (table.enter.bit_select(i, 1) & names)) & ~ends),
        was_mine.eq(mine),
        was_in_use.eq(in_use | entered),
    ]
    m.d.comb += [
        Assert(
            mine == expected, "a grant stands in the next cycle, what is closed is free in it, and else nothing changes"
        ),
        Assert(~names | (table.mine.bit_select(i, 1) == mine), "an input is told whether it has what it names"),
        Assert(Array(table.named)[i].any() | ~table.mine.bit_select(i, 1), "and has nothing if it names nothing"),
        Assert(
            table.connected.bit_select(o, 1) == was_in_use,
            "the outputs' side shows a connection as soon, and its end a cycle later",
        ),
        Assert(~(mine | was_mine) | (owner == i), "and names the same input"),
        Assert(table.ended.bit_select(o, 1) == (was_in_use & ~in_use), "an end is told once"),
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

"""Proof of hdl/hub/control/status_table.py: an output has one input at most (H10), and a grant stands in the next
cycle (H4)."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Module, Mux, Signal
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
    names, mine, in_use = Signal(), Signal(), Signal()
    owners = sum(targets.bit_select(o, 1) for targets in table.targets)
    m.d.comb += [
        names.eq(Array(table.port)[i] == o),
        mine.eq(Array(table.targets)[i].bit_select(o, 1)),
        in_use.eq(owners != 0),
        Assert(owners <= 1, "an output has one input at most"),
    ]
    ends = (
        table.closed.bit_select(o, 1) | table.close_mine.bit_select(i, 1) | (table.close_one.bit_select(i, 1) & names)
    )
    entered, owner = table.entered_output.bit_select(o, 1), Array(table.owner)[o]
    expected, was_mine, was_in_use = Signal(), Signal(), Signal()
    m.d.sync += [
        expected.eq((mine | (table.enter.bit_select(i, 1) & names)) & ~ends),
        was_mine.eq(mine),
        was_in_use.eq(in_use | (entered if table.late else 0)),
    ]
    m.d.comb += [
        Assert(
            mine == expected, "a grant stands in the next cycle, what is closed is free in it, and else nothing changes"
        ),
        Assert(table.connected.bit_select(o, 1) == was_in_use, "the outputs' side follows a cycle later"),
        Assert(~was_mine | (owner == i), "and names the same input"),
        Assert(table.ended.bit_select(o, 1) == (was_in_use & ~in_use), "an end is told once"),
        Assert(~mine | (Mux(0 if table.late else entered, table.entered_input, owner) == i)),
    ]


class StatusTableProof(wiring.Component):
    """A table whose surroundings enter and close connections as its docstring allows."""

    def __init__(self, ports, late=False):
        self.table = StatusTable(ports, late)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        table, ports = self.table, self.ports
        m.submodules.table = look_into(table, platform)
        names = [Signal(range(ports), name=f"names_{n}") for n in range(ports)]
        for name, port in zip(names, table.port):
            m.d.comb += [name.eq(AnySeq(name.shape())), port.eq(name)]
        m.d.comb += [
            table.enter.eq(AnySeq(ports)),
            Assume((table.enter & (table.enter - 1))[:ports] == 0),
            Assume((table.enter & table.close_one) == 0),
            table.close_one.eq(AnySeq(ports)),
            table.close_mine.eq(AnySeq(ports)),
            table.closed.eq(AnySeq(ports)),
        ]
        input_number = one_hot_index(table.enter)
        output = Signal(range(ports))
        m.d.comb += [
            output.eq(Array(names)[input_number]),
            Assume(
                (table.enter == 0)
                | (output < ports)
                & (output != input_number)
                & (sum(mine.bit_select(output, 1) for mine in table.targets) == 0)
            ),
        ]
        told = m.d.comb if table.late else m.d.sync
        told += [
            table.entered_input.eq(input_number),
            table.entered_output.eq(Mux(table.enter.any(), 1 << output, 0)),
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
            "3 ports, late": Attempt(lambda: StatusTableProof(3, late=True)),
            "16 ports": Attempt(lambda: StatusTableProof(16), nightly=True),
            "16 ports, late": Attempt(lambda: StatusTableProof(16, late=True), nightly=True),
        },
        search=Attempt(lambda: StatusTableProof(3), mode="bmc", depth=5),
        faults={
            "a close by the output leaves the mask of the input": Fault(StatusTable, "closed", lambda was, s: 0),
            "a grant is not noted": Fault(StatusTable, "changes", lambda was, s: s.close_one & s.mine),
            "an input closes what is not its own": Fault(StatusTable, "changes", lambda was, s: s.enter | s.close_one),
            "the owner is not noted": Fault(StatusTable, "owner__{n}", lambda was, s, n: s[f"owner__{n}"]),
        },
    )
]

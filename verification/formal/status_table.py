"""Proof of hdl/hub/status_table.py: an output has one input at most (H10), and a grant stands in the next cycle (H4)."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Module, Signal
from amaranth.lib import wiring

from .prove import look_into

__all__ = ["StatusTableProof", "table_properties"]


def table_properties(m, table, ports):
    """States what the table does with one arbitrary pair of input and output, seen from outside.

    Assumes of the surroundings that inputs close only what is theirs; it says nothing about the grants.
    """
    i, o = Signal(range(ports), name="any_input"), Signal(range(ports), name="any_output")
    m.d.comb += [i.eq(AnyConst(i.shape())), o.eq(AnyConst(o.shape())), Assume(i < ports), Assume(o < ports)]
    targets = Array(table.targets)

    released, granted, granted_here = Signal(), Signal(), Signal()
    m.d.comb += [
        released.eq((table.closed | Array(table.close)[i]).bit_select(o, 1)),
        granted.eq(table.grant_output.bit_select(o, 1)),
        granted_here.eq(granted & table.grant_input.bit_select(i, 1)),
    ]
    for closes, mine in zip(table.close, table.targets):
        m.d.comb += Assume((closes & ~mine) == 0)
    others_close = Signal()  # by the assumption only if the output is theirs
    m.d.comb += others_close.eq(sum(closes.bit_select(o, 1) for closes in table.close) != 0)

    was_reset = Signal(init=1)
    was_released, was_granted, was_here = Signal(), Signal(), Signal()
    was_connected, was_mine = Signal(), Signal()
    now_connected, now_mine = Signal(), Signal()
    m.d.comb += [now_connected.eq(table.connected.bit_select(o, 1)), now_mine.eq(targets[i].bit_select(o, 1))]
    m.d.sync += [
        was_reset.eq(0),
        was_released.eq(released | others_close),
        was_granted.eq(granted), was_here.eq(granted_here),
        was_connected.eq(now_connected), was_mine.eq(now_mine),
    ]
    owners = sum(mine.bit_select(o, 1) for mine in table.targets)
    m.d.comb += [
        Assert(owners <= 1, "an output has one input at most"),
        Assert(now_connected == (owners == 1), "an output is in use exactly if an input has it"),
        Assert(~now_mine | (Array(table.owner)[o] == i), "both sides name the same input"),
    ]
    with m.If(was_reset):
        m.d.comb += Assert(~now_connected, "nothing is connected after a reset")
    with m.Elif(was_released):
        m.d.comb += Assert(~now_connected, "what is closed is free in the next cycle")
    with m.Elif(was_here):
        m.d.comb += Assert(now_mine, "a grant stands in the next cycle")
    with m.Elif(was_granted):
        m.d.comb += Assert(~now_mine & now_connected, "a grant to another input stands in the next cycle")
    with m.Else():
        m.d.comb += Assert((now_mine == was_mine) & (now_connected == was_connected), "else nothing changes")


class StatusTableProof(wiring.Component):
    """A table of class ``StatusTable`` whose surroundings enter and close connections as its docstring allows."""

    def __init__(self, StatusTable, ports):
        self.table = StatusTable(ports)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        table = self.table
        m.submodules.table = look_into(table, platform)
        grants, output = Signal(), Signal(range(self.ports))
        m.d.comb += [
            grants.eq(AnySeq(1)),
            table.grant_index.eq(AnySeq(table.grant_index.shape())),
            output.eq(AnySeq(output.shape())),
            Assume(table.grant_index < self.ports),
            Assume(output < self.ports),
            table.closed.eq(AnySeq(self.ports)),
        ]
        with m.If(grants):
            m.d.comb += [table.grant_input.eq(1 << table.grant_index), table.grant_output.eq(1 << output)]
        m.d.comb += [closes.eq(AnySeq(self.ports)) for closes in table.close]
        m.d.comb += Assume((table.grant_output & table.connected & ~Array(table.targets)[table.grant_index]) == 0)
        table_properties(m, table, self.ports)
        return m

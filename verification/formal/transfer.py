"""Proof of how heads, crossbar, status table and output ports work together when a close all passes.

Statement: H13; docs/hub.md, "Input side of a port" and "Output side of a port".
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Array, Assert, Assume, Module, Signal
from amaranth.lib import wiring

from ...hdl.hub.crossbar import Crossbar
from ...hdl.hub.messages import QueueEntry
from ...hdl.hub.output_port import OutputPort
from ...hdl.hub.status_table import StatusTable
from .prove import look_into

__all__ = ["TransferProof"]


class TransferProof(wiring.Component):
    """Heads of class ``Head`` between queues and outputs. Connections are entered, decisions made, ready signals and replies sent
    at any time."""

    def __init__(self, Head, ports, OutputPort=OutputPort):
        self.ports = ports
        self.heads = [Head(ports, n) for n in range(ports)]
        self.outputs = [OutputPort() for _ in range(ports)]
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        ports = range(self.ports)
        table, crossbar = StatusTable(self.ports), Crossbar(self.ports)
        m.submodules.table = look_into(table, platform)
        m.submodules.crossbar = look_into(crossbar, platform)
        space = Signal(self.ports)

        # A connection is entered now and then, as the controller does it.
        grants, output = Signal(), Signal(range(self.ports))
        m.d.comb += [
            grants.eq(AnySeq(1)),
            table.grant_index.eq(AnySeq(table.grant_index.shape())),
            output.eq(AnySeq(output.shape())),
            Assume((table.grant_index < self.ports) & (output < self.ports)),
            Assume((table.grant_output & table.connected & ~Array(table.targets)[table.grant_index]) == 0),
            crossbar.connected.eq(table.connected),
        ]
        with m.If(grants):
            m.d.comb += [table.grant_input.eq(1 << table.grant_index), table.grant_output.eq(1 << output)]

        for n, head, port in zip(ports, self.heads, self.outputs):
            m.submodules[f"head_{n}"] = look_into(head, platform)
            m.submodules[f"output_{n}"] = look_into(port, platform)
            m.d.comb += [
                head.entry.eq(AnySeq(QueueEntry.as_shape().size)),
                head.valid.eq(AnySeq(1)),
                head.response_valid.eq(AnySeq(1)),
                head.answer.ready.eq(AnySeq(1)),
                head.targets.eq(table.targets[n]),
                head.space.eq(space),
                table.close[n].eq(head.close),
                table.closed[n].eq(port.closed),
                Assume(~table.grant_input[n] | head.spy.state.ongoing("WAIT")),
                crossbar.passage[n].eq(head.passage),
                crossbar.move[n].eq(head.move),
                crossbar.owner[n].eq(table.owner[n]),
                space[n].eq(port.space),
                port.passage.eq(crossbar.out[n]),
                port.push.eq(crossbar.push[n]),
                port.send_ready.eq(AnySeq(1)),
                port.ready_arrived.eq(AnySeq(1)),
                port.reply.eq(AnySeq(24)),
                port.reply_push.eq(AnySeq(1) & ~port.reply_full),
                port.tx.ready.eq(AnySeq(1)),
            ]

        closing = Array([head.spy.state.ongoing("CLOSING") for head in self.heads])
        under_way = Signal(self.ports)  # the end of a close all is in the output port
        for n, port in zip(ports, self.outputs):
            spy = port.spy
            count, places = (spy.pushed - spy.taken)[:2], Array([place.closes for place in spy.places])
            first, second = places[spy.taken[0]] & (count > 0), places[~spy.taken[0]] & (count > 1)
            m.d.comb += [
                under_way[n].eq(first | second | port.closed),
                Assert(~port.push | port.space, "a symbol is pushed only where there is room"),
                Assert(first + second + port.closed <= 1, "one close all at a time"),
                Assert(~first | (count == 1), "nothing stands behind a close all"),
                Assert(~port.closed | (count == 0), "when it closes all that came before has entered the output register"),
                Assert(~under_way[n] | table.connected[n] & closing[table.owner[n]],
                       "until then the connection stands, and the head that sent the close all waits"),
                Assert(~under_way[n] | ~port.push, "and nothing follows"),
            ]
        for n in ports:
            m.d.comb += Assert(~closing[n] | ((table.targets[n] & ~under_way) == 0), "a head waits only for outputs that will close")
        return m

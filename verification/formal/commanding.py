"""What stands around a HUB's centre in its proofs: ports that give any command."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Cat, Mux, Signal

from ...hdl.hub.messages import index_bits

__all__ = ["commanding_ports", "of_all_ports"]


def of_all_ports(dut, name):
    """What the bundles of all ports of ``dut``, a Central, have as ``name``: bit n is that of port n."""
    return Cat(getattr(port, name) for port in dut.port)


def commanding_ports(m, dut):
    """Drives the inputs of ``dut``, a Central, as any ports can: each gives any command at any time when its last has
    been answered, and all else is arbitrary. The ports close connections at such times, too, whether these are theirs
    or not.

    Returns the ports whose command is not answered (Signal), and for each port its command (opcode above parameter, 16
    bits) in this cycle and in the last.
    """
    ports = dut.ports
    outstanding = Signal(ports)
    m.d.sync += outstanding.eq(
        (outstanding | of_all_ports(dut, "request_valid")) & ~of_all_ports(dut, "response_valid")
    )
    for signal in (
        *(port.give_up for port in dut.port),
        *(port.close_mine for port in dut.port),
        dut.expired,
        dut.passed,
        dut.closed,
        dut.ready,
        dut.ready_bit,
        dut.neighbour_id,
        dut.neighbour_kind,
        dut.byte,
    ):
        m.d.comb += signal.eq(AnySeq(signal.shape()))
    commands = []
    for n, port in enumerate(dut.port):
        kept, now = Signal(16, name=f"kept_{n}"), Signal(16, name=f"request_{n}")
        m.d.comb += [
            now.eq(Mux(outstanding[n], kept, AnySeq(16))),
            port.request.eq(now),
            dut.named[n].eq(1 << port.request.param[: index_bits(ports)]),
            port.request_valid.eq(AnySeq(1) & ~outstanding[n]),
            port.close_one.eq(AnySeq(1) & ~outstanding[n] & ~port.request_valid),
            dut.errors[n].eq(AnySeq(9)),
            dut.level[n].eq(AnySeq(10)),
        ]
        m.d.sync += kept.eq(now)
        commands.append((now, kept))
    return outstanding, commands

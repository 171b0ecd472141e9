"""What stands around a HUB's centre in its proofs: ports that give any command."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Mux, Signal

__all__ = ["commanding_ports"]


def commanding_ports(m, dut):
    """Drives the inputs of ``dut``, a Central, as any ports can: each gives any command at any time when its last has
    been answered, and all else is arbitrary. The ports close connections at such times, too, whether these are theirs
    or not.

    Returns the ports whose command is not answered (Signal), and for each port its command (opcode above parameter, 16
    bits) in this cycle and in the last.
    """
    ports = dut.ports
    outstanding = Signal(ports)
    m.d.sync += outstanding.eq((outstanding | dut.request_valid) & ~dut.response_valid)
    for signal in (
        dut.give_up,
        dut.expired,
        dut.closed,
        dut.close_mine,
        dut.ready,
        dut.ready_bit,
        dut.neighbour_id,
        dut.neighbour_kind,
        dut.byte,
    ):
        m.d.comb += signal.eq(AnySeq(signal.shape()))
    m.d.comb += [
        dut.request_valid.eq(AnySeq(ports) & ~outstanding),
        dut.close_one.eq(AnySeq(ports) & ~outstanding & ~dut.request_valid),
    ]
    commands = []
    for n in range(ports):
        kept, now = Signal(16, name=f"kept_{n}"), Signal(16, name=f"request_{n}")
        m.d.comb += [
            now.eq(Mux(outstanding[n], kept, AnySeq(16))),
            dut.request[n].eq(now),
            dut.errors[n].eq(AnySeq(9)),
            dut.level[n].eq(AnySeq(10)),
        ]
        m.d.sync += kept.eq(now)
        commands.append((now, kept))
    return outstanding, commands

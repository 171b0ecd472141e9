"""Every figure of the papers that this project reproduces, with where it stands and what measures it here.

D is "The Design of Nectar" (1989), N is "Network-Based Multicomputers", I is "The NX/2 Operating System" (1988).
"""

from . import board, layers, mpi, network, nodes, pins, protocols
from .facts import Fact, Rule

__all__ = ["FACTS"]

_EXACTLY, _AT_MOST, _AT_LEAST, _WITHIN, _ROUNDED = Rule


FACTS = {
    fact.id: fact
    for fact in (
        Fact("H1.ports", "ports of a HUB", 16, "", _EXACTLY, "D 3.1, 4.1", network.ports),
        Fact(
            "H2.cycles",
            "set-up of a connection and transfer of the first byte",
            10,
            "cycles",
            _EXACTLY,
            "D 4",
            pins.setup_cycles,
        ),
        Fact("H2.time", "set-up and transfer of the first byte, in time", 700, "ns", _EXACTLY, "D 4", pins.setup_time),
        Fact(
            "H3.cycles",
            "transfer of a byte on an established connection",
            5,
            "cycles",
            _EXACTLY,
            "D 4",
            pins.transfer_cycles,
        ),
        Fact("H3.time", "transfer of a byte, in time", 350, "ns", _EXACTLY, "D 4", pins.transfer_time),
        Fact("H4", "connections that the controller sets up in a cycle", 1, "", _EXACTLY, "D 4", pins.connection_rate),
        Fact("H5", "bandwidth of all ports together", 1.6, "Gbit/s", _AT_LEAST, "D abstract", pins.aggregate),
        Fact(
            "H6",
            "connection through one HUB, and the first byte through it",
            1000,
            "ns",
            _AT_MOST,
            "D 2.3",
            pins.setup_time,
        ),
        Fact("H7.user", "user commands", 38, "", _EXACTLY, "D 4.2", network.user_commands),
        Fact("H7.supervisor", "supervisor commands", 14, "", _EXACTLY, "D 4.2", network.supervisor_commands),
        Fact("H8", "bytes of a command", 3, "bytes", _EXACTLY, "D 4.2", network.command_bytes),
        Fact(
            "H14",
            "largest packet, which is what an input queue holds",
            1024,
            "bytes",
            _EXACTLY,
            "D 4.2.3",
            pins.largest_packet,
        ),
        Fact("C1.out", "outgoing fiber, everything else busy too", 12.5, "Mbyte/s", _ROUNDED, "D 5.1", board.fiber_out),
        Fact("C1.in", "incoming fiber, everything else busy too", 12.5, "Mbyte/s", _ROUNDED, "D 5.1", board.fiber_in),
        Fact("C3.rate", "data memory, all its users together", 66, "Mbyte/s", _ROUNDED, "D 5.2", board.memory_rate),
        Fact("C3.data", "data memory", 1024, "kbyte", _EXACTLY, "D 5.2", board.data_memory),
        Fact("C3.program", "program RAM", 512, "kbyte", _EXACTLY, "D 5.2", board.program_memory),
        Fact("C3.prom", "program PROM", 128, "kbyte", _EXACTLY, "D 5.2", board.prom),
        Fact("C4.page", "page of the memory protection", 1024, "bytes", _EXACTLY, "D 5.2", board.page_bytes),
        Fact(
            "C4.latency",
            "cycles that protection adds to an access",
            0,
            "cycles",
            _EXACTLY,
            "D 5.2",
            board.added_latency,
        ),
        Fact("C5", "protection domains", 32, "", _EXACTLY, "D 5.2", board.domains),
        Fact("C7", "VME", 10, "Mbyte/s", _AT_LEAST, "D 5.2", board.vme_rate),
        Fact("C8", "clock of the CPU", 16, "MHz", _EXACTLY, "D 5.2", board.clock),
        Fact("S1.cabs", "message between processes on two CABs", 30, "us", _AT_MOST, "D 2.3", network.message),
        Fact("S1.nodes", "message between processes on two nodes", 100, "us", _AT_MOST, "D 2.3", nodes.message),
        Fact("S2", "switch from thread to thread", (10, 15), "us", _WITHIN, "D 6.1", network.thread_switch),
        Fact(
            "S4",
            "receive upcall, at worst, before the input queue overflows",
            protocols.QUEUE_US,
            "us",
            _AT_MOST,
            "D 6.2.1",
            protocols.upcall,
        ),
        Fact(
            "S11.flow",
            "throughput that flow control in software costs",
            10,
            "%",
            _AT_MOST,
            "N 5.3.1",
            protocols.flow_control,
        ),
        Fact(
            "S11.routing", "throughput that routing in software costs", 2, "%", _AT_MOST, "N 5.3.2", protocols.routing
        ),
        Fact(
            "S13.stream",
            "CAB to CAB, byte stream",
            90,
            "Mbit/s",
            _AT_LEAST,
            "Cooper et al. 1990, abstract",
            protocols.stream,
        ),
        Fact(
            "S13.rate",
            "CAB to CAB, packets of 1 kbyte",
            90,
            "Mbit/s",
            _AT_LEAST,
            "Cooper et al. 1990, abstract",
            network.packet_rate,
        ),
        Fact(
            "S13.circuit",
            "CAB to CAB, circuits for 64 kbyte (a goal of ours)",
            97,
            "Mbit/s",
            _AT_LEAST,
            "ours",
            network.circuit_rate,
        ),
        Fact(
            "S13.rpc",
            "remote procedure call between tasks on two nodes",
            500,
            "us",
            _AT_MOST,
            "Cooper et al. 1990, abstract",
            nodes.call,
        ),
        Fact("S13.nodes", "node to node", 28, "Mbit/s", _AT_LEAST, "Cooper et al. 1990, abstract", nodes.rate),
        Fact(
            "S7.nodes",
            "node to node, tasks of Nectarine",
            28,
            "Mbit/s",
            _AT_LEAST,
            "Cooper et al. 1990, abstract",
            layers.between_nodes,
        ),
        Fact("D5.empty", "NX/2: empty message on the iPSC/2", 350, "us", _AT_MOST, "I 3", layers.empty),
        Fact("S8.empty", "NX/2: empty message (a goal of ours)", 60, "us", _AT_MOST, "ours", layers.empty),
        Fact("S8.rate", "NX/2: message of 64 kbyte (a goal of ours)", 90, "Mbit/s", _AT_LEAST, "ours", layers.rate),
        Fact("S8.copies", "bytes of it that CPUs copy", 0, "bytes", _EXACTLY, "D 6.3", layers.copies),
        Fact("S8.mpi-empty", "MPI: empty message (a goal of ours)", 30, "us", _AT_MOST, "ours", mpi.empty),
        Fact("S8.mpi-rate", "MPI: message of 64 kbyte (a goal of ours)", 90, "Mbit/s", _AT_LEAST, "ours", mpi.rate),
        Fact("S8.mpi-copies", "bytes of it that CPUs copy", 0, "bytes", _EXACTLY, "D 6.3", mpi.copies),
        Fact(
            "S8.mpi-bcast",
            "MPI: broadcast of 1 kbyte to 15 CABs, by the time of 15 messages",
            0.33,
            "",
            _AT_MOST,
            "ours",
            mpi.broadcast,
        ),
    )
}

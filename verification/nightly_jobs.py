"""The jobs of the night: which tests each of them runs, and how long that takes; and how they are spread over parts."""

from dataclasses import dataclass

__all__ = ["JOBS", "Job", "SEEDS", "pack"]

#: Seeds of every random bench.
SEEDS = 20


@dataclass(frozen=True)
class Job:
    """Tests that are run together.

    ``minutes``: what they may take on two quiet cores. ``beginnings``: a test belongs to the job if its ID begins with
    one of them. ``seed``: is added to the night's seed. ``benches``: the job runs the everyday claims of the benches
    there, not what is marked ``nightly``.
    """

    name: str
    title: str
    minutes: float
    beginnings: tuple[str, ...]
    seed: int = 0
    benches: bool = False

    def arguments(self):
        """What pytest is called with, to run them."""
        files = dict.fromkeys(beginning.partition("::")[0] for beginning in self.beginnings)
        mark = "not nightly" if self.benches else "nightly"
        only = ["--claims-only"] if self.benches else []
        return [*files, "-m", mark, *only, *(f"--beginning={beginning}" for beginning in self.beginnings)]


def pack(jobs, parts):
    """``jobs`` in so many parts, a list of lists, as even as the longest first makes them; always the same."""
    packed = [[] for _ in range(parts)]
    for job in sorted(jobs, key=lambda job: (-job.minutes, job.name)):
        min(packed, key=lambda part: sum(other.minutes for other in part)).append(job)
    return packed


def _tests(*names):
    return tuple(f"verification/{name}" for name in names)


def _of_mpi4py(*names):
    """mpi4py's own tests in the files whose name begins so."""
    return _tests(*(f"software/mpi/test_suite.py::test_the_tests_of_mpi4py_pass[{name}" for name in names))


def _mutation(folder, *groups):
    """Campaigns of components in ``folder``; each group has its minutes first."""
    campaign = "mutation/test_campaign.py::test_mutants_are_found_or_explained"
    for number, group in enumerate(groups, 1):
        minutes, *names = group.split()
        names = [f"{folder}/{name}" for name in names]
        yield Job(
            f"mutation-{folder.rpartition('/')[2]}-{number}",
            f"all mutants of {', '.join(names)}",
            float(minutes),
            _tests(*(f"{campaign}[{name}]" for name in names)),
        )


def _sizes(ports, minutes, profile=""):
    """The bench of the HUB with so many ports, in both profiles or in one of them."""
    return Job(
        f"hub-{ports}{profile and '-'}{profile}",
        f"every claim about the HUB with {ports} ports, {f'profile {profile}' if profile else 'both profiles'}",
        minutes,
        _tests(
            f"hub/test_hub.py::test_hub[{ports} ports {profile}",
            f"hub/test_latency.py::test_latency[{ports} ports {profile}",
        ),
    )


JOBS = (
    Job(
        "cab-million",
        "the whole CAB, everything at random and at once: a million cycles",
        4,
        _tests("cab/test_whole.py"),
    ),
    Job("proofs", "proofs at full size and depth, every deliberate fault", 10, _tests("formal/")),
    _sizes(2, 1),
    _sizes(3, 2),
    Job(
        "hub-parts",
        "every claim about HUBs without monitor, without locks, with queues of 256 to 4096 symbols; the long ones of 5 "
        "ports in the profile prototype",
        5,
        tuple(f"verification/hub/test_hub.py::test_hub[5 ports {word}-" for word in ("no", "queue", "prototype")),
    ),
    _sizes(8, 3),
    _sizes(16, 5),
    # One after the other: a simulation of so many ports is evaluated in two threads (``simulation``).
    _sizes(64, 10, "prototype"),
    _sizes(64, 10, "modern"),
    _sizes(128, 45, "prototype"),
    _sizes(128, 45, "modern"),
    Job(
        "fuzz",
        "20 million symbols to a HUB of 16 ports in each profile",
        10,
        _tests("hub/test_fuzz.py::test_legal_symbols", "hub/test_fuzz.py::test_noise_leaves"),
    ),
    Job(
        "fuzz-sizes",
        "legal traffic and noise on HUBs of 2, 3, 5, 8, 64 and 128 ports, both profiles",
        12,
        _tests("hub/test_fuzz.py::test_hubs_of_all_sizes_work", "hub/test_parameters.py", "hub/test_reference.py"),
    ),
    Job(
        "configurations",
        "further sizes and clocks of components; counts to their ends",
        3,
        _tests(
            "cab/test_cab.py",
            "cab/test_board.py",
            "cab/test_bad_input.py",
            "cab/test_bus.py",
            "cab/test_counter.py",
            "cab/test_fiber_out.py",
            "cab/test_memory.py",
            "cab/test_packet_receiver.py",
            "cab/test_program.py",
            "cab/test_protection.py",
            "cab/test_registers.py",
            "cab/test_rx_writer.py",
            "cab/test_scatter.py",
            "cab/test_tx_serializer.py",
            "cab/vme/test_vme.py",
            "cab/vme/test_dma.py",
            "cab/vme/test_master.py",
            "cab/vme/test_interrupter.py",
            "cab/vme/test_window.py",
            "cab/vme/test_requester.py",
            "cab/vme/test_slave.py",
            "cab/vme/test_transfer.py",
            "hub/control/test_arbiter.py",
            "hub/control/test_central.py",
            "hub/control/test_controller.py",
            "hub/control/test_response_unit.py",
            "hub/control/test_supervisor.py",
            "hub/monitor/test_counters.py",
            "hub/monitor/test_monitor.py",
            "hub/monitor/test_recorder.py",
            "hub/test_crossbar.py",
            "hub/port/test_head.py",
            "hub/port/test_input_port.py",
            "hub/port/test_input_queue.py",
            "hub/control/test_locks.py",
            "hub/control/test_neighbours.py",
            "hub/control/test_watchdog.py",
            "hub/test_reply_bus.py",
            "hub/control/test_status_table.py",
            "link/test_bits.py",
            "link/test_elastic.py",
            "link/test_queue.py",
            "link/test_serial.py",
            "link/test_serial_receiver.py",
            "link/test_transmitter.py",
            "hub/test_pair.py",
        ),
    ),
    Job("ipsc2", "further sizes of the iPSC/2's router and its parts", 5, _tests("ipsc2/")),
    Job("gates", "the HUB's claims on netlists of FPGA cells", 8, _tests("hub/test_gates.py")),
    Job(
        "mpi-1",
        "mpi4py's own tests of messages, groups, requests and operations with 2 to 5 ranks",
        6,
        _of_mpi4py("p2p_", "group-", "status-", "request-", "op-", "msgzero-"),
    ),
    Job(
        "mpi-2",
        "mpi4py's own tests of collective calls and communicators with 2 to 5 ranks",
        37,
        _of_mpi4py("cco_", "comm"),
    ),
    Job(
        "mpi-3",
        "mpi4py's own tests and rates with ranks on nodes",
        8,
        _tests("software/mpi/test_suite.py::test_they_pass_with_ranks_on_nodes", "software/mpi/test_on_nodes.py"),
    ),
    Job(
        "mpi-4",
        "random programs of MPI and NX/2, mpi4py's demos, times of multicasts",
        4,
        _tests(
            "software/mpi/test_random_collectives.py",
            "software/mpi/test_random_messages.py",
            "software/mpi/test_demos.py",
            "software/mpi/test_figures.py",
            "software/nx/",
            "software/test_cocotb_messages.py",
        ),
    ),
    Job(
        "mpi-ipsc2",
        "mpi4py's own tests on the RTL of the iPSC/2 with 2 to 5 ranks",
        5,
        _tests("software/mpi/test_suite.py::test_they_pass_on_the_ipsc2"),
    ),
    Job(
        "nx-ipsc2",
        "NX/2 on the RTL of the iPSC/2: random programs, 16 and 128 nodes, many processes, stopped nodes",
        6,
        _tests("software/ipsc2/", "cli/test_machines.py"),
    ),
    Job("soak", "all transports under faults, on fast boards and on RTL boards", 25, _tests("software/test_soak.py")),
    Job(
        "protocols",
        "transports, discovery, recovery, storms of faults: many seeds, and on the engine",
        20,
        _tests(
            "software/test_bad_input.py",
            "software/test_random_input.py",
            "software/test_stress.py",
            "software/test_tasks_come_and_go.py",
            "software/test_multicast_order.py",
            "software/test_discovery.py",
            "software/test_recovery.py",
            "software/test_faults.py",
            "software/test_full.py",
            "software/test_node_streams.py",
            "software/test_nodes_memory.py",
            "software/test_sockets.py",
            "cli/test_sockets.py",
            "software/transport/",
        ),
    ),
    Job(
        "scenarios",
        "scenarios of the software on RTL boards, on the engine and under cocotb",
        3,
        _tests(
            "software/nectarine/",
            "software/test_ending.py",
            "software/test_fault_text.py",
            "software/test_machine.py",
            "software/test_mailbox_places.py",
            "software/test_node_files.py",
            "software/test_nodes.py",
            "software/test_nodes_errors.py",
            "software/test_plain.py",
            "software/test_protected_protocols.py",
            "software/test_protection.py",
            "software/test_recorded.py",
            "software/test_waiting.py",
            "software/test_cocotb_machine.py",
        ),
    ),
    Job(
        "boards",
        "tops of FPGA boards, the cable to a computer, the netlist of a small HUB",
        10,
        _tests("boards/", "host/", "benchmarks/", "cli/test_run_on.py", "cli/test_run_desk.py", "software/backends/"),
    ),
    Job(
        "system",
        "figures of the papers that take long, ten megabytes, thousands of VME accesses",
        12,
        _tests(
            "reproduce/",
            "sim/",
            "system/",
            "cli/test_bench.py",
            "cli/test_compare.py",
            "cli/test_interrupt.py",
            "cli/test_run_threads.py",
            "cli/test_outputs.py",
            "views/",
            "cli/test_send_file.py",
            "cli/test_sweep.py",
            "mutation/test_equivalence.py",
            "mutation/test_mutation.py",
            "test_install.py",
            "test_simulation.py",
            "test_product.py",
            "test_product_cab.py",
        ),
    ),
    Job(
        "net",
        "Linux programs over fast and RTL boards: curl, ping, iperf3, Open MPI, a fiber cut and repaired; figures",
        3,
        _tests("cli/test_net.py", "net/"),
    ),
    Job(
        "programs",
        "the programs of examples/ that show a speed-up, at full size on 1 to 16 CABs, on the engine",
        8,
        _tests("programs/"),
    ),
    Job(
        "book",
        "the book is built; the tutorial is followed in a fresh clone; pages whose commands take long",
        12,
        _tests("test_book.py", "test_documents.py", "test_tutorial.py"),
    ),
    *_mutation(
        "hub/control",
        "20 arbiter central controller locks",
        "20 neighbours response_unit status_table supervisor watchdog",
    ),
    *_mutation("hub/monitor", "20 counters monitor recorder"),
    *_mutation(
        "hub/port",
        "20 bypass head input_port input_port-queued skid_buffer",
        "20 input_queue input_register output_port output_port-skid reply_buffer reply_sender symbol_decoder",
    ),
    *_mutation("hub", "20 crossbar crossbar-late reply_bus"),
    *_mutation(
        "cab",
        "16 bus counter crc32 demux",
        "16 tx_serializer errors fiber_in",
        "16 fiber_out tx_reader internet",
        "16 interrupts memory output program",
        "16 protection packet_receiver registers scatter",
        "16 slots rx_writer timers",
    ),
    *_mutation(
        "cab/vme",
        "16 align dma host interrupter",
        "16 lanes master requester share",
        "16 slave sync transfer",
        "16 vme window",
    ),
    *_mutation("ipsc2", "10 board element frames origin outgoing", "10 remote router selected sink_port"),
    *_mutation("ipsc2/node", "10 bus control deserializer", "10 fetch serializer store"),
    *_mutation("link", "8 aligner bits decoder elastic encoder", "8 queue serial_receiver serial transmitter"),
    *(
        Job(
            f"benches-{number:02}",
            f"every bench of HUB, CAB, link, cable and iPSC/2 once more, seed {number} of {SEEDS}",
            6,
            _tests("hub/", "cab/", "link/", "host/", "ipsc2/"),
            seed=number,
            benches=True,
        )
        for number in range(1, SEEDS + 1)
    ),
)

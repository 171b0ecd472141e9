"""The cable back end as a Machine, with a simulated board in another process: what the engine must do, and the
engine's own cycles."""

import contextlib
import os
import select
import threading

import pytest

from nectar.boards.simulated import Shape, SimulatedBoard
from nectar.hdl.cab.addresses import REGIONS
from nectar.hdl.host.events import EventGroup
from nectar.hdl.host.numbers import BUFFER_WORDS, REQUEST, Request, header
from nectar.sim.events import Idle, Thread
from nectar.sim.recorder import Recorder
from nectar.sim.topology import Topology
from nectar.software.backends.cable.board import Board
from nectar.software.backends.cable.machine import CableMachine
from nectar.software.backends.cable.words import frame
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.errors import CableError
from nectar.software.machine import QUIET
from nectar.software.system import System
from nectar.verification import seeds
from nectar.verification.host.session import disturbed
from nectar.verification.software.test_engine_machine import (  # noqa: F401  the same scenarios on this back end
    run,
    test_a_bus_error_is_raised_where_it_is_awaited,
    test_a_bus_error_that_nobody_awaits_goes_to_whoever_runs_the_machine,
    test_a_cab_has_one_software,
    test_a_handler_that_waits_for_an_interrupt_is_told_so,
    test_a_machine_is_not_quiet_while_a_timer_runs,
    test_a_machine_without_software_is_quiet,
    test_a_run_ends_at_the_time_given_and_goes_on_from_there,
    test_a_run_ends_when_its_predicate_says_so_after_a_turn,
    test_an_exception_of_a_handler_passes_through,
    test_an_exception_of_the_software_passes_through_and_its_cpu_stops,
    test_close_ends_the_software,
    test_it_runs_in_an_event_loop_too,
    test_of_a_number_the_low_bytes_are_stored,
    test_software_may_be_given_later,
    test_time_does_not_run_backwards,
)
from nectar.verification.system import programs

DATA = REGIONS["data"].base

#: What software notes.
SOFTWARE = EventGroup.MESSAGES | EventGroup.CPU

#: Seconds after which a request is sent again, and those of silence after which the run ends before that.
_NEVER, _PATIENT = 120, 60


@pytest.fixture(scope="module")
def board():
    """A simulated board with two CABs."""
    with SimulatedBoard(Shape()) as board:
        yield board


@pytest.fixture
def machine(board):
    with contextlib.closing(CableMachine.cluster(Board(board.path))) as machine:
        yield machine


def outcome(machine, topology, profile, program, memory_bytes):
    """What ``program`` returns on a recorded machine, the events of its software, and when it was over."""
    system = System.of(machine, topology, profile, memory_bytes=memory_bytes)
    with machine.recorder, contextlib.closing(system):
        coroutine = program(system, ["CAB2", "CAB1"])
        try:
            coroutine.send(None)
        except StopIteration as end:
            events = [list(machine.recorder.recording().events(boards=[cab.name])) for cab in system.cabs]
            return end.value, events, machine.time_ps
    raise AssertionError("the program has awaited what only a task may await")


def on_board(path, program, **options):
    machine = CableMachine.cluster(Board(path, recorder=Recorder(groups=SOFTWARE), **options))
    return outcome(machine, machine.topology, machine.profile, program, machine.memory_bytes), machine


@pytest.mark.parametrize(
    "program",
    [programs.file_by_packets, programs.file_by_circuit, programs.there_and_back, programs.all_to_all],
    ids=lambda program: program.__name__,
)
def test_every_event_is_in_the_same_cycle_as_on_the_engine(board, program):
    """docs/cable.md: with the same clocks and fibers; twice, to see that nothing is left of a run before. At first no
    request is sent again, so that the loss of one would end the run."""
    first, machine = on_board(board.path, program, again=_NEVER, patience=(_PATIENT, _PATIENT))
    again, _ = on_board(board.path, program)
    assert first == again
    topology = Topology("like the board").hub("HUB1")
    for n in range(2):
        topology.cab(f"CAB{n + 1}").fiber(f"CAB{n + 1}", f"HUB1.P{n}", delay_ns=machine.profile.symbol_ps / 1000)
    engine = EngineMachine(topology, machine.profile, recorder=Recorder(groups=SOFTWARE))
    assert outcome(engine, topology, machine.profile, program, machine.memory_bytes) == first
    assert all({Thread, Idle} < {type(event) for event in events} for events in first[1])


def test_long_blocks_and_many_operations_go_through(machine):
    """docs/cable.md: what does not fit into a processor's buffers, or a frame, is given and taken in parts."""

    async def main():
        door = machine.doors["CAB1"]
        door.write_block(DATA + 1, block)
        for i in range(2 * BUFFER_WORDS):
            door.write(DATA + 24_000 + 4 * i, i * 0x01000193)
        got.append(await door.read_block(DATA + 1, len(block)))
        got.append(await door.read_block(DATA + 24_000, 8 * BUFFER_WORDS))
        got.append(await door.read_block(DATA, 0))

    got = []
    block = seeds.rng().randbytes(20 * BUFFER_WORDS + 3)
    machine.start("CAB1", main())
    assert run(machine) == QUIET
    assert got == [
        block,
        b"".join((i * 0x01000193 & 0xFFFFFFFF).to_bytes(4, "big") for i in range(2 * BUFFER_WORDS)),
        b"",
    ]


class Relay:
    """A second line to a board, which spoils bytes in both directions, one in 1400."""

    def __init__(self, path):
        self.far = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self.master, self.slave = os.openpty()
        self.path = os.ttyname(self.slave)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        ways = {self.far: (self.master, disturbed(0.0007)), self.master: (self.far, disturbed(0.0007))}
        while not self.ended.is_set():
            for source in select.select(list(ways), [], [], 0.05)[0]:
                target, spoil = ways[source]
                data = spoil(os.read(source, 4096))
                while data and not self.ended.is_set():
                    with contextlib.suppress(BlockingIOError):
                        data = data[os.write(target, data) :]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()
        for fd in (self.far, self.master, self.slave):
            os.close(fd)


def test_a_bad_line_changes_nothing_but_how_long_it_takes(board):
    """docs/cable.md: bytes lost, doubled, damaged and invented; results and cycles are those of a good line."""
    good, _ = on_board(board.path, programs.file_by_packets)
    with Relay(board.path) as relay:
        bad, machine = on_board(relay.path, programs.file_by_packets, patience=(20, 20), again=0.02)
    assert machine.boards[0].line.repeats > 0
    assert bad == good


def test_fewer_cabs_than_there_are_can_be_used(board):
    with contextlib.closing(CableMachine.cluster(Board(board.path), cabs=1)) as machine:
        assert list(machine.doors) == ["CAB1"] == list(machine.topology.cabs)
        assert machine.hub_ports == {"HUB1": 2} and machine.memory_bytes == 32768
    with pytest.raises(CableError, match=r"the board has 2 CABs, not 3$"):
        CableMachine.cluster(Board(board.path), cabs=3)


def test_a_session_that_was_broken_off_does_not_disturb_the_next(board):
    """docs/cable.md: a host goes in the middle of a frame while the board runs for a long time."""
    expected, _ = on_board(board.path, programs.file_by_packets)
    for _ in range(3):
        machine = CableMachine.cluster(Board(board.path))
        door, spends = machine.doors["CAB1"], []

        async def main(door=door, spends=spends):
            await door.now()
            spends.append(True)
            door.spend(1 << 27)
            await door.now()

        machine.start("CAB1", main())
        run(machine, lambda spends=spends: spends)
        line = machine.boards[0].line
        number = line._number + 1 & 0xFF
        line._send(
            frame([header(REQUEST, number, Request.GO), 0xFFFF_FFFF, *machine.boards[0]._items[0]]) + b"\x7e\x4e\x01"
        )
        machine.close()
        assert on_board(board.path, programs.file_by_packets)[0] == expected


def test_a_board_that_goes_is_told_of(tmp_path):
    """Its line ends in the middle of a run."""
    with SimulatedBoard(Shape()) as board:
        machine = CableMachine.cluster(Board(board.path))
        turns = []

        async def main():
            door = machine.doors["CAB1"]
            while True:
                door.spend(1000)
                turns.append(await door.now())
                if len(turns) == 5:
                    board.process.kill()

        machine.start("CAB1", main())
        with pytest.raises(CableError, match=r"^/dev/pts/\d+: the line has gone; was it unplugged\?$"):
            run(machine)
        machine.close()
    assert turns[:5] == [1000, 2000, 3000, 4000, 5000]

"""Threads change nothing but the speed: the same run with one, two and three of them, every symbol at the same
picosecond, waveforms and recordings byte for byte; with RTL boards, fast boards and both."""

import os
import subprocess
import sys

import pytest

from nectar.hdl.host.events import EventGroup
from nectar.sim import build
from nectar.sim.machines.nectar import boards_of
from nectar.sim.recorder import Recorder
from nectar.sim.topology import Topology, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.verification import seeds
from nectar.verification.sim.test_fiber import varied
from nectar.verification.sim.test_sleep import record
from nectar.verification.sim.traffic import Station, routes_to_others, run

THREADS = 1, 2, 3
#: Which boards of a topology are fast, as options of a machine.
BOARDS = {
    "rtl": lambda topology: {},
    "fast": lambda topology: {"boards": "fast"},
    "both": lambda topology: {"boards": "fast", "rtl": [*topology.hubs, *topology.cabs][::3]},
}


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    """Three threads are allowed on any machine, and share every edge, however cheap it is."""
    monkeypatch.setattr("nectar.sim.engine.cores", lambda: max(THREADS))
    monkeypatch.setattr("nectar.sim.engine.SHARED_NS", 0.0)


def same(outcomes):
    """The outcome that is the same for all numbers of threads."""
    first, *others = outcomes
    for threads, other in zip(THREADS[1:], others, strict=True):
        assert other == first, f"{threads} threads differ from one"
    return first


def unrecorded(topology, seed, threads, **options):
    """What can be seen of a run without events: groups of boards then work at different times."""
    rng = seeds.rng(seed)
    machine = EngineMachine(topology, threads=threads, **options)
    stations = [
        Station(machine, name, route, [rng.randbytes(rng.randrange(64, 200)) for _ in range(3)])
        for name, route in routes_to_others(topology, rng)
    ]
    ended = run(machine, 20_000_000_000)
    engine = machine.engine
    assert engine.threads == threads
    seen = (
        ended,
        machine.time_ps,
        {board: engine.cycles(board) for board in engine.boards},
        engine.symbols(),
        [station.received for station in stations],
    )
    machine.close()
    return seen


@pytest.mark.parametrize(
    "name, boards", [("mesh:2x2x2", "rtl"), ("figure7", "rtl"), ("mesh:2x2x2", "fast"), ("figure7", "both")]
)
def test_the_result_is_the_same_without_events(name, boards):
    topology = load(name)
    options = BOARDS[boards](topology)
    ended, _, cycles, symbols, received = same(unrecorded(topology, 7, threads, **options) for threads in THREADS)
    assert ended == "quiet" and any(received) and sum(symbols.values()) > 1000
    assert any(slept for _, slept in cycles.values())


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("make", [lambda seed: load("mesh:2x2"), varied], ids=["mesh:2x2", "varied"])
def test_the_result_is_the_same_with_events(make, boards):
    topology = make(8)
    options = BOARDS[boards](topology)
    (ended, _, log, stations), _ = same(record(topology, 8, threads=threads, **options) for threads in THREADS)
    assert ended == "quiet" and len(log) > 200 and any(received for received, _ in stations)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(12))
def test_the_result_is_the_same_on_random_topologies(number):
    rng = seeds.rng(f"threads {number}")
    topology = load(f"random:{rng.randrange(10**6)}x{rng.randrange(2, 12)}x{rng.randrange(4, 24)}")
    options = BOARDS[rng.choice([*BOARDS])](topology)
    same(unrecorded(topology, number, threads, **options) for threads in THREADS)
    same(record(topology, number, threads=threads, **options) for threads in THREADS)


@pytest.mark.parametrize("boards", [{}, {"boards": "fast", "rtl": ["HUB1", "CAB2"]}], ids=["rtl", "both"])
def test_waveforms_and_recordings_are_the_same_byte_for_byte(tmp_path, boards):
    def written(threads):
        waves, events = tmp_path / f"{threads}.vcd", tmp_path / f"{threads}.events"
        recorder = Recorder(events, groups=EventGroup.SYMBOLS | EventGroup.BOARDS | EventGroup.CONTROLS)
        topology = load("hub:3")
        machine = EngineMachine(
            topology, threads=threads, recorder=recorder, waves=waves, wave_boards=["HUB1", "CAB2"], **boards
        )
        for name, route in routes_to_others(topology, seeds.rng(9)):
            Station(machine, name, route, [bytes(range(64))])
        run(machine, 60_000_000)
        machine.close()
        recorder.close()
        return waves.read_bytes(), events.read_bytes()

    waves, events = same(map(written, THREADS))
    assert len(waves) > 100_000 and len(events) > 1000


def automatic(name, messages):
    """How many threads evaluate boards at the end of a run that was told nothing about them."""
    topology = load(name)
    machine = EngineMachine(topology)
    for number, (cab, route) in enumerate(routes_to_others(topology, seeds.rng(11))):
        Station(machine, cab, route, [bytes([number]) * 600] * messages)
    run(machine, 2_000_000_000)
    threads = machine.engine.threads
    machine.close()
    return threads


def test_a_small_system_has_one_thread():
    assert automatic("hub:2", 3) == 1


@pytest.mark.nightly
def test_a_large_system_has_all_threads():
    assert automatic("mesh:8x8", 4) == max(THREADS)


@pytest.mark.parametrize("threads", [0, -1, 4])
def test_other_numbers_of_threads_are_refused(threads):
    with pytest.raises(
        ValueError, match=f"^there are 3 processor cores for threads, not {threads}; give 1 to that many$"
    ):
        EngineMachine(load("hub:2"), threads=threads)


class _Sanitised(build.Build):
    """The simulator with the checks of a thread sanitiser."""

    _cxx_flags = (*build.Build._cxx_flags, "-fsanitize=thread", "-g1")

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.flags = build.digest(self.flags, *self._cxx_flags)


def small():
    """A ring of HUBs of four ports, with two CABs on each."""
    topology = Topology("ring")
    for number in range(1, 5):
        topology.hub(f"HUB{number}", ports=4)
        for port in (0, 1):
            cab = f"CAB{2 * number - 1 + port}"
            topology.cab(cab).fiber(cab, f"HUB{number}.P{port}")
    for number in range(1, 5):
        topology.fiber(f"HUB{number}.P2", f"HUB{number % 4 + 1}.P3")
    return topology


_UNDER_SANITISER = """
import sys
from nectar.sim import build, engine
from nectar.verification.sim import test_threads
build.library = lambda *arguments, **options: sys.argv[1]
engine.cores = lambda: 3
engine.SHARED_NS = 0.0
options = test_threads.BOARDS[sys.argv[2]](test_threads.small())
test_threads.unrecorded(test_threads.small(), 10, 3, **options)
test_threads.record(test_threads.small(), 10, threads=3, **options)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("boards", BOARDS)
def test_a_thread_sanitiser_finds_nothing(boards):
    """Takes the compiler's own sanitiser, if it has one."""
    command, _ = build.compiler()
    runtime = subprocess.run([*command, "-print-file-name=libtsan.so"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(runtime):
        pytest.skip("the compiler has no thread sanitiser")
    simulator = _Sanitised(boards_of((4,)), None, None, fast=["fastcab", "fasthub4"])
    library = simulator.make("sanitised", ".so", build._CORE, ["-shared"])
    outcome = subprocess.run(
        [sys.executable, "-c", _UNDER_SANITISER, library, boards],
        env={**os.environ, "LD_PRELOAD": runtime, "TSAN_OPTIONS": "exitcode=66"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert outcome.returncode == 0 and "ThreadSanitizer" not in outcome.stderr, outcome.stderr[-6000:]

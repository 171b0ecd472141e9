"""The same programs on the engine and under cocotb: the same CPU cycle of every event, every symbol at the same
picosecond.

The engine is C++ with fibers and processors of its own, boards compiled one by one and put to sleep when idle; cocotb
simulates all boards as one model and follows every clock edge in Python. What they have in common is the specification.
"""

import functools
import importlib.util

import cocotb
import pytest

from nectar.sim.profile import PROTOTYPE, Profile
from nectar.sim.topology import load
from nectar.verification.bench import ROOT, Bench, inside
from nectar.verification.system import programs, records
from nectar.verification.system.topologies import ONE_HUB, shifted
from nectar.verification.system.verilog import TOP, system

#: Clocks whose periods have nothing in common, one of them odd; a slower fiber.
OTHER_CLOCKS = Profile("other clocks", hub_period_ps=61_002, cab_period_ps=40_001, symbol_ps=83_000)

FIGURE7 = load("figure7")


def example(name):
    """The ``main`` of a program in ``examples``."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


#: All to all under cocotb in half of the time.
short_messages = functools.partial(programs.all_to_all, below=500)

#: Configuration of the bench (what is compiled) → scenario's name → topology, profile, scenario.
SCENARIOS = {
    "figure7": {
        "example": (FIGURE7, PROTOTYPE, records.program(example("send_file"), str(ROOT / "LICENSE"))),
        "packets": (FIGURE7, PROTOTYPE, records.program(programs.file_by_packets, "CAB3", "CAB1")),
        "circuit": (FIGURE7, PROTOTYPE, records.program(programs.file_by_circuit, "CAB3", "CAB1")),
        "there and back": (FIGURE7, PROTOTYPE, records.program(programs.there_and_back, "CAB5", "CAB3")),
        "all to all": (FIGURE7, PROTOTYPE, records.program(programs.all_to_all)),
        "all to all, shifted clocks": (shifted(FIGURE7), PROTOTYPE, records.program(programs.all_to_all)),
        "all to all, other clocks": (FIGURE7, OTHER_CLOCKS, records.program(programs.all_to_all)),
        "packets, all different": (
            shifted(FIGURE7),
            OTHER_CLOCKS,
            records.program(programs.file_by_packets, "CAB2", "CAB5"),
        ),
    },
    "one HUB": {
        "circuit": (ONE_HUB, OTHER_CLOCKS, records.program(programs.file_by_circuit, "CAB1", "CAB2")),
        "all to all, shifted clocks": (shifted(ONE_HUB), PROTOTYPE, records.program(short_messages)),
    },
    "one HUB at night": {
        "packets": (ONE_HUB, PROTOTYPE, records.program(programs.file_by_packets, "CAB3", "CAB1")),
        "there and back": (ONE_HUB, OTHER_CLOCKS, records.program(programs.there_and_back, "CAB4", "CAB2")),
        "all to all": (ONE_HUB, PROTOTYPE, records.program(programs.all_to_all)),
    },
}


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def every_program_comes_to_its_end(dut):
    """Leaves a record of each for the comparison."""
    for name, scenario in SCENARIOS[inside()].items():
        records.save(".", name, await records.on_cocotb(*scenario))


bench = Bench(
    __name__,
    {
        "figure7": lambda: system(FIGURE7, PROTOTYPE),
        "one HUB": lambda: system(ONE_HUB, PROTOTYPE),
        "one HUB at night": lambda: system(ONE_HUB, PROTOTYPE),
    },
    top=TOP,
    ports_only=True,
    # To compile it takes 40 s with -O1 and 15 s without; what it simulates takes seconds in both.
    optimisation="-O0",
)

EVERYDAY = ("figure7", "circuit"), ("figure7", "all to all, shifted clocks")
each_scenario = pytest.mark.parametrize(
    "configuration, name",
    [
        # Every day on HUBs of 16 ports, which other tests simulate, too.
        pytest.param(c, name, marks=[] if (c, name) in EVERYDAY else [pytest.mark.nightly])
        for c in SCENARIOS
        for name in SCENARIOS[c]
    ],
)


@pytest.mark.nightly
@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_under_cocotb(configuration, claim):
    bench.check(configuration, claim)


@functools.cache
def engine_record(configuration, name):
    return records.on_engine(*SCENARIOS[configuration][name])


@pytest.mark.nightly
@pytest.mark.parametrize("configuration, name", [(c, name) for c in SCENARIOS for name in SCENARIOS[c]])
def test_engine_and_cocotb_give_the_same_events_and_the_same_symbols(configuration, name):
    """Every event of fibers, messages, threads and interrupts at the same time; every symbol on every fiber, too."""
    bench.check(configuration, "every_program_comes_to_its_end")
    simulated = records.load(bench.directory(configuration), name)
    engine = engine_record(configuration, name)
    assert engine["result"]["returned"] == simulated["result"]["returned"]
    assert engine["events"] == simulated["events"]
    assert {fiber: len(log) for fiber, log in engine["symbols"].items()} == {
        fiber: len(log) for fiber, log in simulated["symbols"].items()
    }
    assert engine == simulated


@each_scenario
def test_boards_that_sleep_change_nothing(configuration, name):
    """docs/engine.md: what is simulated does not depend on it."""
    assert records.on_engine(*SCENARIOS[configuration][name], sleep=False) == engine_record(configuration, name)


@each_scenario
def test_the_record_sees_what_it_compares(configuration, name):
    """Every CAB that took part has events, and symbols went both ways over its fibers."""
    record = engine_record(configuration, name)
    active = sorted({board for kind, _, board, *_ in record["events"] if kind in ("QUEUED", "ARRIVED")})
    assert len(active) >= 2
    for cab in active:
        logs = {fiber: log for fiber, log in record["symbols"].items() if cab in fiber.split("->")}
        assert len(logs) == 2

"""Fibers, clocks and reset: what stands at the pins against a model of docs/engine.md.

Waveforms of all boards are recorded; the model (the fibers of the cocotb back end, written from the specification
without knowledge of the engine) is given what each sender showed at its clock edges and must foresee what each receiver
saw."""

import pytest

from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import Topology, load
from nectar.software.backends.cocotb.fiber import Fiber
from nectar.software.backends.engine.machine import EngineMachine
from nectar.verification import seeds
from nectar.verification.sim.traffic import Station, routes_to_others, run
from nectar.verification.sim.vcd import read

PINS = ("rx__payload", "rx__valid", "tx__payload", "tx__valid", "tx__ready")


def varied(seed):
    """Three CABs on two HUBs: fibers of random length and speed, clocks out of phase."""
    rng = seeds.rng(seed)
    topology = Topology(f"varied {seed}")
    topology.hub("HUB1", phase_ns=rng.randrange(70)).hub("HUB2", phase_ns=rng.choice([0, 12.345]))
    for i in range(1, 4):
        topology.cab(f"CAB{i}", phase_ns=rng.choice([0, 0.001, 31.25, 100]))
    ends = [("CAB1", "HUB1.P0"), ("CAB2", "HUB1.P5"), ("CAB3", "HUB2.P15"), ("HUB1.P7", "HUB2.P1")]
    for a, b in ends:
        topology.fiber(
            a,
            b,
            delay_ns=rng.choice([0.001, 1, 62.5, 70, 333, 5000]),
            symbol_ns=rng.choice([None, 70.001, 80, 160, 257]),
        )
    return topology


def play(topology, path, seed):
    """Random packets between all CABs, one after the other; returns what arrived."""
    rng = seeds.rng(seed)
    machine = EngineMachine(topology, waves=path)
    stations = []
    for name, route in routes_to_others(topology, rng):
        packets = [rng.randbytes(rng.randrange(16, 120)) for _ in range(3)]
        stations.append(Station(machine, name, route, packets, lambda: rng.randrange(300)))
    assert run(machine, 400_000_000) in ("quiet", "time")
    time = machine.time_ps
    machine.close()
    assert sum(len(station.received) for station in stations) == 9
    assert all(good for station in stations for _, good, _ in station.received)
    return time


def prefix(topology, board):
    return f"{board}.{f'hub{topology.hubs[board].ports}' if board in topology.hubs else 'cab'}.board."


def pins(topology, end):
    """{pin: full name} of a fiber's end."""
    name = "fiber" if end.port is None else f"port_{end.port}"
    return {pin: f"{prefix(topology, end.board)}{name}__{pin}" for pin in PINS}


@pytest.mark.parametrize(
    "make, seed",
    [(lambda seed: load("hub:3"), 1), (varied, 2), (varied, 3), (varied, 4), (varied, 5)],
    ids=["hub:3", "varied 2", "varied 3", "varied 4", "varied 5"],
)
def test_every_symbol_is_at_the_pins_when_the_specification_says(tmp_path, make, seed):
    topology = make(seed)
    path = tmp_path / "all.vcd"
    end_ps = play(topology, path, seed)
    clocks = {board: f"{prefix(topology, board)}clk" for board in (*topology.hubs, *topology.cabs)}
    names = {name for fiber in topology.fibers for end in (fiber.a, fiber.b) for name in pins(topology, end).values()}
    signals = read(path, [*names, *clocks.values()])
    edges = {board: signals[name].rises() for board, name in clocks.items()}
    begin = min(times[0] for times in edges.values())

    carried = 0
    for fiber in topology.fibers:
        for here, there in ((fiber.a, fiber.b), (fiber.b, fiber.a)):
            model = Fiber(str(fiber), fiber.symbol_ps or PROTOTYPE.symbol_ps, fiber.delay_ps)
            sender = {pin: signals[name] for pin, name in pins(topology, here).items()}
            receiver = {pin: signals[name] for pin, name in pins(topology, there).items()}
            # At equal times the receiver goes first: a symbol needs more than no time.
            events = sorted([(time, 1) for time in edges[here.board]] + [(time, 0) for time in edges[there.board]])
            for time, sends in events:
                if time == begin:
                    continue  # the waveform begins after the first edge
                if sends:
                    ready = sender["tx__ready"].before(time)
                    assert ready == model.ready(time), f"{here} at {time}: tx__ready"
                    if ready and sender["tx__valid"].before(time):
                        model.send(time, sender["tx__payload"].before(time))
                else:
                    symbol = model.receive(time)
                    valid = receiver["rx__valid"].before(time)
                    assert valid == (symbol is not None), f"{there} at {time}: rx__valid"
                    if valid:
                        assert receiver["rx__payload"].before(time) == symbol, f"{there} at {time}: rx__payload"
            carried += model.symbols
    assert carried > 1000 and end_ps > 0


def test_clocks_run_with_their_period_and_phase_and_reset_is_four_edges(tmp_path):
    topology = varied(9)
    path = tmp_path / "all.vcd"
    machine = EngineMachine(topology, waves=path)
    Station(machine, "CAB1", [], [bytes(16)], lambda: 1000)
    assert run(machine, 2_000_000) == "time"
    machine.close()
    for board, item in {**topology.hubs, **topology.cabs}.items():
        period = PROTOTYPE.hub_period_ps if board in topology.hubs else PROTOTYPE.cab_period_ps
        found = read(path, [f"{prefix(topology, board)}{pin}" for pin in ("clk", "rst")])
        clk, rst = found.values()
        edges = clk.rises()
        assert edges == list(range(item.phase_ps, 2_000_000, period))
        # The waveform begins after the first edge.
        assert [rst.before(time) for time in edges[1:]] == [1, 1, 1] + [0] * (len(edges) - 4)

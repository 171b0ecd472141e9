"""``nectar bench``: its structure. Nothing here says how fast anything is; ``nectar bench`` itself does, on a quiet
machine."""

import json

import pytest

from nectar.cli import bench
from nectar.verification.benchmarks.catalogue import BENCHMARKS, Benchmark, Outcome
from nectar.verification.benchmarks.speedups import COUNTS

#: Benchmarks that need neither minutes nor a compiler, at the least size that they have.
SHORT = ["engine", "few", "silent", "memory", "start", "link"]


@pytest.mark.parametrize("name", SHORT)
def test_every_benchmark_measures_something(simulator, name):
    outcome = BENCHMARKS[name].measure(0.01)
    assert outcome.value > 0 and outcome.text
    assert outcome.ok == (outcome.value <= outcome.target if outcome.at_most else outcome.value >= outcome.target)
    if name in ("engine", "few", "silent"):
        ours, ceiling = outcome.measured.values()
        assert outcome.value == pytest.approx(ours / ceiling)
        assert all(f"{rate:,.0f}" in outcome.text for rate in (ours, ceiling))


def test_throughput_of_the_link_meets_its_target(simulator):
    """Simulated time, so no machine's load disturbs it: 90 of 100 Mbit/s were published of the prototype (fact S13)."""
    outcome = BENCHMARKS["link"].measure(0.25)
    assert outcome.ok and outcome.value > 0.9


@pytest.mark.nightly
def test_a_hub_passes_packets_and_answers_commands_below_its_ceilings():
    """In cycles of the RTL, so no machine's load disturbs it."""
    outcomes = {outcome.part: outcome for outcome in BENCHMARKS["rates"].measure(0.2)}
    assert list(outcomes) == ["prototype packets", "prototype commands", "modern packets", "modern commands"]
    for part, outcome in outcomes.items():
        ceiling = 0.6 if part.endswith("packets") else 1
        assert 0.5 * ceiling < outcome.value <= ceiling and part.split()[0] in outcome.text


@pytest.mark.nightly
def test_64_cabs_on_a_mesh_exchange_messages(simulator):
    """Everything that they send arrives, on every size up to 64 CABs, and more CABs take more memory, however large
    the process is that asks."""
    ballast = bytearray(b"1") * (300 << 20)
    outcomes = BENCHMARKS["scale"].measure(0.01)
    assert [outcome.part for outcome in outcomes] == ["2", "4", "8", "16", "32", "64"]
    for outcome in outcomes:
        cabs, memory, carried = outcome.measured.values()
        assert (
            outcome.value > 0
            and outcome.ok is None
            and carried == cabs * 2 * 1004
            and f"{memory / 1e6:.0f} Mbyte" in outcome.text
        )
    assert outcomes[-1].measured["memory"] > outcomes[0].measured["memory"] and outcomes[0].measured["memory"] < len(
        ballast
    )


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_nodes_of_the_ipsc2_are_measured_beside_cabs():
    """All messages arrive on 16 computers of both machines, and on 128 nodes."""
    sixteen, many = BENCHMARKS["ipsc2"].measure(0.1)
    rates = sixteen.measured
    assert sixteen.value == pytest.approx(rates["ipsc2"] / rates["nectar"]) and sixteen.target == 1 / 4
    assert many.value > 0 and many.ok is None and many.measured["nodes"] == 128


@pytest.mark.nightly
def test_all_that_240_fast_cabs_send_arrives():
    """At a small size, which has no targets for time; memory has the one of the whole run."""
    mesh, memory, fft = BENCHMARKS["large"].measure(0.005)
    assert [outcome.part for outcome in (mesh, memory, fft)] == ["mesh", "memory", "fft"]
    assert mesh.measured["carried"] == 240 * mesh.measured["messages"] * 1004
    assert mesh.ok is None and fft.ok is None and memory.ok
    for outcome in (mesh, fft):
        assert 0 < outcome.measured["processor_time"] and f"{outcome.measured['processor_time']:.1f} s" in outcome.text


def test_list_tells_all_and_measures_nothing(nectar):
    done = nectar("bench", "--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(BENCHMARKS)


def test_only_place_and_route_runs_on_a_cluster(here):
    for names in [], ["start"], ["fpga", "start"]:
        assert here.refused("bench", *names, "--scheduler", "tcp://host:1") == (
            "--scheduler: all other benchmarks measure this machine; only 'nectar bench fpga' takes it"
        )


def test_an_unknown_name_is_told(nectar):
    assert nectar.refused("bench", "memory", "speed").startswith(
        "there is no benchmark 'speed'; there are engine, few, "
    )


def _fixed(name, value, at_most=False):
    return Benchmark(
        name, f"claim of {name}", lambda scale: Outcome(value * scale, "s", 2, "how", at_most, {"part": 1})
    )


@pytest.mark.parametrize(
    "names, quick, status",
    [
        ([], False, 1),
        (["more"], False, 0),
        (["less"], False, 1),
        (["more"], True, 1),
        (["less"], True, 0),
        (["more", "most"], False, 0),
    ],
)
def test_a_missed_target_is_told_and_makes_the_exit_code_1(monkeypatch, capsys, tmp_path, names, quick, status):
    made = {item.name: item for item in (_fixed("more", 3), _fixed("less", 3, at_most=True), _fixed("most", 2))}
    monkeypatch.setattr("nectar.verification.benchmarks.catalogue.BENCHMARKS", made)
    from nectar.cli import main

    assert main(["bench", *names, *["--quick"] * quick, "--json", str(tmp_path / "b.json")]) == status
    text = capsys.readouterr().out
    results = json.loads((tmp_path / "b.json").read_text())["results"]
    assert [result["id"] for result in results] == [f"bench.{name}" for name in (names or made)]
    assert ("MISSED" in text) == bool(status)
    for result in results:
        assert result["value"] == (3 if result["id"] != "bench.most" else 2) * (bench._QUICK if quick else 1)
        assert (result["unit"], result["target"], result["measured"]) == ("s", 2, {"part": 1})
        assert f"{result['target_is']} 2 s" in text and result["claim"] in text


@pytest.mark.parametrize("name", ["nx", pytest.param("mpi", marks=pytest.mark.nightly)])
def test_messages_of_a_layer_are_told_beside_their_ceilings(simulator, name):
    """Simulated time: the targets are met whatever the machine does; no layer is faster than what it stands on."""
    latency, throughput, *broadcast = BENCHMARKS[name].measure(1)
    assert latency.ok and throughput.ok and [latency.part, throughput.part] == ["latency", "throughput"]
    ours, datagram = latency.measured.values()
    assert ours > datagram and latency.value == pytest.approx(ours / datagram)
    ours, datagram, link = throughput.measured.values()
    assert ours < datagram < link == 100 and throughput.value == pytest.approx(ours / link)
    for outcome in (latency, throughput):
        assert all(
            f"{figure:.0f}" in outcome.text or f"{figure:.1f}" in outcome.text for figure in outcome.measured.values()
        )
    assert [outcome.part for outcome in broadcast if outcome.ok] == ["broadcast"] * (name == "mpi")


@pytest.mark.nightly
def test_programs_are_told_with_speedup_ideal_and_communication(simulator):
    """On each number of CABs; here at a small size."""
    for outcome in BENCHMARKS["speedup"].measure(0.01):
        lines = outcome.text.splitlines()
        assert len(lines) == len(COUNTS) and all(line.startswith(outcome.part) for line in lines)
        for count, line in zip(COUNTS, lines, strict=True):
            speedup, share = (outcome.measured[f"{what} {count}"] for what in ("speedup", "communication"))
            assert 1 < speedup < count and 0 < share < 100
            assert f"speed-up {speedup:.2f}, ideal {count}; communication {share:.1f} % " in line

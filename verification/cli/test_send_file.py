"""``examples/send_file.py``: the copy, the figures it prints, and what it does when something is wrong."""

import hashlib
import json
import os
import re
import resource
from pathlib import Path

import pytest

from nectar.sim import build
from nectar.sim.machines.nectar import boards_of
from nectar.verification import seeds
from nectar.verification.cli.silence import without_progress

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "send_file.py"


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture
def send(nectar, simulator):
    """Runs the example with a FILE of so many random bytes; what it printed, its results, the file."""

    def run(size, *options):
        data = seeds.rng(size).randbytes(size)
        (nectar.folder / "file").write_bytes(data)
        done = nectar("run", PROGRAM, "file", "--output", "copy", "--json", "out.json", *options)
        assert (done.returncode, done.stderr) == (0, "")
        assert (nectar.folder / "copy").read_bytes() == data
        assert sorted(os.listdir(nectar.folder)) == ["copy", "file", "out.json"]
        results = json.loads((nectar.folder / "out.json").read_text())["results"]
        return done.stdout, {result["id"]: result["value"] for result in results}, data

    return run


@pytest.mark.parametrize("options", [[], ["--circuit"]], ids=["packets", "circuit"])
@pytest.mark.parametrize("size", [0, 1, 1003, 1004, 1005, 4 * 1004, 40_000])
def test_the_copy_is_the_file(send, size, options):
    text, results, data = send(size, *options)
    assert text.startswith(
        f"{size} bytes from CAB3 to CAB1, SHA-256 {hashlib.sha256(data).hexdigest()}: the same at both ends\n"
    )
    assert results["send_file.bytes"] == size


#: CAB3, HUB2, HUB1 and CAB1 of Figure 7, with HUBs of four ports.
SMALL = """
[hubs.HUB1]
ports = 4
[hubs.HUB2]
ports = 4
[cabs.CAB1]
[cabs.CAB3]
[[fibers]]
between = ["CAB1", "HUB1.P0"]
[[fibers]]
between = ["HUB1.P3", "HUB2.P3"]
[[fibers]]
between = ["CAB3", "HUB2.P0"]
"""


@pytest.mark.nightly
@pytest.mark.parametrize("ports", [4, 16])
def test_the_modern_profile_is_the_same_program_on_a_faster_nectar(send, tmp_path_factory, ports):
    """HUBs at 100 MHz that take at most 6 cycles to set up and transfer, and fibers of 640 Mbit/s (sim/profile.py)."""
    topology = tmp_path_factory.mktemp("topology") / "small.toml"
    topology.write_text(SMALL)
    build.library(boards_of((ports,), "modern"))
    _, results, _ = send(40_000, "--profile", "modern", *(["--topology", topology] if ports == 4 else []))
    assert results["send_file.throughput"] > 300
    for hub in ("HUB1", "HUB2"):
        # From the symbol's arrival to the next fiber: up to a clock period to be sampled, 4 periods in the HUB.
        assert 0.01 < results[f"send_file.latency.{hub}"] <= 0.05


@pytest.mark.parametrize(
    "options", [pytest.param([], id="rtl", marks=pytest.mark.nightly), pytest.param(["--boards", "fast"], id="fast")]
)
def test_a_long_file_comes_near_the_fibers_rate(send, options):
    text, results, data = send(200_000, *options)
    assert results["send_file.throughput"] == pytest.approx(200_000 * 8 / results["send_file.simulated_time"])
    assert 90 < results["send_file.throughput"] < 100
    assert f"{results['send_file.throughput']:.2f} Mbit/s, " in text


def _latency(text):
    """The table: {stage: microseconds}, in its order."""
    lines = text[text.index("latency of the first packet") :].splitlines()[1:]
    return {match[1]: float(match[2]) for match in (re.fullmatch(r"  (\S.*?) +([\d.]+) us", line) for line in lines)}


@pytest.mark.parametrize(
    "route, hubs",
    [
        (("CAB3", "CAB1"), ["HUB2", "HUB1"]),
        (("CAB5", "CAB3"), ["HUB3", "HUB4", "HUB1", "HUB2"]),
        (("CAB2", "CAB1"), ["HUB1"]),
    ],
)
@pytest.mark.parametrize("options", [[], ["--circuit"]], ids=["packets", "circuit"])
def test_the_latency_is_told_by_its_parts_and_they_sum_to_the_total(send, route, hubs, options):
    text, results, _ = send(100, "--from", route[0], "--to", route[1], *options)
    parts = _latency(text)
    total = parts.pop("total")
    assert sum(round(value * 10_000) for value in parts.values()) == round(total * 10_000)
    assert [name for name in parts if name.startswith("HUB") and " " not in name] == hubs
    assert len([name for name in parts if name.startswith("fiber ")]) == len(hubs) + 1
    assert ("HUBs, setting up the circuit" in parts) == bool(options)
    assert {"software, sending", "DMA, sending", "DMA, receiving", "software, receiving"} <= parts.keys()
    # Facts H2 and H3: 5 cycles of 70 ns, or up to 10 when the packet follows its open at once; and up to one until the
    # next edge of the clock, and one of the fiber's symbols. A symbol and 20 m of fiber.
    for name, value in parts.items():
        if name in hubs:
            assert 0.35 <= value <= (0.35 if options else 0.7) + 0.07 + 0.08
        if name.startswith("fiber "):
            assert value == pytest.approx(0.18)
    for name, value in {**parts, "total": total}.items():
        assert results[f"send_file.latency.{name}"] == pytest.approx(value, abs=1e-4)


def test_latency_is_measured_not_assumed(nectar, simulator):
    """A longer fiber shows where it is, and nowhere else."""
    (nectar.folder / "file").write_bytes(b"x")
    found = []
    for length in (20, 620):
        (nectar.folder / "t.toml").write_text(
            "[hubs.HUB1]\n[hubs.HUB2]\n[cabs.CAB1]\n[cabs.CAB3]\n"
            '[[fibers]]\nbetween = ["CAB3", "HUB2.P4"]\n[[fibers]]\nbetween = ["CAB1", "HUB1.P8"]\n'
            f'[[fibers]]\nbetween = ["HUB2.P8", "HUB1.P3"]\nlength_m = {length}\n'
        )
        found.append(_latency(nectar("run", PROGRAM, "file", "--topology", "t.toml").stdout))
    name = "fiber HUB2.P8 to HUB1.P3"
    assert found[1][name] - found[0][name] == pytest.approx(600 * 0.005)
    for stage in found[0].keys() - {name, "total"}:
        assert abs(found[1][stage] - found[0][stage]) < 0.15, stage


def test_fast_boards_tell_the_same_latency_by_the_same_parts(send):
    found = [_latency(send(100, "--boards", boards)[0]) for boards in ("rtl", "fast")]
    assert found[0] == found[1]


def test_a_file_may_be_sent_over_itself(nectar, simulator):
    (nectar.folder / "file").write_bytes(b"content")
    assert nectar("run", PROGRAM, "file", "--output", "file").returncode == 0
    assert (nectar.folder / "file").read_bytes() == b"content" and os.listdir(nectar.folder) == ["file"]


def test_the_copy_goes_where_a_link_leads(nectar, simulator):
    """And a file that happens to be called as a copy in the making might be is left alone."""
    (nectar.folder / "file").write_bytes(b"content")
    (nectar.folder / "there.part").write_bytes(b"mine")
    (nectar.folder / "link").symlink_to("there")
    assert nectar("run", PROGRAM, "file", "--output", "link").returncode == 0
    assert (nectar.folder / "link").is_symlink() and (nectar.folder / "there").read_bytes() == b"content"
    assert (nectar.folder / "there.part").read_bytes() == b"mine"
    assert sorted(os.listdir(nectar.folder)) == ["file", "link", "there", "there.part"]


def test_a_pipe_takes_the_copy_and_stays_a_pipe(nectar, simulator):
    """A pipe stands in for devices, such as /dev/null, that must not be replaced by a file."""
    (nectar.folder / "file").write_bytes(b"content")
    os.mkfifo(nectar.folder / "pipe")
    pipe = os.open(nectar.folder / "pipe", os.O_RDWR)
    try:
        assert nectar("run", PROGRAM, "file", "--output", "pipe").returncode == 0
        assert os.read(pipe, 100) == b"content"
    finally:
        os.close(pipe)
    assert (nectar.folder / "pipe").is_fifo() and sorted(os.listdir(nectar.folder)) == ["file", "pipe"]


@pytest.mark.parametrize(
    "arguments, line",
    [
        (
            [],
            r"the following arguments are required: FILE; 'nectar run examples/send_file\.py --help' tells what there "
            r"is",
        ),
        (["nowhere"], r"nowhere: cannot be read: No such file or directory"),
        (["."], r"\.: not a file that could be sent"),
        (["/dev/zero"], r"/dev/zero: not a file that could be sent"),
        (["/proc/self/mem"], r"/proc/self/mem: cannot be read: Input/output error"),
        (
            ["file", "--output", "no/where"],
            r"--output no/where: cannot be written there; name a file in a directory .*",
        ),
        (["file", "--output", "."], r"--output \.: cannot be written there; .*"),
        (["file", "--output", ""], r"--output : cannot be written there; .*"),
        (["file", "--output", "/proc/copy"], r"--output /proc/copy: cannot be written: No such file or directory"),
        (["file", "--from", "CAB1"], r"--from and --to are both CAB1; name two CABs"),
        (["file", "--to", "CAB9"], r"there is no CAB 'CAB9'; there are CAB1, CAB2, CAB3, CAB4, CAB5 .*"),
        (["file", "--speed", "9"], r"unrecognized arguments: --speed 9; .*"),
    ],
)
def test_wrong_use_is_one_line(nectar, arguments, line):
    (nectar.folder / "file").write_bytes(b"content")
    got = nectar.refused("run", PROGRAM, "--boards", "fast", *arguments)
    assert re.fullmatch(line, got), got
    assert os.listdir(nectar.folder) == ["file"]


def test_a_copy_that_cannot_be_finished_is_not_left_half_written(nectar, simulator):
    (nectar.folder / "file").write_bytes(b"content")
    (nectar.folder / "copy").write_bytes(b"old")
    done = nectar("run", PROGRAM, "file", "--output", "copy", "--max-time", "30us")
    assert done.returncode == 1 and done.stderr.startswith("nectar: the time limit was reached")
    assert (nectar.folder / "copy").read_bytes() == b"old"
    assert sorted(os.listdir(nectar.folder)) == ["copy", "file"]


def test_a_file_that_has_vanished_is_told(nectar):
    (nectar.folder / "file").symlink_to("gone")
    assert (
        nectar.refused("run", PROGRAM, "--boards", "fast", "file") == "file: cannot be read: No such file or directory"
    )


@pytest.mark.parametrize(
    "options, size, line",
    [
        (["--output", "copy"], 40_000, "--output copy: cannot be written: File too large"),
        (["--json", "out.json"], 100, "--json out.json cannot be written: File too large"),
        (["--waves", "w.vcd"], 100, "--waves w.vcd cannot be written: File too large"),
    ],
)
def test_a_full_disk_is_told_and_leaves_nothing_half_written(nectar, simulator, options, size, line):
    """A limit on the size of files stands in for the disk."""
    (nectar.folder / "file").write_bytes(bytes(size))
    limit = 1000 if "--json" in options else 20_000
    with nectar.start(
        "run", PROGRAM, "file", *options, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    ) as process:
        _, err = process.communicate(timeout=300)
    assert (process.returncode, without_progress(err)) == (2, f"nectar: {line}\n")
    assert os.listdir(nectar.folder) == ["file"]


def test_help_is_the_programs_own(nectar, simulator):
    done = nectar("run", PROGRAM, "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: nectar run examples/send_file.py")


@pytest.mark.nightly
@pytest.mark.parametrize("options", [[], ["--circuit"]], ids=["packets", "circuit"])
def test_ten_megabytes(send, options):
    _, results, _ = send(10 << 20, *options)
    assert results["send_file.throughput"] > 95

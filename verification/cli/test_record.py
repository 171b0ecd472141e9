"""``nectar run --record`` and ``nectar events``: what is written, what is listed, what is refused."""

import re
import resource
import signal
import time

import pytest

from nectar.hdl.host.events import LEVELS, EventKind
from nectar.sim.recording import Recording
from nectar.verification.cli.silence import without_progress
from nectar.verification.views.recordings import cycles

PROGRAM = """
TOPOLOGY = "hub:2"


async def send(cab, count):
    for _ in range(count):
        await cab.datagram.send(("CAB2", 1), bytes(100))


async def receive(cab, count):
    for _ in range(count):
        (await cab.mailbox(1).receive()).free()


async def main(system, arguments):
    count = int(arguments[0])
    system.spawn("CAB1", send, count)
    system.spawn("CAB2", receive, count)
    await system.run()
    print(system.time_ns)
"""


@pytest.fixture
def recorded(here):
    """A recording of three messages, ``run.events``, and how the run went."""
    return here("run", here.program(PROGRAM), "3", "--boards", "fast", "--record", "run.events")


@pytest.mark.parametrize("level", [None, *LEVELS])
@pytest.mark.parametrize("boards", ["fast", "rtl"])
def test_recording_changes_neither_output_nor_times(here, simulator, level, boards):
    program = here.program(PROGRAM)
    plain = here("run", program, "3", "--boards", boards)
    level = ["--record-level", level] if level else []
    done = here("run", program, "3", "--boards", boards, "--record", "run.events", *level)
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
    with Recording(here.folder / "run.events") as recording:
        assert recording.complete and not recording.dropped
        assert recording.end_ps == pytest.approx(float(plain.stdout) * 1000)
        assert sum(event.kind is EventKind.READ for event in recording.events()) == 3


def test_events_are_listed_by_time_and_as_asked_for(here, recorded):
    done = here("events", "run.events")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    assert any(line.endswith("send          message 1: datagram to CAB2, 100 bytes") for line in lines)
    packets = here("events", "run.events", "--kind", "packet", "--board", "CAB1").stdout.splitlines()
    assert len(packets) == 3 and all("CAB1 > HUB1.P0" in line and ", crc good; " in line for line in packets)
    middle = f"{times[len(times) // 2]}us"
    first, second = (here("events", "run.events", option, middle).stdout.splitlines() for option in ("--to", "--from"))
    assert first + second == lines and first and second
    counts = here("events", "run.events", "--count").stdout
    assert sum(int(line.split()[0]) for line in counts.splitlines()) == len(lines)
    assert re.search(r"^ +3  send$", counts, re.M)


def test_cycles_of_a_bus_are_listed_at_their_node(here):
    cycles(here.folder / "bus.events").close()
    done = here("events", "bus.events", "--kind", "vme", "--board", "CAB1.node")
    assert [line.split(maxsplit=4)[2:] for line in done.stdout.splitlines()] == [
        ["CAB1.node", "vme", "store D16 at 0x100002, from 0.000000 us on"],
        ["CAB1.node", "vme", "load D32 at 0x100100, from 1.000000 us on, block"],
        ["CAB1.node", "vme", "load D32 at 0x100104, from 2.000000 us on, block"],
        ["CAB1.node", "vme", "acknowledge level 3, from 3.000000 us on"],
        ["CAB1.node", "vme", "load D8 at 0x200001, from 4.000000 us on, bus error"],
    ]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["run.events", "--kind", "pocket"], "--kind pocket: there is no such kind of event; there are packet-start,"),
        (["run.events", "--board", "CAB9"], "--board CAB9: there is no such board in the recording; there are HUB1,"),
        (["run.events", "--from", "2us", "--to", "1us"], "--to 1us: it is not after --from 2us"),
        (["run.events", "--to", "soon"], "--to soon: not a time"),
        (["nothing.events"], "nothing.events cannot be read: No such file or directory"),
        (["program.py"], "program.py is no recording of events; 'nectar run --record FILE' makes one"),
        (["empty"], "empty is no recording of events"),
        (["old"], "old has version 9 of the format, and this is 2: record it again"),
        (["short"], "short ends in its header: nothing was recorded"),
        (["damaged"], "damaged: its header is damaged"),
    ],
)
def test_what_cannot_be_listed_is_one_line(here, recorded, arguments, said):
    data = (here.folder / "run.events").read_bytes()
    (here.folder / "empty").write_bytes(b"")
    (here.folder / "old").write_bytes(data[:8] + b"\x09" + data[9:])
    (here.folder / "short").write_bytes(data[:100])
    (here.folder / "damaged").write_bytes(data.replace(b'"places"', b'"plates"'))
    assert here.refused("events", *arguments).startswith(said)


@pytest.mark.parametrize(
    "options, said",
    [
        (["--record-level", "all"], "--record-level needs --record FILE"),
        (["--record-limit", "1M"], "--record-limit needs --record, --report or --trace"),
        (
            ["--record", "x", "--record-level", "some"],
            "--record-level some: there is no such level; there are messages,",
        ),
        (["--record", "x", "--record-limit", "much"], "--record-limit much: not a size"),
        (["--record", "x", "--record-limit", "100"], "--record x: 100 bytes are too few for a recording"),
        (["--record", "."], "--record . cannot be written: it is a directory"),
        (["--record", "no/x"], "--record no/x cannot be written: there is no directory"),
        (["--record", "program.py"], "--record program.py: the program is the same file; give another name"),
        (["--record", "/dev/full"], "--record /dev/full cannot be written: No space left on device"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(here, options, said):
    program = here.program(PROGRAM)
    assert here.refused("run", program, "3", "--boards", "fast", *options).startswith(said)
    assert (here.folder / "program.py").read_text() == PROGRAM


def test_a_disk_that_fills_up_ends_the_run_in_one_line(nectar):
    """What stands for it is the most that a file may have."""
    program = nectar.program(PROGRAM)
    most = 100_000
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}
    with nectar.start("run", program, "400", "--boards", "fast", "--record", "x", **limits) as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    said = "nectar: --record x cannot be written: File too large; what happened up to then is in x\n"
    assert without_progress(err) == said
    with Recording(nectar.folder / "x") as recording:
        assert not recording.complete and len(list(recording.events())) > 1000


def test_a_recording_that_is_full_is_told_of_and_the_run_goes_on(here):
    done = here("run", here.program(PROGRAM), "30", "--boards", "fast", "--record", "x", "--record-limit", "8k")
    assert done.returncode == 0 and (here.folder / "x").stat().st_size <= 8000
    told = (
        r"nectar: --record x: the recording has reached 8.0 kbyte at [\d.]+ us .* lacks the (\d+) events from there on"
    )
    dropped = int(re.match(told, done.stderr)[1])
    listed = here("events", "x")
    assert f"x lacks the last {dropped} events up to" in listed.stderr
    whole = here("run", "program.py", "30", "--boards", "fast", "--record", "y")
    assert whole.stderr == "" and whole.stdout == done.stdout
    assert len(here("events", "y").stdout.splitlines()) == len(listed.stdout.splitlines()) + dropped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_was_recorded_before_a_signal_can_be_read(nectar, number):
    """Whole after Ctrl-C; up to where it was written when the process was killed."""
    program = nectar.program(PROGRAM)
    with nectar.start("run", program, "1000000", "--boards", "fast", "--record", "x") as process:
        file = nectar.folder / "x"
        end = time.monotonic() + 60
        while not file.exists() or file.stat().st_size < 200_000:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate(timeout=60)
    with Recording(file) as recording:
        assert recording.complete == (number == signal.SIGINT)
        events = list(recording.events())
    assert len(events) > 1000
    listed = nectar("events", "x", "--count")
    assert listed.returncode == 0
    assert ("x was not finished: the run was killed, or is not over" in listed.stderr) == (number == signal.SIGKILL)


def test_a_board_at_a_cable_cannot_be_recorded(here):
    program = here.program(PROGRAM)
    assert here.refused("run", program, "3", "--on", "/dev/null", "--record", "x").startswith(
        "--record cannot be used with --on: "
    )

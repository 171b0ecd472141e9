"""``nectar run --report`` and ``--trace``: written whatever happens to the run, and without any effect on it; the same
files of a recording, by ``nectar events``."""

import importlib.util
import json
import os
import resource
import signal
import time

import pytest

from nectar.verification.views.test_report import data_of

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
    if len(arguments) > 1:
        raise KeyError(arguments[1])
"""


@pytest.mark.parametrize("boards", ["fast", "rtl"])
def test_a_report_changes_nothing(here, simulator, boards):
    program = here.program(PROGRAM)
    plain = here("run", program, "5", "--boards", boards)
    done = here("run", program, "5", "--boards", boards, "--report", "run.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
    data = data_of((here.folder / "run.html").read_text())
    assert data["title"] == "program.py" and data["complete"] and len(data["messages"]["sent"]) == 5


def test_a_program_that_dies_leaves_a_report_of_what_there_was(here):
    program = here.program(PROGRAM)
    assert "KeyError" in here.refused("run", program, "5", "oh", "--boards", "fast", "--report", "run.html")
    data = data_of((here.folder / "run.html").read_text())
    assert not data["complete"] and len(data["messages"]["sent"]) == 5


def test_ctrl_c_leaves_a_report(nectar, simulator):
    with nectar.start("run", nectar.program(PROGRAM), "1000000", "--report", "run.html") as run:
        time.sleep(3)
        run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=120)
    assert run.returncode == 130 and "interrupted" in told
    data = data_of((nectar.folder / "run.html").read_text())
    assert not data["complete"] and data["messages"]["sent"]


def test_a_recording_that_is_too_long_says_what_the_report_lacks(here):
    done = here("run", here.program(PROGRAM), "50", "--boards", "fast", "--report", "run.html", "--record-limit", "20k")
    assert done.returncode == 0
    assert "--report run.html: the recording has reached 20.0 kbyte at" in done.stderr
    data = data_of((here.folder / "run.html").read_text())
    assert f"lacks the {data['dropped']} events" in done.stderr and data["dropped"] > 100


@pytest.mark.parametrize("name", ["run.pftrace", "run.json"])
def test_a_trace_changes_nothing(here, name):
    program = here.program(PROGRAM)
    plain = here("run", program, "5", "--boards", "fast")
    done = here("run", program, "5", "--boards", "fast", "--trace", name, "--report", "run.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
    written = (here.folder / name).read_bytes()
    assert b"datagram CAB1 to CAB2" in written
    if name.endswith(".json"):
        assert sum(event["ph"] == "f" for event in json.loads(written)["traceEvents"]) == 5


def test_without_the_package_perfetto_it_is_said_how_to_get_it(here, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "perfetto" else find(name, *more)
    )
    line = here.refused("run", here.program(PROGRAM), "1", "--trace", "x.pftrace")
    assert "--trace x.pftrace needs the package perfetto; it comes with the extra 'trace'" in line


@pytest.mark.parametrize(
    "words, message",
    [
        (["--report", "no/x.html"], "--report no/x.html cannot be written: there is no directory"),
        (["--report", "x", "--record", "x"], "--report x: --record is the same file; give another name"),
        (["--trace", "t.json", "--record-limit", "100"], "--record-limit 100: 100 bytes are too few for a recording"),
        (["--report", ""], "--report: the name of the file is empty"),
        (["--waves", ""], "--waves: the name of the file is empty"),
        (["--report", "/proc/x"], "--report /proc/x cannot be written: No such file or directory"),
        (["--report", "y", "--record", "linked.py"], "--record linked.py: the program is the same file"),
        (["--report", "y", "--record", "/dev/stdout"], "--record /dev/stdout must be a file"),
        (["--record-limit", "1M"], "--record-limit needs --record, --report or --trace"),
        (["--trace", "no/x.json"], "--trace no/x.json cannot be written: there is no directory"),
        (["--trace", "x.txt"], "--trace x.txt: the name must end in .pftrace (Perfetto) or .json (Chrome)"),
        (["--trace", "x.json", "--json", "x.json"], "--json x.json: --trace is the same file"),
    ],
)
def test_what_cannot_be_written_is_said(here, words, message):
    program = here.program(PROGRAM)
    os.link(here.folder / program, here.folder / "linked.py")
    assert message in here.refused("run", program, "1", *words)
    assert (here.folder / program).read_text() == PROGRAM
    assert sorted(os.listdir(here.folder)) == ["linked.py", "program.py"]


def test_a_file_that_finds_no_room_keeps_no_other_from_being_written(nectar):
    """The page of a report alone is larger than a file may be here; why the program ended is told, too."""
    most = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))}
    files = ["--report", "r.html", "--trace", "t.json", "--record", "x"]
    with nectar.start("run", nectar.program(PROGRAM), "2", "oh", "--boards", "fast", *files, **most) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 2 and len(out.splitlines()) == len(err.splitlines()) == 1
    assert "KeyError: 'oh'" in err and err.endswith("; --report r.html cannot be written: File too large\n")
    assert sorted(os.listdir(nectar.folder)) == ["program.py", "t.json", "x"]
    assert json.loads((nectar.folder / "t.json").read_text())["traceEvents"]


@pytest.fixture
def recorded(here):
    """The folder has a recording with the files made during its run, and one of level messages."""
    program = here.program(PROGRAM)
    made = ["--report", "run.html", "--trace", "run.json", "--pcap", "run.pcapng"]
    here("run", program, "5", "--boards", "fast", "--record", "run.events", "--record-level", "all", *made)
    here("run", program, "5", "--boards", "fast", "--record", "few.events")
    return here


def test_a_recording_gives_the_files_that_its_run_gives(recorded):
    here, made = recorded, ["--report", "then.html", "--trace", "then.json", "--pcap", "then.pcapng"]
    done = here("events", "run.events", *made)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name in ("json", "pcapng"):
        assert (here.folder / f"then.{name}").read_bytes() == (here.folder / f"run.{name}").read_bytes()
    then, now = (data_of((here.folder / f"{name}.html").read_text()) for name in ("then", "run"))
    assert then.pop("title") == "run.events" and now.pop("title") == "program.py"
    assert then == now and then["complete"]


def test_a_file_of_a_recording_that_finds_no_room_keeps_no_other_from_being_made(recorded):
    told = recorded.refused("events", "run.events", "--report", "/dev/full", "--trace", "t.json", "--pcap", "p.pcapng")
    assert told == "--report /dev/full cannot be written: No space left on device"
    for then, now in (("t.json", "run.json"), ("p.pcapng", "run.pcapng")):
        assert (recorded.folder / then).read_bytes() == (recorded.folder / now).read_bytes()


def test_a_recording_without_end_gives_a_report_that_says_so(recorded):
    whole = (recorded.folder / "run.events").read_bytes()
    (recorded.folder / "part.events").write_bytes(whole[: len(whole) // 2])
    done = recorded("events", "part.events", "--report", "part.html")
    assert "part.events was not finished" in done.stderr and done.returncode == 0
    assert not data_of((recorded.folder / "part.html").read_text())["complete"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["no.events", "--report", "x"], "no.events cannot be read: No such file or directory"),
        (["program.py", "--trace", "x.json"], "program.py is no recording of events"),
        (["few.events", "--report", "x"], "--report x: few.events lacks the groups CONTROLS, CPU, BOARDS; record with"),
        (["few.events", "--pcap", "x"], "--pcap x: few.events lacks the groups BYTES, CONTROLS; record with"),
        (["run.events", "--report", "run.events"], "--report run.events: the recording is the same file; give another"),
        (["run.events", "--pcap", "./run.events"], "--pcap ./run.events: the recording is the same file"),
        (["run.events", "--report", "x", "--pcap", "x"], "--pcap x: --report is the same file"),
        (["run.events", "--report", "no/x"], "--report no/x cannot be written: there is no directory"),
        (["run.events", "--trace", "x"], "--trace x: the name must end in .pftrace (Perfetto) or .json (Chrome)"),
        (["run.events", "--pcap", "x", "--pcap-fibers", "CAB9"], "--pcap-fibers: there is no fiber 'CAB9'"),
        (["run.events", "--pcap-fibers", "CAB1"], "--pcap-fibers needs --pcap FILE"),
        (
            ["run.events", "--report", "x", "--kind", "send"],
            "--kind chooses what is listed; --report, --trace and --pcap",
        ),
        (["run.events", "--report", "x", "--from", "0s"], "--from chooses what is listed"),
        (["run.events", "--report", "/dev/full"], "--report /dev/full cannot be written: No space left on device"),
        (["run.events", "--pcap", "/dev/full"], "--pcap /dev/full cannot be written: No space left on device"),
    ],
)
def test_what_cannot_be_made_of_a_recording_is_said(recorded, words, message):
    before = sorted(path.name for path in recorded.folder.iterdir()), (recorded.folder / "run.events").read_bytes()
    assert recorded.refused("events", *words).startswith(message)
    assert before == (
        sorted(path.name for path in recorded.folder.iterdir()),
        (recorded.folder / "run.events").read_bytes(),
    )

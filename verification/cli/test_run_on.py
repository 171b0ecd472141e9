"""``nectar run --on`` and ``nectar simulate``: programs on a board, and every line that is wrong."""

import contextlib
import fcntl
import hashlib
import os
import re
import signal
from pathlib import Path

import pytest

from nectar.boards.simulated import Shape, SimulatedBoard
from nectar.verification import seeds
from nectar.verification.cli.lines import PROGRAM, Line, identity
from nectar.verification.cli.silence import without_progress

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture(scope="module")
def board():
    with SimulatedBoard(Shape()) as board:
        yield board


@pytest.fixture
def refused(nectar):
    """Runs a small program on a line that must be refused; the line of error."""

    def run(path, *options):
        return nectar.refused("run", nectar.program(PROGRAM), "--on", path, *options, timeout=60)

    return run


# -- what works ---------------------------------------------------------------------------------------
def test_a_file_is_sent_inside_the_board(nectar, board):
    """The example, as in README.md."""
    data = seeds.rng().randbytes(5000)
    (nectar.folder / "file").write_bytes(data)
    done = nectar(
        "run", EXAMPLES / "send_file.py", "file", "--output", "copy", "--from", "CAB2", "--on", board.path, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    assert (nectar.folder / "copy").read_bytes() == data
    assert done.stdout.startswith(
        f"5000 bytes from CAB2 to CAB1, SHA-256 {hashlib.sha256(data).hexdigest()}: the same at both ends\n"
    )
    assert "latency         not measured" in done.stdout


@pytest.mark.parametrize(
    "example, options, found",
    [
        ("stream.py", ["--from", "CAB2", "--kbytes", "10"], r"10000 bytes from CAB2 to CAB1 in \d+\.\d\d ms"),
        ("request.py", [], r"CAB2: 11 words; first call"),
    ],
)
def test_other_examples_run_there_too(nectar, board, example, options, found):
    done = nectar("run", EXAMPLES / example, "--on", board.path, *options, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and re.search(found, done.stdout), done


def test_routes_can_be_discovered_there(nectar, board):
    (nectar.folder / "file").write_bytes(b"x" * 100)
    done = nectar(
        "run",
        EXAMPLES / "send_file.py",
        "file",
        "--from",
        "CAB2",
        "--on",
        board.path,
        "--routes",
        "discovered",
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.parametrize(
    "options, cabs", [([], "CAB1 CAB2"), (["--topology", "hub:1"], "CAB1"), (["--topology", "hub:2"], "CAB1 CAB2")]
)
def test_the_boards_cabs_are_the_programs(nectar, board, options, cabs):
    done = nectar("run", nectar.program(PROGRAM), "--on", board.path, *options, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{cabs}\n", "")


@pytest.mark.parametrize(
    "options, cabs",
    [
        (["--cabs", "2", "--profile", "prototype"], ["CAB1", "CAB2"]),
        # A board of its own is compiled in half a minute; every day the one of the other tests shows the same.
        pytest.param([], ["CAB1", "CAB2", "CAB3", "CAB4"], marks=pytest.mark.nightly),
    ],
    ids=["as the others", "without options"],
)
def test_a_board_is_simulated_until_control_c(nectar, board, options, cabs):
    """Its line has a name of its own while it runs."""
    with nectar.start("simulate", "cluster", *options, "--link", "line") as process:
        try:
            assert process.stdout.readline() == f"a board with {len(cabs)} CABs is at line; Ctrl-C ends it\n"
            program = PROGRAM.replace("hub:2", f"hub:{len(cabs)}")
            done = nectar("run", nectar.program(program), "--on", nectar.folder / "line", timeout=60)
            assert (done.returncode, done.stdout) == (0, f"{' '.join(cabs)}\n"), done
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert not os.path.lexists(nectar.folder / "line")


# -- lines that are wrong -----------------------------------------------------------------------------
def test_no_such_line(refused):
    assert re.fullmatch(
        r"--on /dev/nowhere: there is no such serial line; on this machine there is .+", refused("/dev/nowhere")
    )
    assert refused("") == "--on names no serial line; name one, as /dev/ttyUSB0"
    assert re.fullmatch(
        r"--on 999: (no board was found on this machine; plug one in, or name its serial line|found were .+)",
        refused("999"),
    )


@pytest.mark.parametrize("path", ["program.py", ".", "/dev/null"])
def test_a_file_that_is_no_line(refused, path):
    assert refused(path) == f"--on {path}: it is no serial line; name the board's, as /dev/ttyUSB0"


def test_a_silent_line(refused):
    with Line(lambda data: b"") as path:
        assert refused(path) == (
            f"--on {path}: nothing answers at 1000000 baud; is the board loaded with the top 'cluster' or 'cab', and "
            f"is this its serial line "
            "and its baud rate?"
        )


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda data: data, id="echo", marks=pytest.mark.nightly),
        pytest.param(lambda data: b"\r\nlogin: ", id="login", marks=pytest.mark.nightly),
        pytest.param(lambda data: seeds.rng("noise", data).randbytes(500), id="noise"),
    ],
)
def test_a_line_at_which_something_else_answers(refused, answer):
    with Line(answer) as path:
        assert re.fullmatch(
            rf"--on {path}: what answers is no Nectar board, or not at 3000000 baud: \d+ bytes came, none of which "
            rf"make a frame for us",
            refused(path, "--baud", "3000000"),
        )


def test_a_board_of_another_version(refused):
    with Line(identity(0, 0, 0, version=2)) as path:
        assert refused(path) == (
            f"--on {path}: the board speaks version 2 of the cable's protocol, this program version 1; "
            "build its top with this version of Nectar"
        )


def test_a_board_that_says_what_cannot_be(refused):
    with Line(identity(0, 0, 0)) as path:
        assert (
            refused(path)
            == f"--on {path}: the board says of itself what cannot be; build its top with this version of Nectar"
        )


def test_a_line_in_use(refused, board):
    with contextlib.closing(os.fdopen(os.open(board.path, os.O_RDWR | os.O_NOCTTY), "rb+", 0)) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert refused(board.path) == f"--on {board.path}: another program is using this line"


def test_a_line_that_goes_while_a_program_runs(nectar):
    program = nectar.program(
        "TOPOLOGY = 'hub:1'\nasync def job(cab):\n    print('here', flush=True)\n    while True:\n        await "
        "cab.sleep(1000)\n"
        "async def main(system, arguments):\n    system.spawn('CAB1', job)\n    await system.run()\n"
    )
    with SimulatedBoard(Shape()) as board, nectar.start("run", program, "--on", board.path) as process:
        assert process.stdout.readline() == "here\n"
        board.process.kill()
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, without_progress(errors)) == (
            2,
            f"nectar: {board.path}: the line has gone; was it unplugged?\n",
        )


@pytest.mark.nightly
def test_a_board_that_stops_answering(nectar):
    """Its process stands still, its line is there."""
    program = nectar.program(
        "TOPOLOGY = 'hub:1'\nasync def job(cab):\n    print('here', flush=True)\n    while True:\n        await "
        "cab.sleep(1000)\n"
        "async def main(system, arguments):\n    system.spawn('CAB1', job)\n    await system.run()\n"
    )
    with (
        SimulatedBoard(Shape()) as board,
        nectar.start("run", program, "--on", board.path, "--stall-time", "0s") as process,
    ):
        assert process.stdout.readline() == "here\n"
        board.process.send_signal(signal.SIGSTOP)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, without_progress(errors)) == (
            2,
            f"nectar: {board.path}: the board has stopped answering; was it switched off, loaded anew, or is "
            "its line disturbed?\n",
        )


# -- what is asked of a board that no board does --------------------------------------------------------
@pytest.mark.parametrize(
    "options, line",
    [
        (["--topology", "hub:3"], "the board has 2 CABs, not 3"),
        (
            ["--topology", "figure7"],
            "--topology figure7: a board is one HUB with CAB1, CAB2, ... on its ports P0, P1, ...; give hub:N, or "
            "leave it out for all "
            "of the board's CABs",
        ),
        (["--baud", "1234567"], "a serial line has no rate of 1234567 baud; it has 9600, "),
        (["--baud", "fast"], "--baud fast: not a rate; give bits in a second, as 1000000"),
        (["--boards", "fast"], "--boards cannot be used with --on: these boards are real"),
        (["--profile", "modern"], "--profile cannot be used with --on: the board has its own clock"),
        (["--waves", "x.vcd"], "--waves cannot be used with --on: signals inside a board cannot be recorded"),
        (
            ["--faults", "CAB1-HUB1.P0:errors=1"],
            "--faults cannot be used with --on: faults on demand are made in simulated fibers",
        ),
        (["--no-sleep"], "--no-sleep cannot be used with --on: a board does not sleep"),
        (["--threads", "1"], "--threads cannot be used with --on: nothing is simulated"),
    ],
)
def test_options_that_do_not_go_with_a_board(refused, board, options, line):
    assert line in refused(board.path, *options)


def test_a_cab_that_the_board_has_not(nectar, board):
    """The example's CABs by default are those of a larger network."""
    (nectar.folder / "file").write_bytes(b"x")
    line = nectar.refused("run", EXAMPLES / "send_file.py", "file", "--on", board.path, timeout=60)
    assert line.startswith("there is no CAB 'CAB3'; there are CAB1, CAB2")


def test_nodes_that_no_board_has(nectar, board):
    program = nectar.program(f"NODES = ['CAB1']\n{PROGRAM}")
    assert (
        nectar.refused("run", program, "--on", board.path, timeout=60)
        == "program.py: it has NODES, but there are none behind the CABs of a board"
    )


def test_baud_without_a_board(nectar):
    assert (
        nectar.refused("run", nectar.program(PROGRAM), "--baud", "9600")
        == "--baud is the rate of a board's serial line: it needs --on LINES"
    )


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["hub"], "there is no 'hub' to simulate; there are cluster and desk"),
        (["cluster", "--cabs", "17"], "--cabs 17: give 1 to 16"),
        (["cluster", "--cabs", "x"], "--cabs x: give 1 to 16"),
        (["cluster", "--data-bytes", "5000"], "--data-bytes 5000: give a power of two from 4096 to 1048576"),
        (["cluster", "--profile", "fast"], "--profile: a HUB has no profile 'fast'; there are prototype, modern"),
        (["cluster", "--link", "/"], "--link /: give a name that is not there yet, in a directory that is"),
        (
            ["cluster", "--link", "no/where"],
            "--link no/where: give a name that is not there yet, in a directory that is",
        ),
    ],
)
def test_a_board_that_cannot_be_simulated(nectar, arguments, line):
    assert nectar.refused("simulate", *arguments) == line

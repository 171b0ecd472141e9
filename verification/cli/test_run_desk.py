"""``nectar run --on`` with several lines: programs on lone CABs, each with a board and a line of its own, and every
line that is wrong."""

import os
import re
import signal
from pathlib import Path

import pytest

from nectar.boards.simulated import DeskShape, SimulatedBoard
from nectar.verification import seeds
from nectar.verification.cli.lines import PROGRAM, Cable, Line, identity
from nectar.verification.cli.silence import without_progress

#: Three boards are built for it; a single board is tested every day.
pytestmark = pytest.mark.nightly

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
CLUSTER = identity(2 << 24 | 2 << 16 | 1 << 8, 62_500, 15 << 24 | 12 << 16 | 8 << 8)
#: A server on CAB2 and a client on CAB1, each where its CAB has a line.
CALL = """
TOPOLOGY = "hub:2"

async def serve(cab):
    service = cab.request.serve(5)
    request = await service.receive()
    await request.reply(b"answer to " + await request.read())
    await cab.sleep(30_000)

async def call(cab, server):
    return await cab.request.call((server, 5), b"question", timeout_us=60_000_000)

async def main(system, arguments):
    names = [cab.name for cab in system.cabs]
    tasks = [system.spawn("CAB2", serve)] if "CAB2" in names else []
    tasks += [system.spawn("CAB1", call, system.id_of("CAB2"))] if "CAB1" in names else []
    await system.run()
    print(names, tasks[-1].result)
"""
#: Messages that stay on the way.
LEFT = """
TOPOLOGY = "hub:2"

async def send(cab, destination):
    for _ in range(3):
        await cab.datagram.send((destination, 1), b"nobody takes this")
    await cab.sleep(1000)

async def main(system, arguments):
    system.spawn("CAB1", send, system.id_of("CAB2"))
    await system.run()
"""
#: More symbols than there is room for, to a CAB that stands still; a circuit's packets do not wait for it.
FLOOD = """
TOPOLOGY = "hub:2"

async def flood(cab, destination):
    address = await cab.memory.allocate(4000)
    await cab.datalink.send_circuit(cab.datalink.route(destination), [(bytes(16), ((address, 4000),))])
    await cab.datalink.finish()

async def main(system, arguments):
    system.spawn("CAB1", flood, system.id_of("CAB2"))
    await system.run()
"""
FOREVER = """
TOPOLOGY = "hub:2"

async def job(cab):
    while True:
        await cab.now_us()

async def main(system, arguments):
    for cab in system.cabs:
        system.spawn(cab.name, job)
    print("here", flush=True)
    await system.run()
"""


class Desk:
    """A simulated desk, and what its lights tell."""

    def __init__(self, folder):
        self.lights = folder / "lights"
        with open(self.lights, "w") as file:
            self.board = SimulatedBoard(DeskShape(), lights=file)
        self.paths = self.board.paths

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.board.close()


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with Desk(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


# -- what works ---------------------------------------------------------------------------------------
def test_a_file_is_sent_from_board_to_board(nectar, desk):
    """docs/cable.md: two packets though a circuit is asked for, and no light tells of a lost symbol."""
    data = seeds.rng().randbytes(1200)
    (nectar.folder / "file").write_bytes(data)
    done = nectar(
        "run",
        EXAMPLES / "send_file.py",
        "file",
        "--output",
        "copy",
        "--from",
        "CAB1",
        "--to",
        "CAB2",
        "--circuit",
        "--topology",
        "hub:2",
        "--on",
        ",".join(desk.paths),
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    assert (nectar.folder / "copy").read_bytes() == data
    assert re.search(r"% of the fiber's 13 Mbit/s\n", done.stdout), "a symbol of ten bits at 16 MHz"
    assert desk.lights.read_text() == ""


def test_two_computers_have_one_cab_each(nectar, desk):
    """docs/cable.md: a CAB without a line has its software elsewhere; the client's first calls find nobody yet."""
    program = nectar.program(CALL)
    with (
        nectar.start("run", program, "--on", f"CAB1={desk.paths[0]}") as client,
        nectar.start("run", program, "--on", f"CAB2={desk.paths[1]}") as server,
    ):
        told = [
            (out, without_progress(errors))
            for out, errors in (process.communicate(timeout=120) for process in (client, server))
        ]
    assert told == [("['CAB1'] b'answer to question'\n", ""), ("['CAB2'] None\n", "")]
    assert desk.lights.read_text() == ""


def test_routes_are_discovered_there_too(nectar, desk):
    (nectar.folder / "file").write_bytes(b"x" * 100)
    done = nectar(
        "run",
        EXAMPLES / "send_file.py",
        "file",
        "--from",
        "CAB2",
        "--topology",
        "hub:2",
        "--routes",
        "discovered",
        "--on",
        ",".join(desk.paths),
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.fixture
def used(nectar, tmp_path):
    """A desk of one's own, with which a program has run already, so that no CAB is as it was when its board was
    switched on."""
    with Desk(tmp_path) as desk:
        done = nectar("run", nectar.program(PROGRAM), "--on", ",".join(desk.paths), timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "CAB1 CAB2\n", ""), done
        yield desk


def test_what_a_program_leaves_behind_does_not_reach_the_next(nectar, used):
    """docs/cable.md: one packet before a CAB that nobody serves, another in its HUB's queue, and a ready bit that is
    0; and nobody waits until the watchdog ends that."""
    data = seeds.rng().randbytes(300)
    (nectar.folder / "file").write_bytes(data)
    done = nectar("run", nectar.program(LEFT), "--on", used.paths[0], timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    done = nectar(
        "run",
        EXAMPLES / "send_file.py",
        "file",
        "--output",
        "copy",
        "--from",
        "CAB1",
        "--to",
        "CAB2",
        "--topology",
        "hub:2",
        "--max-time",
        "40ms",
        "--on",
        ",".join(used.paths),
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    assert (nectar.folder / "copy").read_bytes() == data
    assert used.lights.read_text() == ""


def test_a_light_tells_of_lost_symbols(nectar, used):
    done = nectar("run", nectar.program(FLOOD), "--on", used.paths[0], timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert used.lights.read_text() == "CAB2: a symbol was lost\n"


def test_a_desk_is_simulated_until_control_c(nectar):
    with nectar.start("simulate", "desk", "--profile", "prototype", "--link", "line") as process:
        try:
            assert process.stdout.readline() == "a HUB and 2 CABs are at line1,line2; Ctrl-C ends them\n"
            done = nectar("run", nectar.program(PROGRAM), "--on", "line1,line2", timeout=60)
            assert (done.returncode, done.stdout) == (0, "CAB1 CAB2\n"), done
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert not os.path.lexists(nectar.folder / "line1") and not os.path.lexists(nectar.folder / "line2")


# -- lines that are wrong -----------------------------------------------------------------------------
@pytest.fixture
def refused(nectar, desk):
    """Runs a small program on lines that must be refused, {0} and {1} of which are the desk's; the line of error."""

    def run(lines, *options, text=PROGRAM):
        return nectar.refused("run", nectar.program(text), "--on", lines.format(*desk.paths), *options, timeout=60)

    return run


@pytest.mark.parametrize(
    "lines, error",
    [
        ("{0},/dev/nowhere", r"--on /dev/nowhere: there is no such serial line; on this machine there is .+"),
        ("{0},,{1}", r"--on names no serial line; name one, as /dev/ttyUSB0"),
        ("{0},{0}", r"--on \S+: /dev/pts/\d+ is named twice; each board has its own line"),
        (
            "CAB1={0},{1}",
            r"--on \S+: write the CAB's name before each of the lines, as CAB1=/dev/ttyUSB0, or before none",
        ),
        ("CAB1={0},CAB1={1}", r"--on \S+: CAB1 is named twice; each CAB has its own board"),
        ("CAB1={0},CAB9={1}", r"--on: hub:2 has no CAB 'CAB9'; it has CAB1, CAB2"),
    ],
)
def test_lines_that_cannot_be(refused, lines, error):
    assert re.fullmatch(error, refused(lines))


def test_the_same_line_by_two_names(refused, desk, tmp_path):
    (tmp_path / "other").symlink_to(desk.paths[0])
    assert refused(f"{{0}},{tmp_path}/other").endswith(
        f"{desk.paths[0]} and {tmp_path}/other are the same line; each board has its own"
    )


def test_more_boards_than_cabs(refused):
    assert refused("{0},{1}", "--topology", "hub:1") == "--on names 2 boards, but hub:1 has 1 CAB"


def test_a_program_without_topology(refused):
    text = "async def main(system, arguments):\n    pass\n"
    assert refused("{0},{1}", text=text) == "program.py has no TOPOLOGY; add one, or give --topology"
    assert refused("{0}", text=text) == "program.py has no TOPOLOGY; add one, or give --topology"


@pytest.mark.parametrize(
    "answer, error",
    [
        (
            lambda data: b"",
            "nothing answers at 1000000 baud; is the board loaded with the top 'cluster' or 'cab', and is this its "
            "serial line and its baud rate?",
        ),
        (
            identity(0, 0, 0, version=2),
            "the board speaks version 2 of the cable's protocol, this program version 1; build its top with this "
            "version of Nectar",
        ),
        (CLUSTER, "a board with the top 'cluster' is a Nectar by itself; name its line alone"),
    ],
    ids=["silent", "version", "cluster"],
)
def test_a_second_board_that_is_none(refused, answer, error):
    with Line(answer) as path:
        assert refused(f"{{0}},{path}") == f"--on {path}: {error}"


def test_a_cluster_is_no_cab(refused):
    with Line(CLUSTER) as path:
        assert refused(f"CAB1={path}") == f"--on: the board at {path} has several CABs; leave CAB1= out"


def test_more_software_than_boards(refused, desk):
    """The program has tasks on CABs that have no line."""
    line = refused("CAB2={1}", text=PROGRAM.replace("print", "system.spawn('CAB1', print)#"))
    assert line == "the software of CAB1 does not run here; there is CAB2 (program.py:3)"


# -- fibers that are wrong ----------------------------------------------------------------------------
def test_fibers_in_the_wrong_ports(refused, desk):
    assert refused("CAB2={0}") == (
        f"--on {desk.paths[0]}: CAB2 hangs on port P0 of the HUB with ID 1, but by the topology on HUB1.P1, "
        "whose ID is 1"
    )


def test_a_fiber_without_hub(nectar, tmp_path):
    """The HUB has been told to disable the port, and hears nothing any more."""
    off = (
        "from nectar.hdl.hub.commands import Op\nTOPOLOGY = 'hub:2'\nasync def off(cab):\n    await "
        "cab.datalink.command(Op.DISABLE_REPLY, 1, 0)\n"
        "async def main(system, arguments):\n    system.spawn('CAB1', off)\n    await system.run()\n"
    )
    with Desk(tmp_path) as desk:
        done = nectar("run", nectar.program(off), "--on", desk.paths[0], timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert nectar.refused("run", nectar.program(PROGRAM), "--on", desk.paths[0], timeout=60) == (
            f"--on {desk.paths[0]}: no HUB answers on the fiber of CAB1; is it wired to a board with the top 'hub', at "
            f"the same rate?"
        )


def test_a_board_that_is_unplugged_while_a_program_runs(nectar, desk):
    """One of two; both CABs have much to do."""
    cable = Cable(desk.paths[1])
    with cable as path, nectar.start("run", nectar.program(FOREVER), "--on", f"{desk.paths[0]},{path}") as process:
        assert process.stdout.readline() == "here\n"
        cable.pull()
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, without_progress(errors)) == (
            2,
            f"nectar: {path}: the line has gone; was it unplugged?\n",
        )


def test_a_time_limit_ends_a_run(nectar, desk):
    """docs/cable.md: a desk is never quiet; the limit is that of the CAB whose clock gets there first."""
    text = FOREVER.replace("await cab.now_us()", "await cab.mailbox(1).receive()")
    done = nectar("run", nectar.program(text), "--max-time", "5ms", "--on", ",".join(desk.paths), timeout=60)
    assert done.returncode == 1
    assert re.match(
        r"nectar: the time limit was reached at \d\.\d\d\d ms, where\n"
        r"  task job \d on CAB1 waits for .*\n  task job \d on CAB2 waits for .*\n",
        done.stderr,
    ), done.stderr


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["--cabs", "0"], "--cabs 0: give 1 to 16"),
        (["--link", ""], "--link : give a name that is not there yet, in a directory that is"),
        (["--link", "no/where"], "--link no/where1: give a name that is not there yet, in a directory that is"),
    ],
)
def test_a_desk_that_cannot_be_simulated(nectar, arguments, line):
    assert nectar.refused("simulate", "desk", *arguments) == line

"""``nectar run --threads``: what cannot be is told in one line before anything starts; all that a run writes is the
same with any number of threads."""

import csv

import pytest

from nectar.cli import main
from nectar.sim.host import cores
from nectar.sim.recording import Recording

PROGRAM = 'TOPOLOGY = "hub:2"\n\n\nasync def main(system, arguments):\n    print(system.machine.engine.threads)\n'
#: Two CABs call a service of the node behind CAB1.
TALK = """
TOPOLOGY = "hub:3"
NODES = ["CAB1"]


async def answer(node):
    service = await node.request.serve(7)
    for _ in range(4):
        request = await service.receive()
        await request.reply((await request.read()).upper())
    await service.close()


async def ask(cab, server):
    await cab.sleep(10_000)
    for _ in range(2):
        assert await cab.request.call((server, 7), b"nectar") == b"NECTAR"
    return await cab.now_us()


async def main(system, arguments):
    system.node("CAB1").spawn(answer)
    names = "CAB2", "CAB3"
    clients = [system.spawn(name, ask, system.id_of("CAB1")) for name in names]
    await system.run()
    for name, client in zip(names, clients):
        system.report(f"end.{name}", client.result, "us")
"""
#: CAB1 sends a message to CAB2.
SEND = """
TOPOLOGY = "hub:2"


async def send(cab):
    await cab.datagram.send(("CAB2", 1), bytes(400))


async def receive(cab):
    (await cab.mailbox(1).receive()).free()
    return await cab.now_us()


async def main(system, arguments):
    system.spawn("CAB1", send)
    received = system.spawn("CAB2", receive)
    await system.run()
    system.report("end", received.result, "us")
"""


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Runs the program; exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nectar.sim.host.cores", lambda: 3)
    (tmp_path / "program.py").write_text(PROGRAM)
    return lambda *options: (main(["run", *options, "program.py"]), *capsys.readouterr())


@pytest.mark.parametrize("text", ["4", "0", "-1", "1.5", "two", "", "²"])
def test_another_number_of_threads_than_there_can_be_is_refused(run, text):
    line = f"nectar: --threads {text}: give a whole number from 1 to 3, the number of processor cores\n"
    assert run(f"--threads={text}") == (2, "", line)


def test_the_engine_uses_as_many_threads_as_it_is_told(run, monkeypatch):
    monkeypatch.setattr("nectar.sim.engine.cores", lambda: 3)
    ended, out, _ = run("--threads", "3")
    assert (ended, out) == (0, "3\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--boards=fast"],
        ["--boards=fast", "--rtl=HUB1,CAB2", "--waves=w.vcd", "--wave-boards=HUB1,CAB2", "--wave-window=10ms:10.05ms"],
    ],
    ids=["fast", "both"],
)
def test_all_that_is_written_is_the_same(run, monkeypatch, tmp_path, options):
    """A recording, results, and waveforms of RTL boards; with a node, too."""
    monkeypatch.setattr("nectar.sim.engine.cores", lambda: 3)
    monkeypatch.setattr("nectar.sim.engine.SHARED_NS", 0.0)
    (tmp_path / "program.py").write_text(TALK)
    seen = []
    for threads in "123":
        ended, out, errors = run(*options, f"--threads={threads}", "--record=r", "--record-level=all", "--json=j.json")
        assert ended == 0, errors
        files = [path for path in tmp_path.iterdir() if path.is_file() and path.name != "program.py"]
        with Recording(tmp_path / "r") as recording:
            events = list(recording.events())
        seen.append((out, events, {path.name: path.read_bytes() for path in files if path.name != "r"}))
    assert seen[1] == seen[0] and seen[2] == seen[0]
    _, events, written = seen[0]
    assert len(events) > 1000 and ("w.vcd" not in written or len(written["w.vcd"]) > 100_000)


@pytest.mark.nightly
def test_boards_and_threads_are_swept(nectar, tmp_path):
    """All rows are equal: a fast board takes the RTL's cycles, and threads change nothing."""
    most = str(min(2, cores()))
    sets = ["boards=fast", 'rtl=HUB1,"CAB1,HUB1"', f"threads={','.join(sorted({'1', most}))}"]
    words = [word for each in sets for word in ("--set", each)]
    done = nectar("sweep", nectar.program(SEND), *words, "-o", "results")
    assert done.returncode == 0, done
    with open(tmp_path / "results" / "table.csv") as file:
        rows = list(csv.DictReader(file))
    assert {(row["rtl"], row["threads"]) for row in rows} == {
        (names, threads) for names in ("HUB1", "CAB1,HUB1") for threads in ("1", most)
    }
    assert len({(row["end"], row["simulated_ns"]) for row in rows}) == 1

"""``nectar run --pcap`` and ``nectar dissector``, with tshark where it is installed."""

import shutil
import subprocess

import pytest
from scapy.utils import RawPcapNgReader

from nectar.hdl.hub.commands import COMMANDS
from nectar.software.dissector import lua
from nectar.software.packet import PacketKind, Protocol, Reason
from nectar.verification.cli.conftest import Command

needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed: 'apt-get install tshark' (docs/recording.md)"
)
#: A stream, a call, a multicast, and datagrams with an answer to a command.
PROGRAM = """
TOPOLOGY = "figure7"

async def listen(cab):
    connection = await cab.stream.listen(5).accept()
    while data := await connection.receive():
        pass
    await connection.close()
    await cab.mailbox(9).receive()

async def serve(cab):
    service = cab.request.serve(6)
    await (await service.receive()).reply(b"answer")

async def take(cab):
    await cab.mailbox(7).receive()

async def send(cab, server, others):
    connection = await cab.stream.connect((server, 5))
    await connection.send(bytes(3000))
    await connection.close()
    await cab.request.call((server, 6), b"question")
    await cab.multicast.send((others, 7), b"to several")
    await cab.datagram.send((server, 9), bytes(1500))

async def main(system, arguments):
    others = [system.id_of(name) for name in ("CAB4", "CAB5")]
    for task in (listen, serve):
        system.spawn("CAB1", task)
    for name in ("CAB4", "CAB5"):
        system.spawn(name, take)
    system.spawn("CAB3", send, system.id_of("CAB1"), others)
    await system.run()
"""


def tshark(nectar, *words, file="run.pcapng", **more):
    """The lines that tshark prints."""
    done = subprocess.run(
        ["tshark", "-X", "lua_script:nectar.lua", "-r", file, *words],
        cwd=nectar.folder,
        text=True,
        capture_output=True,
        check=False,
        **more,
    )
    assert done.returncode == 0 and "Lua" not in done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    nectar = Command(tmp_path_factory.mktemp("pcap"))
    nectar.program(PROGRAM)
    assert nectar("dissector").returncode == 0
    done = nectar("run", "program.py", "--pcap", "run.pcapng")
    assert done.returncode == 0, done
    return nectar


def test_another_reader_reads_it(captured):
    with RawPcapNgReader(str(captured.folder / "run.pcapng")) as reader:
        frames = list(reader)
    assert len(frames) > 100 and {meta.linktype for _, meta in frames} == {147}
    assert {b"CAB3>HUB2.P4", b"HUB2.P4>CAB3", b"HUB2.P8>HUB1.P3"} <= {meta.ifname for _, meta in frames}


def test_the_dissector_has_all_commands_and_protocols():
    text = lua()
    assert all(f'[{int(row.op)}] = "{row.name}"' in text for row in COMMANDS)
    assert all(f"dissect[PROTOCOL_{protocol.name}] = " in text for protocol in Protocol)
    assert all(item.name in text for item in PacketKind) and "no room" not in text
    assert len(Reason) == text.partition("local REASONS = {")[2].partition("}")[0].count("=")


@needs_tshark
def test_tshark_names_commands_routes_and_transports(captured):
    lines = tshark(captured, "-T", "fields", "-e", "_ws.col.Info", "-e", "nectar.route", "-e", "nectar.fiber")
    text = "\n".join(lines)
    assert "test open retry HUB 2 P8\t\tCAB3>HUB2.P4" in text and "close all any HUB" in text
    for wanted in (
        "stream 3 > 1: connection 1 [OPEN] seq",
        "stream 1 > 3: connection 1 [OPEN ACK] seq",
        "request 3 > 1: REQUEST 0 of service 6, fragment 0, 8 bytes in all\tHUB2.P8 HUB1.P8\tCAB3>HUB2.P4",
        "request 1 > 3: ANSWER 0 of service 6, fragment 0, 6 bytes in all",
        "multicast 3 > several: REQUEST 0 of mailbox 7",
        "datagram 3 > 1: mailbox 9, message 0, bytes 1004 to 1500 of 1500",
    ):
        assert wanted in text, wanted


@needs_tshark
def test_streams_are_followed(captured):
    """All packets of a connection, in both directions and on each fiber, have one number."""
    rows = [
        line.split("\t") for line in tshark(captured, "-Y", "nectar.connection", "-T", "fields", "-e", "nectar.stream")
    ]
    (number,) = {row[0] for row in rows}
    only = tshark(
        captured, "-2", "-Y", f"nectar.stream == {number} && nectar.fiber == \"CAB3>HUB2.P4\" && nectar.flag.data == 1",
        "-T", "fields", "-e", "nectar.data",
    )  # fmt: skip
    assert sum(len(data) // 2 for data in only) == 3000


@needs_tshark
def test_a_wrong_crc_is_marked_and_its_fault_told(captured):
    captured.program(PROGRAM.replace("    await cab.mailbox(9).receive()\n", ""), "reliable.py")
    done = captured("run", "reliable.py", "--pcap", "bad.pcapng", "--faults", "CAB3-HUB2.P4:errors=2e-4", "--seed", "5")
    assert done.returncode == 0, done
    comments = tshark(captured, "-T", "fields", "-e", "frame.comment", "-Y", "frame.comment", file="bad.pcapng")
    assert any("wrong CRC" in line for line in comments) and any("damaged" in line for line in comments)


@needs_tshark
def test_tshark_shows_packets_while_the_program_runs(captured):
    """What the program prints goes to the standard error then."""
    captured.program(PROGRAM + "    print('done')\n", "told.py")
    with captured.start("run", "told.py", "--pcap", "-") as run:
        shown = subprocess.run(
            ["tshark", "-l", "-X", "lua_script:nectar.lua", "-i", "-"],
            cwd=captured.folder,
            stdin=run.stdout,
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert "done" in run.stderr.read()
        run.stdout.close()
    assert run.returncode == 0 and shown.stdout.decode().splitlines()[3:] and b"close all any HUB" in shown.stdout


def test_a_reader_of_packets_that_goes_away_ends_the_program_quietly(captured):
    """docs/tutorial/first-program.md, "When something goes wrong"."""
    endless = '    while True:\n        await cab.datagram.send(("CAB2", 1), bytes(900))\n'
    captured.program(
        f"TOPOLOGY = 'hub:2'\nasync def send(cab):\n{endless}\n"
        "async def main(system, arguments):\n    system.spawn('CAB1', send)\n    await system.run()\n",
        "endless.py",
    )
    with captured.start("run", "endless.py", "--boards", "fast", "--max-time", "2s", "--pcap", "-") as run:
        assert run.stdout.buffer.read(10)
        run.stdout.close()
        assert (run.stderr.read(), run.wait()) == ("", 141)


def test_recording_packets_changes_nothing(captured):
    """The same simulated time with and without."""
    for words in ([], ["--pcap", "again.pcapng"]):
        assert captured("run", "program.py", "--json", f"{len(words)}.json", *words).returncode == 0
    assert (captured.folder / "0.json").read_text() == (captured.folder / "2.json").read_text()
    assert (captured.folder / "again.pcapng").read_bytes() == (captured.folder / "run.pcapng").read_bytes()


@pytest.mark.parametrize(
    "words, message",
    [
        (["--pcap", "no/x.pcapng"], "--pcap no/x.pcapng cannot be written: there is no directory"),
        (["--pcap", "/dev/full"], "--pcap /dev/full cannot be written: No space left on device"),
        (["--pcap", "x", "--pcap-fibers", "CAB9"], "--pcap-fibers: there is no fiber 'CAB9'; write a board (CAB1,"),
        (["--pcap", "x", "--pcap-fibers", ","], "--pcap-fibers names no fiber"),
        (["--pcap-fibers", "CAB1"], "--pcap-fibers needs --pcap FILE"),
        (["--pcap", "program.py"], "--pcap program.py: the program is the same file; give another name"),
    ],
)
def test_what_cannot_be_written_is_said(captured, words, message):
    assert message in captured.refused("run", "program.py", *words)
    assert not (captured.folder / "x").exists()


def test_the_dissector_cannot_be_written(captured):
    assert "-o no/x.lua cannot be written" in captured.refused("dissector", "-o", "no/x.lua")

"""What stands beside a waveform file for its viewers, and what the waveform says in words."""

import contextlib
import re
import shutil
import subprocess

import pylibfst
import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.hub.commands import COMMANDS, Error, Op
from nectar.hdl.link.symbol import Control
from nectar.sim import texts
from nectar.sim.topology import load
from nectar.sim.wave_views import names_folder, save_file
from nectar.software.backends.engine.machine import EngineMachine
from nectar.verification.sim import vcd
from nectar.verification.sim.traffic import Station, run

TX_COMMAND, TX_STATUS = REG["TX_COMMAND"], REG["TX_STATUS"]
#: An ID that no HUB has: whoever gets such a command drops it.
NOBODY = 9


def record(path, **options):
    """One packet from CAB1 to CAB2; the simulated time at the end."""
    machine = EngineMachine(load("hub:2"), waves=path, **({"wave_views": True} if path else {}), **options)
    Station(machine, "CAB1", [(1, 1)], [bytes(range(40))])
    Station(machine, "CAB2", [(1, 0)])
    assert run(machine) == "quiet"
    time = machine.time_ps
    machine.close()
    return time


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The waveform of one packet."""
    path = tmp_path_factory.mktemp("views") / "w.vcd"
    record(path)
    return path


def rows(path):
    """[(label, signal as GTKWave calls it, translate file or None)] of a save file."""
    found, translated, file = [], False, None
    for line in path.read_text().splitlines():
        if line.startswith("@"):
            translated = bool(int(line[1:], 16) & 0x2000)
        elif line.startswith("^"):
            file = line.partition(" ")[2]
        elif match := re.fullmatch(r"\+\{(.*)\} (\S+)", line):
            found.append((match[1], match[2], file if translated else None))
    return found


def table(path):
    """{value: name} of a translate file."""
    return {int(line.split()[0], 16): line.partition(" ")[2] for line in path.read_text().splitlines()}


def test_what_is_recorded_is_what_happens_without(tmp_path):
    assert record(tmp_path / "w.vcd") == record(None)


def test_every_row_is_in_the_waveform(recorded):
    there = vcd.names(recorded)
    shown = rows(save_file(recorded))
    for label, signal, file in shown:
        assert signal.partition("[")[0] in there, label
        assert file is None or (recorded.parent / file).is_file(), label
    assert len({signal for _, signal, _ in shown}) == len(shown) > 150


def test_the_useful_rows_come_first_by_board_and_port(recorded):
    text = save_file(recorded).read_text()
    groups = re.findall(r"^-(?!group_end)([^}\n]*)$", text, re.M)
    opened = list(dict.fromkeys(groups))
    assert opened[:5] == ["HUB1", "HUB1 P0", "HUB1 P0 pins", "HUB1 P1", "HUB1 P1 pins"]
    assert opened[-6:] == ["CAB1", "CAB1 pins", "CAB1 registers", "CAB2", "CAB2 pins", "CAB2 registers"]
    labels = [label for label, _, _ in rows(save_file(recorded))]
    assert labels[:5] == ["P0 rx", "P0 rx command", "P0 tx", "P0 tx command", "P0 state"]
    assert labels[labels.index("bus") :][:4] == ["bus", "fiber rx", "fiber rx command", "fiber tx"]


def test_states_symbols_and_registers_have_their_names(recorded):
    by_signal = {signal.partition("[")[0]: file for _, signal, file in rows(save_file(recorded))}

    def names(signal):
        return table(recorded.parent / by_signal[signal])

    states = {"PASS", "PARAMETER", "EXECUTE", "END", "WAIT"}
    assert set(names("HUB1.hub16.board.input_1.head.state_state").values()) == states
    assert names("CAB1.cab.board.board.fiber_in.receiver.state")[0] == "CLOSED"
    assert set(names("CAB2.cab.board.board.bus.walk_state").values()) == {"ASK", "HEAR", "BEGIN", "WALK", "END"}
    for signal in "HUB1.hub16.board.port_1__tx__payload", "CAB1.cab.board.fiber__rx__payload":
        assert names(signal) == {int(code): code.name.lower() for code in Control}
    opcodes = names("HUB1.hub16.board.input_0.head.op")
    assert {op: text.replace(",", "") for op, text in opcodes.items()} == {each.op: each.name for each in COMMANDS}
    assert names("CAB1.cab.board.bus__address") == {each.address: each.name for each in REG.values()}


def test_every_state_and_enumeration_of_the_boards_is_shown(recorded):
    """Those of the Verilog, as the library of the boards lists them."""
    machine = EngineMachine(load("hub:2"))
    try:
        lists = {kind: machine.engine.value_names(kind) for kind in ("hub16", "cab")}
    finally:
        machine.close()
    by_signal = {signal.partition("[")[0]: file for _, signal, file in rows(save_file(recorded))}
    for board, kind in ("HUB1", "hub16"), ("CAB1", "cab"), ("CAB2", "cab"):
        for signal, values in lists[kind].items():
            port = re.search(r"input_(\d+)\.", signal)
            if port is None or int(port[1]) < 2:
                assert table(recorded.parent / by_signal[f"{board}.{kind}.{signal}"]) == values
    assert len(lists["hub16"]) >= 18 and len(lists["cab"]) >= 7


def test_translate_and_mapping_files_say_the_same(recorded):
    """Surfer's are written as its manual has them; here is no Surfer to try them."""
    folder = names_folder(recorded)
    files = sorted(folder.glob("*.txt"))
    assert len(files) >= 10
    for file in files:
        lines = (folder / ".surfer" / "mappings" / file.stem.replace(".", "_")).read_text().splitlines()
        assert lines[0] == f"Name = Nectar {file.stem}" and re.fullmatch(r"Bits = \d+", lines[1])
        assert {int(line.split()[0], 16): line.partition(" ")[2] for line in lines[2:]} == table(file)
        widths = {len(line.split()[0]) for line in file.read_text().splitlines()}
        assert widths == {(int(lines[1].split()[-1]) + 3) // 4}, "GTKWave compares what it shows"


def test_a_save_file_of_gtkwaves_own_is_kept_and_ours_is_written_anew(tmp_path):
    record(tmp_path / "w.vcd", wave_boards=["CAB1"])
    ours = save_file(tmp_path / "w.vcd")
    assert "HUB1" not in ours.read_text()
    record(tmp_path / "w.vcd", wave_boards=["HUB1"])
    assert "HUB1" in ours.read_text() and "CAB1" not in ours.read_text()
    ours.write_text("[*] GTKWave Analyzer v3.3.104 (w)1999-2020 BSI\n")
    record(tmp_path / "w.vcd", wave_boards=["CAB1"])
    assert ours.read_text().startswith("[*] GTKWave Analyzer")


def test_frames_are_told_in_words(recorded):
    sent = [text for _, text in vcd.strings(recorded, "CAB1.tx")]
    assert sent == ["", "command", "packet", "packet, 44 bytes", "command"], "40 bytes and the CRC"
    assert [text for _, text in vcd.strings(recorded, "CAB1.tx_command")] == [
        "",
        "test open P1, retry (HUB 1)",
        "close all",
    ]
    assert [text for _, text in vcd.strings(recorded, "CAB2.rx")] == ["", "packet", "packet, 44 bytes", "command"]
    assert ("ready" in [text for _, text in vcd.strings(recorded, "HUB1.P1.rx")]) is True


def test_the_words_stand_at_the_symbols_they_tell_of(recorded):
    """Each symbol that the HUB takes in and each that a fiber takes out changes them in its own cycle."""
    port = "HUB1.hub16.board.port_0__rx"
    valid, payload = vcd.read(recorded, [f"{port}__valid", f"{port}__payload"]).values()
    starts = [
        time
        for time, value in zip(payload.times, payload.values)
        if value == Control.START and valid.before(time + 1) == 1
    ]
    told = [time for time, text in vcd.strings(recorded, "HUB1.P0.rx") if text == "packet"]
    assert told == starts and len(told) == 1


def test_accesses_of_the_cpu_are_told_in_words(recorded):
    told = [text for _, text in vcd.strings(recorded, "CAB1.bus")]
    assert f"write IRQ_ENABLE 0x{0b1011:08X}" in told
    assert "read IRQ_PENDING" in told and any(text.startswith("write data 0x100000 0x") for text in told)


async def _give(door, commands):
    for op, hub, parameter in commands:
        while TX_STATUS.free.get(await door.read(TX_STATUS.address)) < 2:
            door.spend(100)
        door.write(TX_COMMAND.address, TX_COMMAND.opcode.put(op) | TX_COMMAND.hub.put(hub) | parameter)


def test_commands_and_replies_are_told_by_the_names_of_the_command_table(tmp_path):
    path = tmp_path / "w.vcd"
    asked = [(int(Op.ECHO_REPLY), 1, 0x2A), (int(Op.OPEN_RETRY_REPLY), 1, 1), (int(Op.STATUS_QUEUE), 1, 77)]
    machine = EngineMachine(load("hub:2"), waves=path, wave_boards=["CAB1"])
    machine.start("CAB1", _give(machine.doors["CAB1"], [(int(each.op), NOBODY, 3) for each in COMMANDS] + asked))
    assert run(machine, 2 * 10**9) in ("quiet", "time")
    machine.close()
    told = [text for _, text in vcd.strings(path, "CAB1.tx_command")][1:]
    assert len(told) == len(COMMANDS) + len(asked)
    for text, command in zip(told, COMMANDS):
        assert text.endswith(f" (HUB {NOBODY})")
        what, how, kind = texts.command_parts(command)
        parameter = {"NONE": "", "NUMBER": " 0x03", "PORT": " P3", "PORT_AND_FLAG": " P3, off"}[kind.name]
        assert text == f"{what}{parameter}{how} (HUB {NOBODY})"
        words = text.partition(" (")[0].replace(", off", "").replace(",", "").split()
        assert " ".join(word for word in words if word not in ("P3", "0x03")) == command.name
    answers = [text for _, text in vcd.strings(path, "CAB1.rx_command")]
    assert answers[-3:] == [
        "done: echo 0x2A (HUB 1)",
        "done: open, retry 0x01 (HUB 1)",
        "refused: status queue: bad port (HUB 1)",
    ]
    assert {text.upper().replace(" ", "_") for text in texts.error_texts().values()} == {each.name for each in Error}


@contextlib.contextmanager
def fst(path):
    """An FST file as a reader of others finds it: the reader, {signal as GTKWave calls it: its number in the file}."""
    reader = pylibfst.lib.fstReaderOpen(str(path).encode())
    try:
        _, signals = pylibfst.get_scopes_signals2(reader)
        yield reader, {name.replace(" ", ""): signal.handle for name, signal in signals.by_name.items()}
    finally:
        pylibfst.lib.fstReaderClose(reader)


def test_fst_has_the_same_words(recorded, tmp_path):
    record(tmp_path / "w.fst")
    name, found = "CAB1.tx_command", []
    with fst(tmp_path / "w.fst") as (reader, signals):
        handle = signals[name]

        def text(data, time, changed, value, length):
            if changed == handle:
                found.append((time, bytes(pylibfst.ffi.buffer(value, length)).decode()))

        pylibfst.lib.fstReaderSetFacProcessMaskAll(reader)
        pylibfst.fstReaderIterBlocks2(reader, lambda *change: None, text)
    assert found == vcd.strings(recorded, name)


@pytest.mark.skipif(not all(map(shutil.which, ("gtkwave", "Xvfb"))), reason="GTKWave and Xvfb are not both there")
def test_gtkwave_finds_every_row(tmp_path):
    record(tmp_path / "w.fst")
    with subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "800x600x24"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as screen:
        try:
            display = f":{screen.stdout.readline().strip()}"
            done = subprocess.run(
                ["gtkwave", "--exit", "w.fst", "w.gtkw"],
                cwd=tmp_path,
                env={"DISPLAY": display, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
                capture_output=True,
                text=True,
                timeout=300,
            )
        finally:
            screen.terminate()
    with fst(tmp_path / "w.fst") as (_, signals):  # of signals that are one and the same GTKWave reads one
        asked = len({signals[signal] for _, signal, _ in rows(save_file(tmp_path / "w.fst"))})
    assert f"Extracting {asked} traces" in done.stdout + done.stderr, done.stdout + done.stderr

"""Waveform files: which boards, which time, which format, and never a part of a file."""

import os
import subprocess
import sys

import pylibfst
import pytest

from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.verification.sim.traffic import Station, run
from nectar.verification.sim.vcd import read, scopes


def record(path, **options):
    """Two CABs, one packet; returns the simulated time."""
    machine = EngineMachine(load("hub:2"), waves=path, **options)
    Station(machine, "CAB1", [(1, 1)], [bytes(range(40))])
    Station(machine, "CAB2", [(1, 0)])
    assert run(machine) == "quiet"
    time = machine.time_ps
    machine.close()
    return time


def test_all_boards_are_in_one_file_under_their_names(tmp_path):
    end = record(tmp_path / "all.vcd")
    assert scopes(tmp_path / "all.vcd") == {"HUB1", "CAB1", "CAB2"}
    clocks = read(tmp_path / "all.vcd", ["HUB1.hub16.board.clk", "CAB1.cab.board.clk"])
    for signal, period in zip(clocks.values(), (70_000, 62_500)):
        assert signal.rises() == list(range(0, end + 1, period))
        falls = [time for time, value in zip(signal.times, signal.values) if not value]
        assert (
            falls == [time + period // 2 for time in signal.rises()][: len(falls)]
            and len(falls) >= len(signal.rises()) - 1
        )


def test_some_boards_and_some_time(tmp_path):
    record(tmp_path / "some.vcd", wave_boards=["CAB2"], wave_window=(2_000_000, 4_000_000))
    assert scopes(tmp_path / "some.vcd") == {"CAB2"}
    (clk,) = read(tmp_path / "some.vcd", ["CAB2.cab.board.clk"]).values()
    assert clk.rises() == list(range(2_000_000, 4_000_000, 62_500))
    assert max(clk.times) < 4_000_000


def test_a_window_that_never_comes_gives_a_file_without_changes(tmp_path):
    end = record(tmp_path / "none.vcd", wave_window=(10**12, 2 * 10**12))
    (clk,) = read(tmp_path / "none.vcd", ["CAB1.cab.board.clk"]).values()
    assert end < 10**12 and not clk.times


def fst_changes(path, names):
    """{name: [(time, value)]} as an FST reader of others finds them."""
    reader = pylibfst.lib.fstReaderOpen(str(path).encode())
    assert reader != pylibfst.ffi.NULL
    try:
        assert pylibfst.lib.fstReaderGetTimescale(reader) == -12
        _, signals = pylibfst.get_scopes_signals2(reader)
        handles = {signals.by_name[name].handle: name for name in names}
        changes = {name: [] for name in names}

        def change(data, time, handle, value):
            if handle in handles:
                changes[handles[handle]].append((time, int(pylibfst.string(value), 2)))

        pylibfst.lib.fstReaderSetFacProcessMaskAll(reader)
        pylibfst.fstReaderIterBlocks(reader, change)
        return changes
    finally:
        pylibfst.lib.fstReaderClose(reader)


def test_fst_says_what_vcd_says(tmp_path):
    record(tmp_path / "a.vcd")
    record(tmp_path / "a.fst")
    names = {
        "CAB1.cab.board.clk": "CAB1.cab.board.clk",
        "CAB1.cab.board.bus__address": "CAB1.cab.board.bus__address [23:0]",
        "HUB1.hub16.board.port_1__tx__payload": "HUB1.hub16.board.port_1__tx__payload [8:0]",
        "CAB2.cab.board.irq": "CAB2.cab.board.irq",
    }
    vcd = read(tmp_path / "a.vcd", names)
    fst = fst_changes(tmp_path / "a.fst", names.values())
    for name, other in names.items():
        assert [item for item in zip(vcd[name].times, vcd[name].values)] == fst[other]
        assert len(fst[other]) > 4
    assert os.path.getsize(tmp_path / "a.fst") < os.path.getsize(tmp_path / "a.vcd") / 4


@pytest.mark.parametrize("format", ["vcd", "fst"])
def test_recording_ends_at_the_limit_and_what_was_recorded_is_whole(tmp_path, format):
    """Half of all changes: the same up to the time that is told, nothing behind it; the simulation goes on."""
    end = record(tmp_path / "all.vcd")
    text = (tmp_path / "all.vcd").read_text()
    limit = (text.index("$enddefinitions") + len(text)) // 2
    machine = EngineMachine(load("hub:2"), waves=tmp_path / f"half.{format}", wave_limit=limit)
    Station(machine, "CAB1", [(1, 1)], [bytes(range(40))])
    Station(machine, "CAB2", [(1, 0)])
    assert machine.engine.waves_full_ps is None and run(machine) == "quiet"
    assert machine.time_ps == end and machine.engine.cycles("CAB2")[1] > 0, (
        "boards sleep again when they are not recorded any more"
    )
    full = machine.engine.waves_full_ps
    machine.close()
    assert 0 < full < end and machine.engine.waves_full_ps == full
    (whole,) = read(tmp_path / "all.vcd", ["CAB1.cab.board.clk"]).values()
    expected = [change for change in zip(whole.times, whole.values) if change[0] < full]
    if format == "fst":
        found = fst_changes(tmp_path / "half.fst", ["CAB1.cab.board.clk"])["CAB1.cab.board.clk"]
    else:
        (half,) = read(tmp_path / "half.vcd", ["CAB1.cab.board.clk"]).values()
        found = list(zip(half.times, half.values))
        assert limit <= os.path.getsize(tmp_path / "half.vcd") < len(text)
    assert found == expected


@pytest.mark.parametrize("format, written", [("vcd", None), ("fst", pytest.approx(1, abs=0.1))])
def test_what_becomes_fst_tells_how_much_of_it_is_written(tmp_path, format, written):
    machine = EngineMachine(load("hub:1"), waves=tmp_path / f"w.{format}", wave_boards=["CAB1"])
    run(machine, 2_000_000)
    assert machine.waves_written is None
    machine.close()
    assert machine.waves_written == written


def test_the_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "late.vcd"
    path.write_text("what was there before")
    machine = EngineMachine(load("hub:1"), waves=path)
    run(machine, 1_000_000)
    assert path.read_text() == "what was there before"
    machine.close()
    assert path.read_text().startswith("$version")
    assert [entry.name for entry in tmp_path.iterdir()] == ["late.vcd"]


def test_a_disk_that_is_full_is_told_at_the_end(tmp_path):
    """What was there before stays; nothing is left behind."""
    path = tmp_path / "large.vcd"
    path.write_text("what was there before")
    code = f"""
import resource
from nectar.verification.sim.test_waves import record
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    record({str(path)!r})
except OSError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout and "large.vcd" in done.stdout
    assert path.read_text() == "what was there before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["large.vcd"]


def test_a_name_that_says_no_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"x\.ghw: the name of a waveform file ends in \.vcd or \.fst"):
        EngineMachine(load("hub:1"), waves=tmp_path / "x.ghw")


def test_a_board_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no board 'CAB9' to record; there are HUB1, CAB1"):
        EngineMachine(load("hub:1"), waves=tmp_path / "x.vcd", wave_boards=["CAB9"])
    with pytest.raises(ValueError, match="no board at all"):
        EngineMachine(load("hub:1"), waves=tmp_path / "x.vcd", wave_boards=[])
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OSError, match="no_such"):
        EngineMachine(load("hub:1"), waves=tmp_path / "no_such" / "x.vcd")


@pytest.mark.parametrize("window", [(5, 5), (7, 3), (-1, 3)])
def test_a_window_without_time_is_refused(tmp_path, window):
    with pytest.raises(ValueError, match="window"):
        EngineMachine(load("hub:1"), waves=tmp_path / "x.vcd", wave_window=window)
    assert not list(tmp_path.iterdir())

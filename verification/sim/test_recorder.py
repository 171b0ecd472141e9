"""The file of events: what is written is read, in order, up to where the file ends; nothing grows beyond its bounds."""

import struct

import pytest

from nectar.hdl.host.events import EVENT, GROUP_OF, LEVELS, EventGroup, EventKind
from nectar.sim.events import DECODERS, Packet
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import RECORD, Recorder, RecordingError
from nectar.sim.recording import Recording
from nectar.sim.topology import load
from nectar.verification import seeds

PLACES = ["HUB1", "CAB1", "CAB2"]


def recorder(path=None, **options):
    """A Recorder that has begun."""
    made = Recorder(path, **options)
    made.begin(load("hub:2"), PROTOTYPE, skew_ps=1000)
    return made


def fill(made, count, rng):
    """Notes ``count`` packets; returns their times and bytes. Each is at most 1 ns before another that is there."""
    told, latest = [], 0
    for _ in range(count):
        latest += rng.randrange(2000)
        time, data = max(0, latest - rng.randrange(1001)), rng.randbytes(rng.randrange(40))
        made.add(time, EventKind.PACKET, 0, rng.randrange(4), 0, 0, len(data), data)
        told.append((time, data))
    return told


def read(recording):
    with recording:
        return [(event.time_ps, event.data) for event in recording.events()]


def test_a_record_is_a_multiple_of_what_it_is_filled_up_to_and_has_no_gaps():
    assert RECORD.size == 32 == struct.calcsize("@" + "".join(EVENT.values()))


def test_every_kind_has_a_class_and_a_group():
    kinds = set(EventKind) - {EventKind.NAME, EventKind.END}
    assert DECODERS.keys() == GROUP_OF.keys() == kinds
    for kind, decode in DECODERS.items():
        assert decode("X", 5, 0, 0, 0, 0, b"").kind is kind
    assert LEVELS["all"] == ~EventGroup.SYMBOLS & EventGroup(127) and LEVELS["messages"] in LEVELS["packets"]


def test_what_was_written_is_read_by_time(tmp_path):
    for path in (None, tmp_path / "events"):
        made = recorder(path)
        told = fill(made, 3000, seeds.rng("recorder"))
        assert read(made.recording()) == sorted(told, key=lambda item: item[0])
        made.end(7)
        with made.recording() as recording:
            assert (recording.complete, recording.end_ps, recording.dropped) == (True, 7, 0)
            assert recording.places == [*PLACES, None, None, None] and recording.topology == "hub:2"
            assert [fiber.sender for fiber in recording.fibers] == ["CAB1", "HUB1.P0", "CAB2", "HUB1.P1"]
        made.close()


def test_events_are_chosen_by_time_kind_and_board():
    made = recorder()
    told = fill(made, 500, seeds.rng("chosen"))
    times = sorted(time for time, _ in told)
    begin, end = times[100], times[300]
    with made.recording() as recording:
        chosen = list(recording.events([EventKind.PACKET], ["CAB2"], begin, end))
        assert chosen == [
            event for event in recording.events() if begin <= event.time_ps < end and event.fiber.number in (2, 3)
        ]
        assert chosen and all(isinstance(event, Packet) for event in chosen)
        assert not list(recording.events([EventKind.READY])) and not list(recording.events(boards=[]))
    made.close()
    with pytest.raises(RecordingError, match="memory that is closed"):
        made.recording()


def test_a_file_that_ends_anywhere_is_readable_up_to_there(tmp_path):
    made = recorder(tmp_path / "events")
    fill(made, 30, seeds.rng("cut"))
    whole = read(made.recording())
    made.end(1)
    made.close()
    data = (tmp_path / "events").read_bytes()
    lengths = set()
    for end in range(600, len(data), 5):
        (tmp_path / "part").write_bytes(data[:end])
        with Recording(tmp_path / "part") as recording:
            assert not recording.complete
            part = [(event.time_ps, event.data) for event in recording.events()]
        assert set(part) <= set(whole) and [item for item in whole if item in part] == part
        lengths.add(len(part))
    assert len(lengths) > 20


@pytest.mark.parametrize("limit", [700, 5000])
def test_a_recorder_counts_what_its_limit_keeps_out(tmp_path, limit):
    made = recorder(tmp_path / "events", limit=limit)
    told = fill(made, 200, seeds.rng("limit"))
    made.end(5)
    made.close()
    assert (tmp_path / "events").stat().st_size <= limit
    kept = read(Recording(tmp_path / "events"))
    assert set(kept) == set(told[: len(kept)]) and made.full_ps == told[len(kept)][0]
    with Recording(tmp_path / "events") as recording:
        assert made.dropped == recording.dropped == 200 - len(kept) > 0


def test_a_recording_in_memory_is_bounded():
    made = recorder(limit=2000)
    fill(made, 1000, seeds.rng("memory"))
    assert made.dropped > 900
    assert (1000 - made.dropped) * RECORD.size < 2000
    made.close()


def test_names_are_numbers_and_come_before_what_uses_them():
    made = recorder()
    for name in ("one", "two", "one"):
        made.add(10, EventKind.THREAD, 0, 1, made.name(name), 12)
    with made.recording() as recording:
        assert [(event.name, event.board, event.cycles) for event in recording.events()] == [
            ("one", "CAB1", 12),
            ("two", "CAB1", 12),
            ("one", "CAB1", 12),
        ]
    made.close()

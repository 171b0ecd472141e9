"""Tracks and messages of recordings, against the events themselves."""

from collections import Counter

import pytest

from nectar.hdl.host.events import EventKind, Layer
from nectar.verification.views.recordings import cycles, traffic
from nectar.views.spans import Spans, layer_name
from nectar.views.summary import summary
from nectar.views.track import Style


@pytest.fixture(scope="module", params=["fast", "rtl"])
def recorded(request):
    with traffic(boards=request.param) as recording:
        yield recording, Spans(recording)


def test_every_packet_and_every_command_is_a_slice_of_its_fiber(recorded):
    recording, spans = recorded
    packets, controls = Counter(), Counter()
    for event in recording.events([EventKind.PACKET, EventKind.COMMAND, EventKind.REPLY]):
        (packets if event.kind is EventKind.PACKET else controls)[event.fiber.sender, event.fiber.receiver] += 1
    for fiber in recording.fibers:
        assert len(spans.fibers[fiber.number].begins) == packets[fiber.sender, fiber.receiver]
    assert spans.packets == packets.total() and spans.commands + spans.replies == controls.total()
    slices = sum(len(track.begins) for track in spans.tracks if track.name.endswith("commands and replies"))
    assert slices == controls.total() > 0


def test_slices_of_a_track_do_not_overlap(recorded):
    _, spans = recorded
    for track in spans.tracks:
        edges = [time for pair in zip(track.begins, track.ends) for time in pair]
        assert edges == sorted(edges) and (not edges or edges[-1] <= spans.end_ps)


def test_a_cpu_is_busy_from_each_thread_to_the_next_or_to_idle(recorded):
    recording, spans = recorded
    for track in spans.tracks:
        if track.name == "CPU":
            expected, since = 0, None
            for event in recording.events([EventKind.THREAD, EventKind.IDLE], [track.board]):
                if since is not None:
                    expected += event.time_ps - since
                since = event.time_ps if event.kind is EventKind.THREAD else None
            if since is not None:
                expected += spans.end_ps - since
            assert track.busy_ps == expected > 0


def test_every_message_is_followed_over_all_fibers_of_its_way(recorded):
    """Three HUBs: each packet is on four fibers from CAB1, on three from CAB2. A message of 3000 bytes has three
    packets."""
    _, spans = recorded
    assert len(spans.messages) == 2 * 3 * 3  # two clients, three sizes: request, answer, datagram
    for message in spans.messages:
        hops = 4 if "CAB1" in (message.board, message.destination) else 3
        packets = max(1, -(-message.length // 1004))
        assert len(message.path) == hops * packets * (1 + message.repeated > 0) or message.repeated
        if not message.repeated:
            boards = {track.board for track, _ in message.path}
            assert len(boards) == hops and message.board in boards
        for track, number in message.path:
            assert spans.messages[track.messages[number]] is message


def test_the_stages_of_a_message_sum_to_its_time(recorded):
    _, spans = recorded
    found = 0
    for message in spans.messages:
        stages = message.stages()
        assert message.done_ps is not None
        if stages:
            found += 1
            assert sum(stages.values()) == message.done_ps - message.sent_ps
            assert all(time >= 0 for time in stages.values())
            hops = 4 if "CAB1" in (message.board, message.destination) else 3
            assert stages["fibers"] == hops * (80_000 + 100_000)
    assert found >= len(spans.messages) * 0.8


def test_waits_are_told_by_the_output_of_a_hub(recorded):
    """What messages have spent in HUBs is what they waited there, output by output."""
    _, spans = recorded
    assert sum(total for total, _, _ in spans.waits.values()) == sum(each.hubs_ps for each in spans.messages) > 0
    assert all(350_000 <= longest <= min(total, each.hubs_ps) for total, longest, each in spans.waits.values())
    output = max(spans.waits, key=lambda name: spans.waits[name])
    assert f"; messages waited longest for {output}: " in summary(spans)[1] and output.startswith("HUB")


def test_what_went_wrong_is_marked():
    with traffic(sizes=(1000, 1000, 1000, 1000), faults=["CAB1-HUB1.P0:errors=5e-4"], boards="rtl") as recording:
        spans = Spans(recording)
        bad = [event for event in recording.events([EventKind.PACKET]) if event.mark != 1]
        struck = list(recording.events([EventKind.FAULT]))
    assert bad and spans.damaged == len(bad) and len(spans.faults) == len(struck)
    styles = Counter(style for track in spans.tracks for style in track.styles)
    assert styles[Style.DAMAGED] == len(bad) and styles[Style.PACKET] == spans.packets - len(bad)


def test_the_cycles_of_a_bus_are_a_row_of_the_node():
    with cycles() as recorder, recorder.recording() as recording:
        spans = Spans(recording)
    rows = [(track.board, track.name) for track in spans.tracks if not track.name.startswith("to ")]
    assert rows[:2] == [("CAB1.node", "CPU"), ("CAB1.node", "VME")]
    (track,) = [track for track in spans.tracks if track.name == "VME"]
    assert [spans.labels[label] for label in track.labels] == [
        "store D16 at 0x100002",
        "block, load D32 at 0x100100",
        "block, load D32 at 0x100104",
        "acknowledge level 3",
        "load D8 at 0x200001, bus error",
    ]
    assert list(zip(track.begins, track.ends)) == [(n * 1_000_000, n * 1_000_000 + 900_000) for n in range(5)]
    assert list(track.styles) == [Style.CYCLE] * 4 + [Style.BUS_ERROR]


def test_every_layer_has_a_name():
    assert all(not layer_name(layer).startswith("layer") for layer in Layer)

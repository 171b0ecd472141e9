"""Timelines for Perfetto and for Chrome, read back: nesting, times, and the way of each message."""

import io
import json
from collections import Counter, defaultdict

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from nectar.verification.views.recordings import traffic
from nectar.views.spans import Spans
from nectar.views.trace import chrome, perfetto


@pytest.fixture(scope="module")
def spans():
    with traffic() as recording:
        return Spans(recording)


@pytest.fixture(scope="module")
def packets(spans):
    file = io.BytesIO()
    perfetto(file, spans)
    trace = Trace()
    trace.ParseFromString(file.getvalue())
    return list(trace.packet)


@pytest.fixture(scope="module")
def events(spans):
    file = io.StringIO()
    chrome(file, spans)
    return json.loads(file.getvalue())["traceEvents"]


def test_perfetto_has_every_track_under_its_board(spans, packets):
    described = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in packets
        if packet.HasField("track_descriptor")
    }
    named = {
        (described[track.parent_uuid].process.process_name, track.name)
        for track in described.values()
        if track.parent_uuid
    }
    assert named == {(track.board, track.name) for track in spans.tracks}


def test_perfetto_has_every_slice_and_none_overlap(spans, packets):
    tracks = defaultdict(list)
    for packet in packets:
        if packet.HasField("track_event") and packet.track_event.type != TrackEvent.TYPE_INSTANT:
            tracks[packet.track_event.track_uuid].append(packet)
    assert sum(map(len, tracks.values())) == 2 * sum(len(track.begins) for track in spans.tracks)
    for events in tracks.values():
        kinds = [packet.track_event.type for packet in events]
        assert kinds == [TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END] * (len(events) // 2)
        times = [packet.timestamp for packet in events]
        assert times == sorted(times)


def test_a_flow_of_perfetto_is_the_way_of_a_message(spans, packets):
    flows, ends = Counter(), Counter()
    for packet in packets:
        flows.update(packet.track_event.flow_ids)
        ends.update(packet.track_event.terminating_flow_ids)
    for place, message in enumerate(spans.messages):
        assert flows[1 + place] == 1 + len(message.path)
        assert ends[1 + place] == 1
    assert len(flows) == len(ends) == len(spans.messages)


def test_chrome_has_every_slice_with_its_times(spans, events):
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    assert sum(map(len, tracks.values())) == sum(len(track.begins) for track in spans.tracks)
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    for place, track in enumerate(spans.tracks):
        found = next((made for (pid, tid), made in tracks.items() if tid == 1 + place), [])
        assert [event["ts"] for event in found] == [pytest.approx(time / 1e6) for time in track.begins]
        assert [event["name"] for event in found] == [spans.labels[label] for label in track.labels]
    assert set(names.values()) == {track.name for track in spans.tracks}


def test_a_flow_of_chrome_goes_from_send_to_receive(spans, events):
    ways = defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            ways[event["id"]].append(event)
    assert len(ways) == len(spans.messages)
    for number, way in ways.items():
        message = spans.messages[number - 1]
        assert [event["ph"] for event in way] == ["s", *["t"] * len(message.path), "f"]
        assert way[0]["ts"] == pytest.approx(message.sent_ps / 1e6)
        assert way[-1]["ts"] == pytest.approx(message.done_ps / 1e6)
        times = [event["ts"] for event in way]
        assert times == sorted(times)

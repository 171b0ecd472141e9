"""Circuits in reports: tracks, ways, waits and stages of what routers have recorded."""

import pytest

from nectar.hdl.host.events import LEVELS, EventKind, Layer, ReceivedMark
from nectar.hdl.ipsc2.formats import CHANNELS, DIMENSIONS
from nectar.sim.machines import machine
from nectar.sim.recorder import Recorder
from nectar.software.ipsc2.layout import Header, Kind
from nectar.software.packet import note_header
from nectar.verification.views.test_report import data_of
from nectar.views.message import CIRCUIT_STAGES
from nectar.views.report import page
from nectar.views.spans import Spans
from nectar.views.summary import summary

CUBE = machine("ipsc2")
SOURCE = SINK = CHANNELS
ASKED, CONNECTED, DISCONNECTED = EventKind.ASKED, EventKind.CONNECTED, EventKind.DISCONNECTED


class _Log:
    """Writes events of a square of nodes; times in microseconds."""

    def __init__(self):
        self.recorder = Recorder(groups=LEVELS["all"])
        self.recorder.begin(CUBE.topology("hypercube:2"), CUBE.profile, skew_ps=0)
        self.time = self.node = 0

    def at(self, time, node):
        self.time, self.node = time * 10**6, node
        return self

    def add(self, kind, detail=0, a=0, b=0, c=0):
        self.recorder.add(self.time, kind, detail, self.node, a, b, c)
        return self

    def note(self, kind, detail=0, a=0, b=0, c=0):
        """As of a door."""
        return self.add(kind, detail, a, b, c)

    def sends(self, message, to, length, kind=Kind.SHORT):
        """A message is sent, numbered 1 and queued."""
        self.add(EventKind.SEND, Layer.NECTARINE, message, length, to)
        return self.queues(message, to, length, kind, 5)

    def queues(self, message, to, length, kind, later, number=1):
        self.time += later * 10**6
        self.add(EventKind.NUMBERED, Layer[f"NX2_{kind.name}"], message, number, to)
        header = Header(kind, 0, self.node, self.node ^ to, 1, 1, 0, length, 0)
        note_header(self, EventKind.QUEUED, header.pack()[:16])
        return self

    def circuit(self, kind, output, arrived, probe=0, level=1):
        return self.add(kind, level if kind is ASKED else 0, output, probe if kind is ASKED else 0, arrived)

    def ready(self, output, level=1):
        return self.add(EventKind.READY_BIT, level, output)

    def spans(self, end):
        self.recorder.end(end * 10**6)
        with self.recorder, self.recorder.recording() as recording:
            return Spans(recording), page(Spans(recording), title="circuits")


def slices(spans, board, name):
    """(begin, end, label, message) of each slice of a track, times in microseconds; [] if there is no such track."""
    for track in spans.tracks:
        if (track.board, track.name) == (board, name):
            labels = (spans.labels[label] for label in track.labels)
            times = ((begin // 10**6, end // 10**6) for begin, end in zip(track.begins, track.ends))
            return [(*time, *rest) for time, *rest in zip(times, labels, track.messages)]
    return []


def test_a_circuit_is_followed_from_router_to_router_and_its_time_is_split():
    log = _Log()
    log.at(10, 0).sends(1, 3, 60)
    log.at(16, 0).circuit(ASKED, 0, SOURCE, 3)
    log.at(17, 0).circuit(CONNECTED, 0, SOURCE)
    log.at(18, 1).circuit(ASKED, 1, 0, 3).at(19, 1).circuit(CONNECTED, 1, 0)
    log.at(20, 3).circuit(ASKED, SINK, 1, 3).at(21, 3).circuit(CONNECTED, SINK, 1)
    log.at(22, 3).ready(SINK).at(23, 1).ready(1).at(24, 0).ready(0)
    log.at(40, 0).circuit(DISCONNECTED, 0, SOURCE).ready(0, 0)
    log.at(41, 1).circuit(DISCONNECTED, 1, 0).at(42, 3).circuit(DISCONNECTED, SINK, 1)
    log.at(50, 3).add(EventKind.DELIVERED, Layer.NX2_SHORT, 1, 60, 0)
    spans, text = log.spans(100)
    label = "NX/2 SHORT NODE0 to NODE3, message of 60 bytes"
    assert slices(spans, "NODE0", "C0 to NODE1.C0") == [(17, 40, label, 0)]
    assert slices(spans, "NODE1", "C1 to NODE3.C1") == [(19, 41, label, 0)]
    assert slices(spans, "NODE3", "sink, circuit") == [(21, 42, label, 0)]
    assert slices(spans, "NODE0", "C0, destination not ready") == [(17, 24, f"{label}: destination not ready", 0)]
    assert [track.name for track, _ in spans.messages[0].path] == ["C0 to NODE1.C0", "C1 to NODE3.C1", "sink, circuit"]
    # sent 10, queued 15, asked 16, ready 24, released at the sink 42, delivered 50
    stages = dict(zip(CIRCUIT_STAGES, (5, 1, 8, 18, 0, 8)))
    assert spans.messages[0].stages() == {name: time * 10**6 for name, time in stages.items()}
    data = data_of(text)
    assert data["stages"] == list(CIRCUIT_STAGES) and data["words"]["carried"] == "circuits"
    loads = {(link["from"], link["to"]): link["load"] for link in data["fibers"]}
    assert loads.pop(("NODE0.C0", "NODE1.C0")) == 0.23 and loads.pop(("NODE1.C1", "NODE3.C1")) == 0.22
    assert set(loads.values()) == {0}
    assert data["drawing"].count('class="fiber"') == 4
    assert "1 circuits; the fullest link is NODE0.C0 to NODE1.C0, held for 23 % of the time" in summary(spans)[1]


def test_trips_of_a_long_message_are_stages_of_it():
    log = _Log()
    log.at(0, 0).sends(1, 1, 500, Kind.PROXY)
    for asked, released in ((6, 12), (31, 60)):
        if asked == 31:
            log.at(25, 0).queues(1, 1, 500, Kind.DATA, 5, number=2)
        log.at(asked, 0).circuit(ASKED, 0, SOURCE, 1).at(asked + 1, 0).circuit(CONNECTED, 0, SOURCE)
        log.at(asked + 2, 1).circuit(ASKED, SINK, 0, 1).circuit(CONNECTED, SINK, 0).at(asked + 3, 0).ready(0)
        log.at(released - 1, 0).circuit(DISCONNECTED, 0, SOURCE).at(released, 1).circuit(DISCONNECTED, SINK, 0)
    log.at(70, 1).add(EventKind.DELIVERED, Layer.NX2_DATA, 2, 500, 0)
    spans, _ = log.spans(100)
    # software 0 to 5; DMA 1 and 1; circuits 3 and 3; words 3 and 26; from 12 to 30; software from 60 on
    stages = dict(zip(CIRCUIT_STAGES, (5, 2, 6, 29, 18, 10)))
    assert spans.messages[0].stages() == {name: time * 10**6 for name, time in stages.items()}
    assert spans.circuits == 2


def test_who_waits_for_a_channel_that_others_have_is_shown_and_who_does_not_is_not():
    log = _Log()
    log.at(1, 1).circuit(ASKED, 1, SOURCE, 2).at(2, 1).circuit(CONNECTED, 1, SOURCE)
    log.at(3, 0).sends(1, 3, 8).at(9, 0).circuit(ASKED, 0, SOURCE, 3).at(10, 0).circuit(CONNECTED, 0, SOURCE)
    log.at(11, 1).circuit(ASKED, 1, 0, 3)
    log.at(20, 1).circuit(DISCONNECTED, 1, SOURCE).at(21, 1).circuit(CONNECTED, 1, 0)
    log.at(22, 1).circuit(ASKED, 1, SOURCE, 2).at(25, 1).circuit(ASKED, 1, SOURCE, 2, 0)
    spans, _ = log.spans(30)
    label = "NX/2 SHORT NODE0 to NODE3, message of 8 bytes"
    assert slices(spans, "NODE1", "C0, waits for a channel") == [(11, 21, f"{label}: waits for C1, granted", 0)]
    assert slices(spans, "NODE1", "source, waits for a channel") == [
        (22, 25, "NODE1 to NODE3: waits for C1, taken back", -1)
    ]
    # What stands at the end stands to the end.
    assert slices(spans, "NODE1", "C1 to NODE3.C1") == [(2, 20, "NODE1 to NODE3", -1), (21, 30, label, 0)]
    assert spans.messages[0].stages() == {}
    assert "messages waited longest for NODE1.C1: 10 us in all, 10 us at most (Nectarine NODE0 to" in summary(spans)[1]


def test_what_was_seen_in_part_only_is_shown_as_far_as_it_is_known():
    log = _Log()
    log.at(1, 2).circuit(CONNECTED, 0, SOURCE).at(5, 2).circuit(DISCONNECTED, 0, SOURCE)
    log.at(6, 3).circuit(DISCONNECTED, SINK, 0).ready(SINK, 0)
    log.at(7, 3).circuit(ASKED, SINK, 0, 1).at(8, 3).circuit(CONNECTED, SINK, 0)
    log.at(9, 3).add(EventKind.RECEIVED, ReceivedMark.BAD | ReceivedMark.CUT, 4)
    spans, _ = log.spans(10)
    assert slices(spans, "NODE2", "C0 to NODE3.C0") == [(1, 5, "from source", -1)]
    assert slices(spans, "NODE3", "sink, circuit") == [(8, 10, "NODE2 to NODE3", -1)]
    assert "1 message that has arrived damaged" in summary(spans)[-1]


def test_without_circuits_it_is_said():
    spans, text = _Log().spans(10)
    assert "no circuit was asked for" in summary(spans) and data_of(text)["end"] == 10 * 10**6


@pytest.mark.parametrize("dimensions", range(DIMENSIONS[0], DIMENSIONS[1] + 1))
def test_a_cube_of_any_size_is_drawn_with_each_node_at_a_place_of_its_own(dimensions):
    cube = CUBE.topology(f"hypercube:{dimensions}")
    with Recorder(groups=LEVELS["all"]) as recorder:
        recorder.begin(cube, CUBE.profile, skew_ps=0)
        recorder.end(0)
        drawing = CUBE.recorded.drawing(recorder.recording())
    assert drawing.count('class="fiber"') == len(cube.fibers) and drawing.count("<rect") == 2**dimensions
    places = [line.partition("<rect")[2].partition("width")[0] for line in drawing.splitlines() if "<rect" in line]
    assert len(set(places)) == 2**dimensions

"""Timelines for other programs: Perfetto's format and Chrome's (docs/recording.md, "Traces")."""

import json

from .layers import layer_name

__all__ = ["chrome", "perfetto"]

#: Numbers of tracks in a Perfetto file: of boards from here on, of their tracks from there on.
_BOARDS, _TRACKS = 1, 1 << 20
_SEQUENCE = 1


def _marks(spans):
    """(track, time in ps, name, message's place, whether it is the last of its way) of the points at which messages
    are sent and received, on the CPU that does it."""
    cpus = {track.board: track for track in spans.tracks if track.name == "CPU"}
    for place, message in enumerate(spans.messages):
        name = f"{layer_name(message.layer)} {message.number}, {message.length} bytes"
        if message.board in cpus:
            yield cpus[message.board], message.sent_ps, f"send {name} to {message.destination}", place, False
        if message.done_ps is not None and message.destination in cpus:
            yield cpus[message.destination], message.done_ps, f"receive {name} from {message.board}", place, True


def _boards(spans):
    """Boards in the order of their tracks."""
    return list(dict.fromkeys(track.board for track in spans.tracks))


def perfetto(file, spans):
    """Writes a trace for Perfetto into a binary ``file``. Times are nanoseconds. Needs the package ``perfetto``.

    A board is a process, each of its tracks a track of it. A message is a flow from the point where it is sent over its
    packets' slices to the point where it is received.
    """
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent
    from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

    builder = StreamingTraceProtoBuilder(file)
    boards, numbers = _boards(spans), {}
    for place, board in enumerate(boards):
        packet = builder.create_packet()
        packet.track_descriptor.uuid = _BOARDS + place
        packet.track_descriptor.process.pid = 1 + place
        packet.track_descriptor.process.process_name = board
        builder.write_packet(packet)
    for place, track in enumerate(spans.tracks):
        packet = builder.create_packet()
        packet.track_descriptor.uuid = numbers[id(track)] = _TRACKS + place
        packet.track_descriptor.parent_uuid = _BOARDS + boards.index(track.board)
        packet.track_descriptor.name = track.name
        packet.track_descriptor.sibling_order_rank = place
        builder.write_packet(packet)

    def event(kind, track, time_ps, name=None):
        packet = builder.create_packet()
        packet.timestamp = time_ps // 1000
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.type = kind
        packet.track_event.track_uuid = numbers[id(track)]
        if name is not None:
            packet.track_event.name = name
        return packet

    for track in spans.tracks:
        slices = zip(track.begins, track.ends, track.labels, track.messages)
        for begin_ps, end_ps, label, message in slices:
            packet = event(TrackEvent.TYPE_SLICE_BEGIN, track, begin_ps, spans.labels[label])
            if message >= 0:
                packet.track_event.flow_ids.append(1 + message)
            builder.write_packet(packet)
            builder.write_packet(event(TrackEvent.TYPE_SLICE_END, track, end_ps))
    for track, time_ps, name, message, last in _marks(spans):
        packet = event(TrackEvent.TYPE_INSTANT, track, time_ps, name)
        (packet.track_event.terminating_flow_ids if last else packet.track_event.flow_ids).append(1 + message)
        builder.write_packet(packet)


def chrome(file, spans):
    """Writes a trace in Chrome's JSON format into a text ``file``. Times are microseconds with fractions."""
    boards = _boards(spans)
    places = {id(track): (1 + boards.index(track.board), 1 + place) for place, track in enumerate(spans.tracks)}
    first = True

    def write(**event):
        nonlocal first
        file.write(("[\n" if first else ",\n") + json.dumps(event, separators=(",", ":")))
        first = False

    file.write('{"displayTimeUnit":"ns","traceEvents":')
    for place, board in enumerate(boards):
        write(ph="M", name="process_name", pid=1 + place, args={"name": board})
        write(ph="M", name="process_sort_index", pid=1 + place, args={"sort_index": place})
    for track in spans.tracks:
        pid, tid = places[id(track)]
        write(ph="M", name="thread_name", pid=pid, tid=tid, args={"name": track.name})
        write(ph="M", name="thread_sort_index", pid=pid, tid=tid, args={"sort_index": tid})
        for begin_ps, end_ps, label, style in zip(track.begins, track.ends, track.labels, track.styles):
            write(
                ph="X",
                name=spans.labels[label],
                cat=spans.styles[style],
                pid=pid,
                tid=tid,
                ts=begin_ps / 1e6,
                dur=(end_ps - begin_ps) / 1e6,
            )
    for message, points in _ways(spans).items():
        for number, (track, time_ps, name) in enumerate(points):
            pid, tid = places[id(track)]
            at = {"pid": pid, "tid": tid, "ts": time_ps / 1e6}
            if name is not None:
                write(ph="i", s="t", name=name, cat="message", **at)
            step = "s" if number == 0 else "f" if number == len(points) - 1 else "t"
            write(ph=step, id=1 + message, name="message", cat="message", **({"bp": "e"} if step == "f" else {}), **at)
    file.write("\n]}\n" if not first else "[]}\n")


def _ways(spans):
    """Message's place → (track, time in ps, name or None) of each point of its way, by time."""
    ways = {}
    for track, time_ps, name, message, _ in _marks(spans):
        ways.setdefault(message, []).append((track, time_ps, name))
    for track in spans.tracks:
        for begin_ps, message in zip(track.begins, track.messages):
            if message >= 0:
                ways.setdefault(message, []).append((track, begin_ps, None))
    return {message: sorted(points, key=lambda point: point[1]) for message, points in ways.items() if len(points) > 1}

"""Events of a recording as tracks of slices, and messages with the way that they took.

A track is one thing that does one thing at a time: a CPU, its interrupt level, one direction of a fiber. A slice is
what it did from one time to another. A message is followed by the number that its packets carry.
"""

from collections import Counter

from ..hdl.host.events import QUEUE_STEP, Channel, EventKind, FaultMark, Layer, PacketMark, VmeMark
from ..hdl.hub.commands import BY_OPCODE, HELLO, HELLO_ASK, REPLY
from ..software.packet import ANY_CAB, ChannelKind, PacketKind, Protocol
from .circuits import Circuits
from .layers import layer_name
from .message import CIRCUIT_STAGES, STAGES, Message
from .track import Style, Track

__all__ = ["Spans"]

#: Bytes of a header in which a packet has the number of its message, by protocol; of a stream that of its connection.
_NUMBER = {
    Protocol.DATAGRAM: slice(6, 8),
    Protocol.STREAM: slice(4, 6),
    Protocol.REQUEST: slice(6, 8),
    Protocol.MULTICAST: slice(6, 8),
    Protocol.CHANNEL: slice(4, 6),
}
#: Kinds of packets that carry parts of a message, of the protocols that have others, too.
_CARRIES = {
    Protocol.REQUEST: {PacketKind.REQUEST, PacketKind.ANSWER},
    Protocol.MULTICAST: {PacketKind.REQUEST},
    Protocol.CHANNEL: {ChannelKind.MESSAGE},
}
_KINDS = {Protocol.REQUEST: PacketKind, Protocol.MULTICAST: PacketKind, Protocol.CHANNEL: ChannelKind}


class Spans:
    """What a recording tells, as tracks and messages.

    Parameters
    ----------
    recording : Recording

    Members
    -------
    recording : Recording
    tracks : list of Track
        Of each board: CPU, interrupt level, other parts, fibers; then the same of its node.
    fibers : dict of int → Track
        The track of packets of each fiber, by its number.
    labels : list of str
    styles : list of str
        What each Style is called.
    messages : list of Message
        By the time at which they were sent.
    faults : list of (Fiber, time in ps, text)
    repeated : Counter
        (CAB, layer, destination's name) → how often it has sent something once more.
    stages : tuple of str
        What the stages of a message are called.
    waits : dict
        Output of a HUB, as "HUB1.P3" → (picoseconds in all that the first packets of messages have spent in the HUB
        before it; the longest of them, and its Message). Of a router the same, of what messages have waited for it.
    circuits : int or None
        How many there were; None: the machine has none.
    packets, commands, replies, refused, damaged : int
        How many there were on all fibers.
    end_ps : int
        Time of the end, or of the last event.
    """

    def __init__(self, recording):
        self.recording = recording
        self.labels, self._label_of = [], {}
        self.styles = ["thread", "interrupt level", "packet", "damaged packet", "command", "reply", "refusal"]
        self.styles += ["DMA", "connection", "waiting", "bus cycle", "bus error"]
        self.messages, self._message_of = [], {}
        self._sent, self._under = {}, {}
        self.faults, self.repeated, self.waits = [], Counter(), {}
        self.packets = self.commands = self.replies = self.refused = self.damaged = 0
        self.end_ps = 0
        self._machine = recording.machine.recorded
        follower = Circuits(self) if self._machine.circuit else None
        self.circuits = None if follower is None else 0
        self.stages = STAGES if follower is None else CIRCUIT_STAGES
        handlers = {kind: getattr(self, name) for kind, name in _HANDLERS.items()}
        if follower is not None:
            handlers |= follower.handlers
        self._names = {of["id"]: name for name, of in recording.cabs.items()}
        self._hubs = {of["id"]: name for name, of in recording.hubs.items()}
        self._cpus, self._levels, self.fibers, self._controls = {}, {}, {}, {}
        self._parts = {}  # board -> {(kind, number): track of one of its parts}
        self._now = {}  # track -> (begin, label, style) of the slice that has begun
        for fiber in recording.fibers:
            self.fibers[fiber.number] = Track(_board(fiber.sender), f"{_port(fiber.sender)}to {fiber.receiver}")
        for event in recording.events():
            self.end_ps = max(self.end_ps, event.time_ps)
            handler = handlers.get(event.kind)
            if handler is not None:
                handler(event)
        self.end_ps = max(self.end_ps, recording.end_ps or 0)
        if follower is not None:
            follower.end(self.end_ps)
        for track in list(self._now):
            self._end(track, self.end_ps)
        for message in reversed(self.messages):  # what a message was sent for is done when it is
            if message.parent >= 0 and message.done_ps is not None:
                above = self.messages[message.parent]
                if above.layer >= Layer.NECTARINE:
                    above.delivered_ps = max(above.delivered_ps or 0, message.done_ps)
        self.tracks = self._in_order(recording)

    def _in_order(self, recording):
        """Board by board: CPU, interrupt level, parts, fibers, each with its commands and replies; a node behind its
        CAB."""
        nodes = dict(
            zip(recording.places[: len(recording.places) // 2], recording.places[len(recording.places) // 2 :])
        )
        tracks = []
        boards = [name for cab in recording.cabs for name in (cab, nodes.get(cab)) if name is not None]
        for board in (*boards, *recording.hubs):
            tracks += [tracks_of[board] for tracks_of in (self._cpus, self._levels) if board in tracks_of]
            parts = self._parts.get(board, {})
            tracks += [parts[order] for order in sorted(parts)]
            for fiber in recording.fibers:
                if _board(fiber.sender) == board:
                    tracks.append(self.fibers[fiber.number])
                    if fiber.number in self._controls:
                        tracks.append(self._controls[fiber.number])
        return tracks

    def label(self, text):
        """The number that stands for ``text``."""
        number = self._label_of.get(text)
        if number is None:
            number = self._label_of[text] = len(self.labels)
            self.labels.append(text)
        return number

    # -- CPUs ----------------------------------------------------------------------------------------
    def _begin(self, track, time_ps, text, style):
        self._end(track, time_ps)
        self._now[track] = time_ps, self.label(text), style

    def _end(self, track, time_ps):
        begun = self._now.pop(track, None)
        if begun is not None:
            track.add(begun[0], time_ps, begun[1], begun[2])

    def _cpu(self, board):
        if board not in self._cpus:
            self._cpus[board] = Track(board, "CPU")
        return self._cpus[board]

    def _thread(self, event):
        self._begin(self._cpu(event.board), event.time_ps, event.name, Style.THREAD)

    def _idle(self, event):
        self._end(self._cpu(event.board), event.time_ps)

    def _interrupt(self, event):
        if event.board not in self._levels:
            self._levels[event.board] = Track(event.board, "interrupt level")
        self._begin(self._levels[event.board], event.time_ps, "interrupt handler", Style.INTERRUPT)

    def _returned(self, event):
        if event.board in self._levels:
            self._end(self._levels[event.board], event.time_ps)

    # -- boards --------------------------------------------------------------------------------------
    def part(self, board, order, name):
        """The track of a part of a board; ``order`` is its place among the parts."""
        parts = self._parts.setdefault(board, {})
        if order not in parts:
            parts[order] = Track(board, name)
        return parts[order]

    def _dma(self, event):
        name = Channel(event.channel).name.lower().replace("_", " ")
        track = self.part(event.board, (0, event.channel), f"DMA, {name}")
        if event.level:
            self._begin(track, event.time_ps, name, Style.DMA)
        else:
            self._end(track, event.time_ps)

    def _connected(self, event):
        track = self.part(event.board, (1, event.output), f"P{event.output}, connection")
        self._begin(track, event.time_ps, f"from P{event.input} to P{event.output}", Style.CONNECTION)

    def _disconnected(self, event):
        self._end(self.part(event.board, (1, event.output), f"P{event.output}, connection"), event.time_ps)

    def _ready_bit(self, event):
        track = self.part(event.board, (2, event.output), f"P{event.output}, ready bit is 0")
        if event.level:
            self._end(track, event.time_ps)
        else:
            self._begin(track, event.time_ps, "not ready", Style.WAITING)

    def _queue(self, event):
        track = self.part(event.board, (3, event.port), f"P{event.port}, input queue")
        self._end(track, event.time_ps)
        level = event.level // QUEUE_STEP * QUEUE_STEP
        if level:
            self._begin(track, event.time_ps, f"{level} symbols or more", Style.WAITING)

    def _vme(self, event):
        if event.mark & VmeMark.ACKNOWLEDGE:
            text = f"acknowledge level {event.address}"
        else:
            block = "block, " if event.mark & VmeMark.BLOCK else ""
            text = f"{block}{'store' if event.mark & VmeMark.STORE else 'load'} D{8 * event.length}"
            text += f" at 0x{event.address:06X}"
        style = Style.CYCLE
        if event.mark & VmeMark.ERROR:
            text, style = f"{text}, bus error", Style.BUS_ERROR
        track = self.part(event.board, (4, 0), "VME")
        track.add(event.begin_ps, event.time_ps, self.label(text), style)

    # -- fibers --------------------------------------------------------------------------------------
    def _packet(self, event):
        self.packets += 1
        damaged = event.mark != PacketMark.CRC_GOOD
        self.damaged += damaged
        head = event.data[:16]
        place = -1
        if len(head) < 16 or head[0] not in _NUMBER:
            text = f"packet, {event.length} bytes"
        else:
            text, place = self._name_packet(event, head)
        if damaged:
            text += ", cut off" if event.mark & PacketMark.CUT else ", wrong CRC"
        fiber = event.fiber
        track = self.fibers[fiber.number]
        number = track.add(
            event.begin_ps,
            event.time_ps + fiber.symbol_ps,
            self.label(text),
            Style.DAMAGED if damaged else Style.PACKET,
            place,
        )
        if place >= 0:
            self._follow(self.messages[place], event, number)

    def _name_packet(self, event, head):
        """What a packet is called, and the place of its message."""
        protocol, source, destination = head[:3]
        number = int.from_bytes(head[_NUMBER[protocol]], "big")
        kind = head[3] & 0x7F
        place = -1
        if kind in _CARRIES.get(protocol, {kind}):
            place = self._under.get((protocol, source, destination, number), -1)
        name_of_kind = ""
        if protocol in _KINDS and kind in _KINDS[protocol].__members__.values():
            name_of_kind = f", {_KINDS[protocol](kind).name}"
        to = self._to(destination)
        name = self._names.get(source, f"CAB {source}")
        text = f"{layer_name(protocol)} {name} to {to}{name_of_kind} {number}, {event.length} bytes"
        return text, place

    def _follow(self, message, event, number):
        """A packet of ``message`` has gone over a fiber: ``number`` is its slice there."""
        fiber = event.fiber
        message.path.append((self.fibers[fiber.number], number))
        here, there = _board(fiber.sender), _board(fiber.receiver)
        travel_ps = fiber.symbol_ps + fiber.delay_ps
        if message.head is None and here == message.board:
            message.head = event.data[:16]
            message.begun_ps = event.begin_ps
            message.reached = {here: (event.begin_ps, 0)}
        reached = message.reached
        if message.head == event.data[:16] and here in reached and there not in reached:
            came_ps, in_hubs_ps = reached[here]
            inside_ps = event.begin_ps - came_ps
            reached[there] = event.begin_ps + travel_ps, in_hubs_ps + inside_ps
            if here != message.board:
                total_ps, longest_ps, slowest = self.waits.get(fiber.sender, (0, -1, None))
                longest = max((longest_ps, slowest), (inside_ps, message), key=lambda pair: pair[0])
                self.waits[fiber.sender] = total_ps + inside_ps, *longest
            if there in self.recording.cabs and (message.first_ps or 0) < reached[there][0]:
                message.first_ps, message.hubs_ps = reached[there]
        if there in self.recording.cabs and message.delivered_ps is None:
            message.arrived_ps = max(message.arrived_ps or 0, event.time_ps + travel_ps)

    def _command(self, event):
        self.commands += 1
        self._control(event, self._command_text(event), Style.COMMAND)

    def _command_text(self, event):
        row = BY_OPCODE.get(event.opcode)
        name = row.name if row is not None else f"unknown command 0x{event.opcode:02X}"
        if event.missing:
            return f"{name}, cut short"
        hub = "any HUB" if event.hub == 0xFF else self._hubs.get(event.hub, f"HUB {event.hub}")
        port = f" P{event.param & 0x7F}" if row is not None and "port" in row.parameter else ""
        return f"{name} {hub}{port}"

    def _reply(self, event):
        self.replies += 1
        hub = self._hubs.get(event.hub, f"HUB {event.hub}")
        if event.opcode in (HELLO, HELLO_ASK):
            self._control(event, f"hello from ID {event.hub}", Style.REPLY)
            return
        done = event.opcode & REPLY
        self.refused += not done
        row = BY_OPCODE.get(event.opcode | REPLY)
        name = row.name.removesuffix(" reply") if row is not None else f"0x{event.opcode:02X}"
        text = f"{hub}: {name} {'done' if done else 'refused'}, 0x{event.param:02X}"
        self._control(event, text, Style.REPLY if done else Style.REFUSED)

    def _control(self, event, text, style):
        fiber = event.fiber
        if fiber.number not in self._controls:
            self._controls[fiber.number] = Track(
                _board(fiber.sender), f"{_port(fiber.sender)}to {fiber.receiver}, commands and replies"
            )
        self._controls[fiber.number].add(event.begin_ps, event.time_ps + fiber.symbol_ps, self.label(text), style)

    def _fault(self, event):
        if event.symbols:
            text = f"cut: {event.symbols} symbols lost"
        else:
            words = [mark.name.lower() for mark in FaultMark if event.mark & mark]
            text = f"symbol 0x{event.sent:03X} {' and '.join(words)}"
        self.faults.append((event.fiber, event.time_ps, text))

    # -- messages ------------------------------------------------------------------------------------
    def _to(self, destination):
        """What the computer with that ID is called as a destination."""
        return (
            "several"
            if destination == ANY_CAB
            else self._names.get(destination, f"{self._machine.computer} {destination}")
        )

    def _send(self, event):
        place = len(self.messages)
        parent = self._message_of.get((event.board, event.parent), -1) if event.parent else -1
        to = self._to(event.destination)
        self.messages.append(Message(event.board, event.message, event.layer, to, event.length, parent, event.time_ps))
        self._message_of[event.board, event.message] = place

    def number(self, event):
        """A message has got a number. Returns its place; -1 if it was not seen."""
        place = self._message_of.get((event.board, event.message))
        if place is not None:
            source = self.recording.cabs[event.board]["id"]
            self._under[event.layer, source, event.destination, event.number] = place
        return -1 if place is None else place

    def _place(self, layer, source, board, number):
        """The message that CAB ``source`` has sent to ``board`` by that number; None if there is none."""
        for destination in (self.recording.cabs[board]["id"], ANY_CAB):
            place = self._under.get((layer, source, destination, number))
            if place is not None:
                return self.messages[place]
        return None

    def _queued(self, event):
        head = event.header
        if head[0] in _NUMBER:
            number = int.from_bytes(head[_NUMBER[head[0]]], "big")
            place = self._under.get((head[0], head[1], head[2], number))
            if place is not None and self.messages[place].queued_ps is None:
                self.messages[place].queued_ps = event.time_ps

    def _delivered(self, event):
        message = self._place(event.layer, event.source, event.board, event.number)
        if message is not None:
            message.delivered_ps = event.time_ps

    def _read(self, event):
        message = self._place(event.layer, event.source, event.board, event.number)
        if message is not None and message.delivered_ps is not None:
            message.read_ps = event.time_ps

    def _repeated(self, event):
        self.repeated[event.board, event.layer, self._to(event.destination)] += 1
        source = self.recording.cabs[event.board]["id"]
        for destination in (event.destination, ANY_CAB):  # a multicast is repeated for one member
            place = self._under.get((event.layer, source, destination, event.number))
            if place is not None:
                self.messages[place].repeated += 1
                break


def _board(end):
    return end.partition(".")[0]


def _port(end):
    """``P3 `` of an end of a HUB, nothing of a CAB's."""
    port = end.partition(".")[2]
    return f"{port} " if port else ""


_HANDLERS = {
    EventKind.THREAD: "_thread",
    EventKind.IDLE: "_idle",
    EventKind.INTERRUPT: "_interrupt",
    EventKind.RETURNED: "_returned",
    EventKind.PACKET: "_packet",
    EventKind.COMMAND: "_command",
    EventKind.REPLY: "_reply",
    EventKind.FAULT: "_fault",
    EventKind.DMA: "_dma",
    EventKind.CONNECTED: "_connected",
    EventKind.DISCONNECTED: "_disconnected",
    EventKind.READY_BIT: "_ready_bit",
    EventKind.QUEUE: "_queue",
    EventKind.VME: "_vme",
    EventKind.SEND: "_send",
    EventKind.NUMBERED: "number",
    EventKind.QUEUED: "_queued",
    EventKind.DELIVERED: "_delivered",
    EventKind.READ: "_read",
    EventKind.REPEATED: "_repeated",
}

"""Lists what a recording has, one event a line: time, where it happened, what it was; or makes of it what shows it.

A recording is made by 'nectar run --record FILE'; docs/recording.md tells what its events mean. An event of a fiber is
of the boards at both its ends. With --report, --trace or --pcap no event is listed, and all of the recording is shown.
"""

import sys
from collections import Counter

from .errors import DONE, UsageError, together
from .pcap import VALUES as PCAP_VALUES
from .pcap import PacketRecord, check_packets
from .results import check_apart
from .units import LONGEST, picoseconds, time_text
from .views import VALUES as VIEW_VALUES
from .views import Views

HELP = "list the events of a recording, or make a report, a trace or a packet file of it"


def configure(parser):
    """Options of ``nectar events``."""
    parser.add_argument("file", metavar="FILE", help="a recording of 'nectar run --record FILE'")
    parser.add_argument("--from", dest="begin", metavar="TIME", help="only events from this time on")
    parser.add_argument("--to", dest="end", metavar="TIME", help="only events before this time")
    parser.add_argument("--kind", metavar="KINDS", help="only these kinds of event: send,packet")
    parser.add_argument("--board", metavar="NAMES", help="only events at these boards: CAB1,HUB2")
    parser.add_argument("--count", action="store_true", help="tell how many there are of each kind, and list none")
    for name, how in {**VIEW_VALUES, **PCAP_VALUES}.items():
        parser.add_argument(name, **how)


def execute(options):
    """Lists them, or writes the files."""
    from ..sim.recording import Recording

    views, pcap = Views(options, options.file), PacketRecord(options)
    check_apart([*views.files, ("--pcap", pcap.file)], [("the recording", options.file)])
    if not views and not pcap:
        return _list(options)
    for option in ("--from", "--to", "--kind", "--board", "--count"):
        if getattr(options, {"--from": "begin", "--to": "end"}.get(option, option[2:])):
            raise UsageError(f"{option} chooses what is listed; --report, --trace and --pcap show all: leave it out")
    with Recording(options.file) as recording:
        if pcap:
            check_packets(recording.machine, f"--pcap {options.pcap}: {options.file}: ")
        _check_groups(options, recording, views, pcap)
        pcap.check(recording.fibers)
        steps = [lambda: views.write(recording, recording.complete)] if views else []
        try:
            together(*steps, *([lambda: pcap.write(recording)] if pcap else []))
        finally:
            pcap.close()
        _lacks(options.file, recording)
    return DONE


def _check_groups(options, recording, views, pcap):
    """Raises UsageError if the recording has too little for a file that is wanted."""
    from ..hdl.host.events import LEVELS, EventGroup
    from ..sim.packetfile import NEEDED

    wanted = [(option, path, LEVELS["all"] & ~EventGroup.BYTES) for option, path in views.files]
    for option, path, groups in [*wanted, *([("--pcap", options.pcap, NEEDED)] if pcap else [])]:
        if lacking := groups & ~recording.groups:
            names = ", ".join(group.name for group in lacking)
            raise UsageError(
                f"{option} {path}: {options.file} lacks the groups {names}; record with --record-level all"
            )


def _list(options):
    from ..hdl.host.events import GROUP_OF, EventKind
    from ..sim.recording import Recording

    begin = picoseconds(options.begin or "0s", "--from")
    end = LONGEST if options.end is None else picoseconds(options.end, "--to")
    if begin >= end:
        raise UsageError(f"--to {options.end}: it is not after --from {options.begin or '0s'}")
    kinds = None
    if options.kind is not None:
        names = {kind.name.lower().replace("_", "-"): kind for kind in EventKind if kind in GROUP_OF}
        kinds = [_among(name, names, "--kind", "kind of event") for name in _split(options.kind)]
    with Recording(options.file) as recording:
        boards = None
        if options.board is not None:
            there = {name: name for name in recording.places if name is not None}
            boards = [_among(name, there, "--board", "board in the recording") for name in _split(options.board)]
        events = recording.events(kinds, boards, begin, end)
        if options.count:
            for kind, count in Counter(event.kind for event in events).most_common():
                print(f"{count:12d}  {_word(kind)}")
        else:
            names = _Names(recording)
            for event in events:
                print(f"{event.time_ps / 1e6:15.6f} us  {names.line(event)}")
        _lacks(options.file, recording)
    return DONE


def _lacks(name, recording):
    """Tells what the recording does not have."""
    if recording.dropped:
        print(
            f"nectar: {name} lacks the last {recording.dropped} events up to {time_text(recording.end_ps)}: its limit "
            "was reached",
            file=sys.stderr,
        )
    elif not recording.complete:
        print(f"nectar: {name} was not finished: the run was killed, or is not over", file=sys.stderr)


def _split(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def _among(name, known, option, what):
    if name not in known:
        raise UsageError(f"{option} {name}: there is no such {what}; there are {', '.join(known)}")
    return known[name]


def _word(kind):
    return kind.name.lower().replace("_", "-")


class _Names:
    """What numbers in the events of a recording are called."""

    def __init__(self, recording):
        from ..hdl.host.events import Layer
        from ..hdl.hub.commands import Op
        from ..software.stacks import header_of

        self._cabs = {cab["id"]: name for name, cab in recording.cabs.items()}
        self._hubs = {hub["id"]: name for name, hub in recording.hubs.items()}
        self._layers = {int(layer): layer.name.lower() for layer in Layer}
        self._commands = {int(op): op.name.lower() for op in Op}
        self._machine = recording.machine.recorded
        self._told = header_of(recording.machine.name)
        self._ids = {name: computer["id"] for name, computer in recording.cabs.items()}
        self._irqs = {1 << irq: irq.name.lower() for irq in self._machine.causes}

    def line(self, event):
        """An event without its time."""
        fiber = getattr(event, "fiber", None)
        where = event.board if fiber is None else f"{fiber.sender} > {fiber.receiver}"
        told = getattr(self, f"_{event.kind.name.lower()}", lambda event: "")(event)
        return f"{where:20} {_word(event.kind):13} {told}".rstrip()

    def _cab(self, number):
        computer = self._machine.computer
        return self._cabs.get(number, f"several {computer}s" if number == 0xFF else f"{computer} with ID {number}")

    def _layer(self, event):
        return self._layers.get(event.layer, f"protocol {event.layer}")

    # -- fibers --------------------------------------------------------------------------------------
    def _packet_start(self, event):
        return f"{event.number}"

    def _packet(self, event):
        mark = ", ".join(part.name.lower().replace("_", " ") for part in event.mark)
        text = f"{event.number}, {event.length} bytes from {event.begin_ps / 1e6:.6f} us on"
        return f"{text}{f', {mark}' if mark else ''}; {self._header(event.data[:16])}"

    def _command(self, event):
        hub = self._hubs.get(event.hub, "any HUB" if event.hub == 0xFF else f"HUB with ID {event.hub}")
        lacks = f", lacks {event.missing} bytes" if event.missing else ""
        return f"{self._commands.get(event.opcode, f'0x{event.opcode:02x}')} {hub} {event.param}{lacks}"

    def _reply(self, event):
        from ..hdl.hub.commands import REPLY

        done = "done" if event.opcode & REPLY else "refused"
        hub = self._hubs.get(event.hub, f"HUB with ID {event.hub}")
        lacks = f", lacks {event.missing} bytes" if event.missing else ""
        name = self._commands.get(event.opcode | REPLY, f"0x{event.opcode:02x}")
        return f"{name} {done} by {hub}: {event.param}{lacks}"

    def _symbol(self, event):
        return f"0x{event.symbol:03x}"

    def _fault(self, event):
        mark = ", ".join(part.name.lower() for part in event.mark)
        return f"{event.symbols} symbols {mark}" if event.symbols else f"0x{event.sent:03x} {mark}"

    # -- messages ------------------------------------------------------------------------------------
    def _header(self, header):
        if len(header) < 8:
            return f"{len(header)} bytes of a header"
        told = self._told(header)
        return f"{self._layer(told)} {self._cab(told.source)} to {self._cab(told.destination)}, {told.more}"

    def _send(self, event):
        parent = f", for message {event.parent}" if event.parent else ""
        whom = self._cab(event.destination)
        return f"message {event.message}: {self._layer(event)} to {whom}, {event.length} bytes{parent}"

    def _numbered(self, event):
        whom = self._cab(event.destination)
        return f"message {event.message}: {self._layer(event)} to {whom}, number {event.number}"

    def _queued(self, event):
        return self._header(event.header)

    _arrived = _queued

    def _delivered(self, event):
        return f"{self._layer(event)} from {self._cab(event.source)}, number {event.number}, {event.length} bytes"

    _read = _delivered

    def _repeated(self, event):
        return f"{self._layer(event)} to {self._cab(event.destination)}, number {event.number}"

    # -- CPUs and boards -----------------------------------------------------------------------------
    def _thread(self, event):
        return f"{event.name}, after {event.cycles} cycles of the kernel"

    def _causes(self, event):
        return ", ".join(name for mask, name in self._irqs.items() if event.causes & mask)

    def _irq(self, event):
        return f"{event.level}"

    def _connected(self, event):
        return f"{self._machine.port(event.input, False)} to {self._machine.port(event.output, True)}"

    _disconnected = _connected

    def _asked(self, event):
        text = f"{self._connected(event)}: "
        if not event.level:
            return f"{text}taken back"
        source, destination = self._machine.circuit(self._ids[event.board], event.input, event.probe)
        return f"{text}{source} to {destination}"

    def _pending(self, event):
        return self._causes(event) or "none"

    def _received(self, event):
        mark = "".join(f", {part.name.lower().replace('_', ' ')}" for part in event.mark)
        return f"{event.words} words{mark}"

    def _ready_bit(self, event):
        return f"{self._machine.port(event.output, True)}: {event.level}"

    def _dma(self, event):
        return f"{event.channel.name.lower().replace('_', ' ')}: {'begins' if event.level else 'ends'}"

    def _vme(self, event):
        from ..hdl.host.events import VmeMark

        what = "store" if event.mark & VmeMark.STORE else "load"
        text = f"{what} D{8 * event.length} at 0x{event.address:06x}"
        if event.mark & VmeMark.ACKNOWLEDGE:
            text = f"acknowledge level {event.address}"
        block = ", block" if event.mark & VmeMark.BLOCK else ""
        error = ", bus error" if event.mark & VmeMark.ERROR else ""
        return f"{text}, from {event.begin_ps / 1e6:.6f} us on{block}{error}"

    def _queue(self, event):
        return f"{self._machine.port(event.port, False)}: {event.level} symbols"

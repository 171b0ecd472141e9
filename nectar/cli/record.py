"""What ``nectar run`` records, and makes of that: ``--record``, ``--report``, ``--trace`` (docs/recording.md)."""

import importlib.util
import io
import sys

from ..extras import how_to_get
from ..live import telling
from .errors import UsageError
from .pcap import PacketRecord
from .results import check_target, save
from .sizes import octets, size_text
from .units import time_text

__all__ = ["VALUES", "Record", "refused"]

#: What ends a recording that nobody looks after.
LIMIT = "1G"
#: What is recorded unless the user says more.
LEVEL = "messages"
#: Options that take a value, as argparse wants them.
VALUES = {
    "--record": {
        "metavar": "FILE",
        "help": "record what happens: messages, packets, threads; 'nectar events' lists it",
    },
    "--record-level": {
        "metavar": "LEVEL",
        "help": "messages: messages and packets (default); packets: with all bytes of the packets; all: commands, "
        "replies, threads, interrupts and boards as well",
    },
    "--record-limit": {
        "metavar": "SIZE",
        "help": f"size of the recording after which events are only counted, as 500M; 0: none (default: {LIMIT}; "
        "without --record 256M)",
    },
    "--trace": {
        "metavar": "FILE",
        "help": "write a timeline for another program: FILE.pftrace for Perfetto, FILE.json in Chrome's format",
    },
    "--report": {
        "metavar": "FILE",
        "help": "write one HTML page: where the time went, a timeline, every message with its way, loads and traffic",
    },
}


def refused(error):
    """The UsageError for a RecordingError."""
    return UsageError(f"{getattr(error, 'option', '--record')} {error}")


class Record:
    """What the options of the command line have recorded. Raises UsageError."""

    def __init__(self, options):
        from ..hdl.host.events import LEVELS
        from ..sim.recorder import IN_MEMORY

        self.pcap = PacketRecord(options)

        self._path, level, limit = options.record, options.record_level, options.record_limit
        self._report, self._trace, self._title = options.report, options.trace, options.program
        if self._path is None and level is not None:
            raise UsageError("--record-level needs --record FILE")
        self._shows = self._report is not None or self._trace is not None
        if self._path is None and not self._shows and limit is not None:
            raise UsageError("--record-limit needs --record, --report or --trace")
        check_target("--record", self._path)
        check_target("--report", self._report)
        self._check_trace()
        if level is not None and level not in LEVELS:
            raise UsageError(f"--record-level {level}: there is no such level; there are {', '.join(LEVELS)}")
        self._groups = LEVELS[level or LEVEL]
        if limit is None and self._path is None:
            self._limit = IN_MEMORY
        else:
            self._limit = octets(limit or LIMIT, "--record-limit")
        self._recorder = None
        self.whole = False  # the program has come to its end

    def recorder(self, program):
        """The Recorder for a machine; None if neither the command line nor the program wants one."""
        from ..hdl.host.events import LEVELS
        from ..sim.recorder import Recorder
        from ..software.latency import NEEDED

        wanted = NEEDED if program.trace else 0
        if self._shows:
            wanted |= LEVELS["all"]
        listeners = [self.pcap.listener()] if self.pcap else []
        if self.pcap:
            from ..sim.packetfile import NEEDED as PACKETS

            wanted |= PACKETS
        if self._path is not None:
            self._recorder = Recorder(
                self._path, groups=self._groups | wanted, limit=self._limit or None, listeners=listeners
            )
        elif wanted:
            store = program.trace or self._shows
            self._recorder = Recorder(groups=wanted, limit=self._limit or None, listeners=listeners, store=store)
        return self._recorder

    def close(self, system):
        """Closes the system and the recording, and tells what the recording lacks. May be called twice."""
        from ..sim.recorder import RecordingError

        recorder, self._recorder = self._recorder, None
        try:
            system.close()
            if recorder is not None and self._shows:
                self._show(recorder)
        except RecordingError as error:
            system.close()
            raise refused(error) from error
        finally:
            self.pcap.close()
            if recorder is not None:
                recorder.close()
        if recorder is not None and recorder.full_ps is not None:
            what = next(
                f"{option} {path}"
                for option, path in (
                    ("--record", self._path),
                    ("--report", self._report),
                    ("--trace", self._trace),
                )
                if path is not None
            )
            print(
                f"nectar: {what}: the recording has reached {size_text(self._limit)} at "
                f"{time_text(recorder.full_ps)} of simulated time and lacks the {recorder.dropped} events from there "
                "on; give a larger --record-limit or a lower --record-level",
                file=sys.stderr,
            )

    def _check_trace(self):
        if self._trace is None:
            return
        check_target("--trace", self._trace)
        if not self._trace.endswith((".pftrace", ".json")):
            raise UsageError(f"--trace {self._trace}: the name must end in .pftrace (Perfetto) or .json (Chrome)")
        if self._trace.endswith(".pftrace") and importlib.util.find_spec("perfetto") is None:
            raise UsageError(f"--trace {self._trace} needs the package perfetto; {how_to_get('trace')}")

    def _show(self, recorder):
        """Writes the report and the trace."""
        from ..views.report import page
        from ..views.spans import Spans

        with recorder.recording() as recording, telling(f"writing {self._report or self._trace}"):
            spans = Spans(recording)
            if self._report is not None:
                text = page(spans, title=self._title, complete=self.whole)
                _write("--report", self._report, text.encode())
            if self._trace is not None:
                _write("--trace", self._trace, _trace(spans, self._trace))


def _trace(spans, path):
    """The bytes of a trace."""
    from ..views.trace import chrome, perfetto

    if path.endswith(".json"):
        text = io.StringIO()
        chrome(text, spans)
        return text.getvalue().encode()
    data = io.BytesIO()
    perfetto(data, spans)
    return data.getvalue()


def _write(option, path, data):
    try:
        save(path, data)
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written: {error.strerror}") from error

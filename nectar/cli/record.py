"""What ``nectar run`` records, and makes of that: ``--record``, ``--report``, ``--trace`` (docs/recording.md)."""

import os
import sys

from .errors import UsageError, together
from .pcap import PacketRecord
from .results import check_target, is_stream
from .sizes import octets, size_text
from .units import time_text
from .views import VALUES as VIEW_VALUES
from .views import Views

__all__ = ["VALUES", "Record"]

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
    **VIEW_VALUES,
}


class Record:
    """What the options of the command line have recorded. Raises UsageError."""

    def __init__(self, options):
        from ..hdl.host.events import LEVELS
        from ..sim.recorder import IN_MEMORY

        self.pcap = PacketRecord(options)

        self._waves = options.waves
        self._path, level, limit = options.record, options.record_level, options.record_limit
        if self._path is None and level is not None:
            raise UsageError("--record-level needs --record FILE")
        if self._path is None and options.report is None and options.trace is None and limit is not None:
            raise UsageError("--record-limit needs --record, --report or --trace")
        check_target("--record", self._path)
        self._views = Views(options, options.program)
        if self._views and self._path is not None and is_stream(self._path):
            raise UsageError(
                f"{self._views.files[0][0]} is made of the recording: --record {self._path} must be a file"
            )
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
        if self._views:
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
            store = bool(program.trace or self._views)
            self._recorder = Recorder(groups=wanted, limit=self._limit or None, listeners=listeners, store=store)
        return self._recorder

    def close(self, system):
        """Closes the system and the recording, and tells what the recording lacks. May be called twice.

        A file that cannot be written keeps none of the others from being written; UsageError names all of the former.
        """
        recorder, self._recorder = self._recorder, None
        try:
            together(lambda: self._free(system), lambda: self._write_views(recorder))
        finally:
            system.close()
            self.pcap.close()
            if recorder is not None:
                recorder.close()
        if recorder is not None and recorder.full_ps is not None:
            option, path = [("--record", self._path), *self._views.files][self._path is None]
            print(
                f"nectar: {option} {path}: the recording has reached {size_text(self._limit)} at "
                f"{time_text(recorder.full_ps)} of simulated time and lacks the {recorder.dropped} events from there "
                "on; give a larger --record-limit or a lower --record-level",
                file=sys.stderr,
            )

    def kept(self):
        """What a line of error ends with: the files that hold what happened up to the error, whole or as far as there
        was room; "" if there are none."""
        files = [self._waves, self._path, *(path for _, path in self._views.files), self.pcap.file]
        kept = [path for path in files if path is not None and os.path.isfile(path)]
        return f"; what happened up to then is in {', '.join(kept)}" if kept else ""

    def _free(self, system):
        """Frees the boards, which finishes the waveforms."""
        try:
            system.close()
        except BrokenPipeError:
            raise
        except OSError as error:
            if self._waves is None:
                raise
            raise UsageError(f"--waves {self._waves} cannot be written: {error.strerror}") from error

    def _write_views(self, recorder):
        if recorder is not None and self._views:
            with recorder.recording() as recording:
                self._views.write(recording, self.whole)

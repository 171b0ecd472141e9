"""``nectar run --record FILE``: what happens, as a file of events (docs/recording.md)."""

import sys

from .errors import UsageError
from .pcap import PacketRecord
from .results import check_target
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
        "help": f"size of FILE after which events are only counted, as 500M; 0: none (default: {LIMIT})",
    },
}


def refused(error):
    """The UsageError for a RecordingError."""
    return UsageError(f"{getattr(error, 'option', '--record')} {error}")


class Record:
    """What the options of the command line have recorded. Raises UsageError."""

    def __init__(self, options):
        from ..hdl.host.events import LEVELS

        self.pcap = PacketRecord(options)

        self._path, level, limit = options.record, options.record_level, options.record_limit
        if self._path is None:
            for name, value in (("--record-level", level), ("--record-limit", limit)):
                if value is not None:
                    raise UsageError(f"{name} needs --record FILE")
        else:
            check_target("--record", self._path)
        if level is not None and level not in LEVELS:
            raise UsageError(f"--record-level {level}: there is no such level; there are {', '.join(LEVELS)}")
        self._groups = LEVELS[level or LEVEL]
        self._limit = octets(limit or LIMIT, "--record-limit")
        self._recorder = None

    def recorder(self, program):
        """The Recorder for a machine; None if neither the command line nor the program wants one."""
        from ..sim.recorder import Recorder
        from ..software.latency import NEEDED

        wanted = NEEDED if program.trace else 0
        listeners = [self.pcap.listener()] if self.pcap else []
        if self.pcap:
            from ..sim.packetfile import NEEDED as PACKETS

            wanted |= PACKETS
        if self._path is not None:
            self._recorder = Recorder(
                self._path, groups=self._groups | wanted, limit=self._limit or None, listeners=listeners
            )
        elif wanted:
            self._recorder = Recorder(groups=wanted, listeners=listeners, store=program.trace)
        return self._recorder

    def close(self, system):
        """Closes the system and the recording, and tells what the recording lacks. May be called twice."""
        from ..sim.recorder import RecordingError

        try:
            system.close()
        except RecordingError as error:
            system.close()
            raise refused(error) from error
        finally:
            self.pcap.close()
            if self._recorder is not None:
                self._recorder.close()
        recorder, self._recorder = self._recorder, None
        if recorder is not None and recorder.full_ps is not None:
            print(
                f"nectar: --record {self._path}: the recording has reached {size_text(self._limit)} at "
                f"{time_text(recorder.full_ps)} of simulated time and lacks the {recorder.dropped} events from there "
                "on; give a larger --record-limit or a lower --record-level",
                file=sys.stderr,
            )

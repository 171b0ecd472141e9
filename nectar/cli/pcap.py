"""``nectar run --pcap FILE``: packets, commands and replies on fibers, for Wireshark (docs/recording.md)."""

import contextlib
import os
import sys

from .. import __version__
from .errors import Unread, UsageError
from .results import check_target

__all__ = ["VALUES", "PacketRecord", "check_packets", "fibers_of"]

#: Options that take a value, as argparse wants them.
VALUES = {
    "--pcap": {
        "metavar": "FILE",
        "help": "write packets, commands and replies to FILE.pcapng for Wireshark ('nectar dissector' writes what it "
        "needs to understand them); -: to the standard output, and what the program prints to the standard error",
    },
    "--pcap-fibers": {
        "metavar": "NAMES",
        "help": "only on the fibers of these boards or ends, or in one direction: CAB1,HUB2.P3,CAB4>HUB1.P0",
    },
}


class PacketRecord:
    """The packet file that the options of the command line ask for, if any. Raises UsageError."""

    def __init__(self, options):
        self._path, names = options.pcap, options.pcap_fibers
        #: The file; None if none is written, or the standard output is.
        self.file = None if self._path == "-" else self._path
        self._file = None
        if self._path is None:
            if names is not None:
                raise UsageError("--pcap-fibers needs --pcap FILE")
            return
        if self._path != "-":
            check_target("--pcap", self._path)
        elif sys.stdout.isatty():
            raise UsageError("--pcap -: the standard output is a terminal; send it to a program, as '| tshark -i -'")
        self._names = None if names is None else [name.strip() for name in names.split(",") if name.strip()]
        if self._names == []:
            raise UsageError("--pcap-fibers names no fiber; write names with commas between them")

    def __bool__(self):
        return self._path is not None

    def check(self, fibers):
        """Raises UsageError if a name that was given is that of no fiber of ``fibers``, a list of Fiber."""
        if self:
            self._chosen(fibers)

    def _chosen(self, fibers):
        from ..sim.packetfile import choose

        try:
            return None if self._names is None else choose(fibers, self._names)
        except ValueError as error:
            raise UsageError(f"--pcap-fibers: {error}") from None

    def listener(self):
        """What the Recorder of the machine is to hand its events to."""
        from ..sim.listening import Listener
        from ..sim.packetfile import KINDS

        return Listener(self._begin, KINDS)

    def _begin(self, fibers):
        from ..sim.packetfile import PacketFile

        if self._path == "-":
            sys.stdout.flush()
            number = os.dup(1)
            os.dup2(2, 1)  # what the program prints would stand between the packets
            self._file = os.fdopen(number, "wb")
        else:
            try:
                self._file = open(self._path, "wb")
            except OSError as error:
                raise _refused(self._path, error) from error
        return PacketFile(_Output(self._file, self._path), __version__, fibers, self._chosen(fibers))

    def write(self, recording):
        """Writes what a Recording has."""
        from ..sim.packetfile import KINDS

        taker = self._begin(recording.fibers)
        for event in recording.events(KINDS):
            taker.event(event)
        taker.end()

    def close(self):
        """Closes the file. May be called twice."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # it has been told
                file.close()


class _Output:
    """A file whose errors are those of a recording. That nobody reads any more is none: Unread."""

    def __init__(self, file, path):
        self._file, self._path = file, path

    def write(self, data):
        try:
            self._file.write(data)
        except OSError as error:
            raise _refused(self._path, error) from error

    def flush(self):
        try:
            self._file.flush()
        except OSError as error:
            raise _refused(self._path, error) from error


def _refused(path, error):
    if isinstance(error, BrokenPipeError):
        return Unread()
    from ..sim.recorder import RecordingError

    told = RecordingError(f"{path} cannot be written: {error.strerror or error}")
    told.option = "--pcap"
    return told


def check_packets(machine, begin):
    """Raises UsageError, which begins with ``begin``, if there are no packets on the links of a Machine."""
    if machine.recorded.circuit is not None:
        raise UsageError(f"{begin}there are no packets on the links of the machine {machine.name}, but circuits")


def fibers_of(topology):
    """Both directions of each pair of fibers, as a recording has them."""
    from ..sim.events import Fiber

    ends = [(str(a), str(b)) for fiber in topology.fibers for a, b in ((fiber.a, fiber.b), (fiber.b, fiber.a))]
    return [Fiber(number, *pair, 0, 0) for number, pair in enumerate(ends)]

"""The log of a CAB: records in a file on its node. The file outlives a stop of the CAB; all that is in the CAB's memory
does not. A failure of the node's power is not survived: a write returns when the node's system has the bytes."""

import json

from nectar.software.arithmetic import Work
from nectar.software.errors import FileMissing

#: A record is put together, or taken apart: some sixty characters, most of them in words of a pattern.
RECORD = Work(add=120, branch=40, load=30, store=30, call=4)
#: Bytes that the node writes at once: they are all in the file, or none of them.
AT_ONCE = 4096


def parsed(data):
    """The records in the bytes of a log. A line without its end was never acknowledged, and does not count."""
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


class Log:
    """Records on the node of a CAB, in the order in which they were appended.

    Parameters
    ----------
    cab : Cab
    path : str
    meter : Meter
        Is charged for making the records.
    """

    def __init__(self, cab, path, meter):
        self.cab = cab
        self.path = path
        self.meter = meter
        self._lock = cab.lock("the log")
        self._lines = []
        self._appended = self._written = 0
        self._file = None

    def open(self):
        """Opens it. Returns the records that are in it."""
        try:
            file = self.cab.node.open(self.path)
            records = parsed(file.read(1 << 24))
            file.close()
        except FileMissing:
            records = []
        self._file = self.cab.node.open(self.path, "a")
        self.meter.compute(len(records) * RECORD)
        return records

    def append(self, **record):
        """Appends a record; it gets into the file with the next one that is forced."""
        self.meter.compute(RECORD)
        self._lines.append(json.dumps(record).encode() + b"\n")
        self._appended += 1

    def force(self, **record):
        """Appends a record and returns when it is in the file. Records that come meanwhile go together in the next
        write."""
        self.append(**record)
        mine = self._appended
        with self._lock:
            while self._written < mine:
                count = size = 0
                while count < len(self._lines) and size + len(self._lines[count]) <= AT_ONCE:
                    size += len(self._lines[count])
                    count += 1
                lines, self._lines = self._lines[:count], self._lines[count:]
                self._file.write(b"".join(lines))
                self._written += count

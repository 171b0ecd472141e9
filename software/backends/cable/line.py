"""The serial line to a board, and requests that get their answers whatever happens on it.

``docs/cable.md`` specifies the protocol. A line belongs to one program at a time.
"""

import contextlib
import errno
import fcntl
import glob
import os
import select
import stat
import struct
import termios
import time
import tty

from ....hdl.host.numbers import ANSWER, BAUD, REQUEST, VERSION, Answer, Request, header
from ...errors import CableError
from .words import Deframer, frame

__all__ = ["Line", "found", "listen"]

#: Seconds until a request is sent again, which are doubled each time; and at most.
_AGAIN, _AGAIN_MOST = 0.25, 1.0
#: Seconds of silence after which a board is taken for gone: at first, and later.
_FIRST_PATIENCE = 2.0
_PATIENCE = 10.0
#: ioctls of Linux, and the flag that has a USB serial adapter pass bytes on at once; where the flags are.
_TIOCGSERIAL, _TIOCSSERIAL, _LOW_LATENCY, _FLAGS_AT = 0x541E, 0x541F, 1 << 13, 16


def found():
    """Names of the serial lines of this machine at which a board may be, in order."""
    return sorted([*glob.glob("/dev/ttyUSB*"), *glob.glob("/dev/ttyACM*")], key=lambda name: (len(name), name))


def listen(lines):
    """Waits until something comes on one of ``lines``, each with a request that was begun, or one of them must send
    again."""
    begin = time.monotonic()
    select.select(lines, [], [], max(0.0, min(line.due for line in lines) - begin))
    for line in lines:
        line.silence += time.monotonic() - begin


class Line:
    """A serial line with the cable's protocol.

    Parameters
    ----------
    path : str
        Device.
    baud : int
        Bits in a second.
    patience : (float, float)
        Seconds of silence that are waited for: until the board has answered for the first time, and later.
    again : float
        Seconds until a request is sent again.

    Members
    -------
    repeats : int
        Requests that had to be sent again.
    due : float
        When the request under way is to be sent again, by ``time.monotonic``.
    silence : float
        Seconds for which its answer was listened for since something was heard.

    Raises CableError, always with one clear line.
    """

    def __init__(self, path, baud=BAUD, *, patience=(_FIRST_PATIENCE, _PATIENCE), again=_AGAIN):
        self.path = path
        self.baud = baud
        self.repeats = 0
        self.due = self.silence = 0.0
        self._patience = patience
        self._again = again
        self._deframer = Deframer()
        self._fd = _open(path)
        try:
            _configure(self._fd, path, baud)
        except BaseException:
            self.close()
            raise
        self._number = int.from_bytes(os.urandom(1), "big")

    def fileno(self):
        """For ``select``."""
        return self._fd

    def identify(self):
        """The words of the board's answer to IDENTIFY."""
        return self._ask(Request.IDENTIFY, ())

    def reset(self):
        """Resets the board; the words of its answer."""
        return self._ask(Request.RESET, ())

    def _ask(self, kind, words):
        self.begin(kind, words)
        while (answer := self.answer()) is None:
            listen([self])
        return answer

    def begin(self, kind, words):
        """Sends a request; what comes of it is told by ``answer``."""
        self._number = self._number + 1 & 0xFF
        self._kind = kind
        self._request = frame([header(REQUEST, self._number, kind), *words])
        self._delay = self._again
        self.silence = 0.0
        self._transmit()

    def _transmit(self):
        self._send(self._request)
        self.due = time.monotonic() + self._spare + self._delay

    @property
    def _spare(self):
        """Seconds that the line needs to bring the request."""
        return len(self._request) * 10 / self.baud

    def answer(self):
        """The words of the answer to the request, behind its first; None if it has not come yet: then call again
        after ``listen``."""
        identify = self._kind == Request.IDENTIFY
        for first, *rest in self._receive():
            if first >> 24 != ANSWER:
                continue
            self.silence = 0.0
            if first >> 16 & 0xFF != VERSION:
                raise CableError(
                    f"{self.path}: the board speaks version {first >> 16 & 0xFF} of the cable's protocol, this program "
                    f"version {VERSION}; build its top with this version of Nectar"
                )
            if first == header(ANSWER, self._number, Answer.IDENTITY if identify else Answer.STATUS):
                return rest
            if first == header(ANSWER, self._number, Answer.BUSY):
                self.due = max(self.due, time.monotonic() + self._again)
        if self.silence > self._patience[not identify] + self._spare:
            raise self._silent(identify)
        if time.monotonic() >= self.due:
            self._delay = min(2 * self._delay, _AGAIN_MOST)
            self.repeats += 1
            self._transmit()
        return None

    def _silent(self, first):
        """The error when nobody answers."""
        count = self._deframer.bytes
        if not first:
            return CableError(
                f"{self.path}: the board has stopped answering; was it switched off, loaded anew, or is its line "
                f"disturbed?"
            )
        if not count:
            return CableError(
                f"{self.path}: nothing answers at {self.baud} baud; is the board loaded with the top 'cluster' or "
                f"'cab', and is this "
                "its serial line and its baud rate?"
            )
        return CableError(
            f"{self.path}: what answers is no Nectar board, or not at {self.baud} baud: {count} "
            f"byte{'s' * (count != 1)} came, "
            "none of which make a frame for us"
        )

    def _send(self, data):
        end = time.monotonic() + self._patience[1] + len(data) * 10 / self.baud
        while data:
            if time.monotonic() > end:
                raise CableError(f"{self.path}: the line takes no more bytes; unplug it and plug it in again")
            _, writable, _ = select.select([], [self._fd], [], 0.5)
            if writable:
                try:
                    data = data[os.write(self._fd, data) :]
                except BlockingIOError:
                    pass
                except OSError as error:
                    raise self._gone() from error

    def _receive(self):
        """The frames that have come."""
        if not select.select([self._fd], [], [], 0)[0]:
            return []
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return []
        except OSError as error:
            raise self._gone() from error
        if not data:
            raise self._gone()
        return self._deframer.take(data)

    def _gone(self):
        return CableError(f"{self.path}: the line has gone; was it unplugged?")

    def close(self):
        """Gives the line back. May be called twice."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._fd, termios.TIOCNXCL)
            os.close(self._fd)
            self._fd = None


def _open(path):
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise CableError(_explain(path, error)) from error
    try:
        if not stat.S_ISCHR(os.fstat(fd).st_mode) or not os.isatty(fd):
            raise CableError(f"{path}: it is no serial line; name the board's, as /dev/ttyUSB0")
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.ioctl(fd, termios.TIOCEXCL)
        except BlockingIOError:
            raise CableError(f"{path}: another program is using this line") from None
    except BaseException:
        os.close(fd)
        raise
    return fd


def _explain(path, error):
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        there = ", ".join(found())
        return (
            f"{path}: there is no such serial line; on this machine there is {there or 'none at which a board may be'}"
        )
    if error.errno == errno.EACCES:
        return f"{path}: you may not use this line; ask to be put into its group (often 'dialout')"
    if error.errno == errno.EBUSY:
        return f"{path}: another program is using this line"
    if error.errno == errno.EISDIR:
        return f"{path}: it is no serial line; name the board's, as /dev/ttyUSB0"
    return f"{path}: {error.strerror}"


def _configure(fd, path, baud):
    speed = getattr(termios, f"B{baud}", None)
    if speed is None:
        known = sorted(
            int(name[1:])
            for name in dir(termios)
            if name.startswith("B") and name[1:].isdigit() and int(name[1:]) >= 9600
        )
        raise CableError(f"{path}: a serial line has no rate of {baud} baud; it has {', '.join(map(str, known))}")
    try:
        tty.setraw(fd, termios.TCSANOW)
        mode = termios.tcgetattr(fd)
        mode[0] = mode[1] = 0
        mode[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
        mode[3] = 0
        mode[4] = mode[5] = speed
        mode[6][termios.VMIN] = mode[6][termios.VTIME] = 0
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        termios.tcflush(fd, termios.TCIOFLUSH)
    except (OSError, termios.error) as error:
        raise CableError(f"{path}: the line cannot be set to {baud} baud: {error.args[-1]}") from error
    with contextlib.suppress(OSError):  # only lines of real hardware have it
        serial = bytearray(128)
        fcntl.ioctl(fd, _TIOCGSERIAL, serial)
        (flags,) = struct.unpack_from("=i", serial, _FLAGS_AT)
        struct.pack_into("=i", serial, _FLAGS_AT, flags | _LOW_LATENCY)
        fcntl.ioctl(fd, _TIOCSSERIAL, serial)

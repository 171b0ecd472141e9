"""A line that tells how far long work is: on a terminal one line that changes, elsewhere a line of its own now and
then."""

import contextlib
import shutil
import sys
import threading
import time

__all__ = ["Live", "telling"]

#: Seconds between two lines where each is a line of its own; doubled from line to line, up to the second number.
_PAUSE = 10.0, 60.0


class Live:
    """The line.

    Parameters
    ----------
    stream : file or None
        Where it appears; by default the standard error. That nobody reads it any more ends nothing.
    patience : float
        Seconds before anything is told.
    """

    def __init__(self, stream=None, patience=2.0):
        self._stream = stream or sys.stderr
        self.terminal = self._stream.isatty()
        self._begun = time.monotonic()
        self._due = patience
        self._pause = _PAUSE[0]
        self._shown = False

    @property
    def seconds(self):
        """Time since it began."""
        return time.monotonic() - self._begun

    def show(self, text):
        """Brings the line up to date, if it is time; may be called at any time, also while Python handles a signal.

        ``text`` is a str, or a callable that makes it when it is wanted.
        """
        seconds = self.seconds
        if seconds < self._due:
            return
        text = text() if callable(text) else text
        if self.terminal:
            self._shown = True
            self._write(f"\r\033[Knectar: {text}"[: shutil.get_terminal_size().columns + 3])
        else:
            self._due = seconds + self._pause
            self._pause = min(2 * self._pause, _PAUSE[1])
            self._write(f"nectar: {text}\n")

    def say(self, text):
        """A line that stays."""
        self.clear()
        self._write(f"nectar: {text}\n")

    def clear(self):
        """Removes the changing line."""
        if self._shown:
            self._shown = False
            self._write("\r\033[K")

    def _write(self, text):
        # Nobody reads it; or a line was just being written when the signal came.
        with contextlib.suppress(OSError, RuntimeError):
            self._stream.write(text)
            self._stream.flush()


@contextlib.contextmanager
def telling(text):
    """Tells ``text``, a str or a callable that makes it, and for how long, while what runs inside takes more than some
    seconds."""
    live, done = Live(), threading.Event()

    def tell():
        while not done.wait(0.2 if live.terminal else 0.5):
            live.show(lambda: f"{text() if callable(text) else text}, {live.seconds:.0f} s")

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        live.clear()

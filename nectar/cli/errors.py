"""Exit codes, and what an error is called on the one line that reports it."""

import traceback

__all__ = [
    "DONE",
    "FAILED",
    "WRONG",
    "INTERRUPTED",
    "UNREAD",
    "UsageError",
    "Unfinished",
    "Unread",
    "Interrupted",
    "chain",
    "explain",
    "place",
    "refused",
    "together",
]

#: Everything was done.
DONE = 0
#: A check that must hold did not.
FAILED = 1
#: Wrong use or bad input.
WRONG = 2
#: Interrupted by Ctrl-C. Another signal that ends the program gives 128 and its number, as shells have it.
INTERRUPTED = 130
#: Whoever read the output has gone, as after "| head": what shells tell of a program that SIGPIPE has ended.
UNREAD = 141


class UsageError(Exception):
    """What the user gave cannot be used; the message says why and what to do. ``status``: the exit code."""

    status = WRONG

    def more(self, text):
        """The same with ``text`` behind its message."""
        return type(self)(f"{self}{text}")


class Unread(BrokenPipeError):
    """Whoever read an output of the command has gone."""


class Unfinished(UsageError):
    """A program's tasks cannot go on. The message may have several lines: who waits for what."""

    status = FAILED


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal that ends the program; the message says how far things had come. ``status``: exit code."""

    def __init__(self, message, status=INTERRUPTED):
        super().__init__(message)
        self.status = status

    def more(self, text):
        """The same with ``text`` behind its message."""
        return Interrupted(f"{self}{text}", self.status)

    @classmethod
    def of(cls, error):
        """``error``, a KeyboardInterrupt, as one that has a message."""
        return error if isinstance(error, cls) else cls(str(error) or "interrupted")


def chain(error):
    """``error`` and what it was raised from, or in the handling of."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def place(error, file=None):
    """``file:line`` where ``error`` was raised: the innermost line of ``file``, if it was in it, else the last one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == file]
    if not frames:
        return None
    frame = (own or frames)[-1]
    return f"{frame.filename}:{frame.lineno}"


def refused(error, option="--record"):
    """The UsageError for a RecordingError. ``option``: what is at fault if the error does not say it."""
    return UsageError(f"{getattr(error, 'option', option)} {error}")


def together(*steps):
    """Calls each of ``steps``, also those behind one that fails; raises one UsageError for all that have failed."""
    from ..sim.recorder import RecordingError

    failures = []
    for step in steps:
        try:
            step()
        except RecordingError as error:
            failures.append(refused(error))
        except UsageError as error:
            failures.append(error)
    if failures:
        raise UsageError("; ".join(map(str, failures)))


def explain(error):
    """The line that tells a user of ``error``."""
    from ..cache import BuildError
    from ..many import SpreadError
    from ..sim.recorder import RecordingError
    from ..sim.wiring import TopologyError
    from ..software.errors import ProgramError

    if isinstance(error, (UsageError, BuildError, SpreadError, RecordingError, TopologyError, ProgramError)):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'writing failed'}: {error.strerror}"
    where = place(error)
    return (
        f"internal error: {type(error).__name__}: {error}{f' at {where}' if where else ''}; "
        "'--debug' shows the traceback, please report it"
    )

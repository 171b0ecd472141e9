"""Who waits for what, with the line of the program: told of a run that cannot come to its end."""

import inspect
import sys
import traceback

from .kernel.thread import words

__all__ = ["here", "told", "where"]

#: Modules of this package. A line of a program is the innermost one that is neither in these nor in Python's library.
_OURS = f"{__package__}."
#: Tasks that one line names, and lines, at most.
_NAMES, _LINES = 4, 16


def _place(frames):
    """``file:line`` of the first of these frames that is a program's, or None."""
    for frame in frames:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OURS) and module.partition(".")[0] not in sys.stdlib_module_names:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return None


def where(thread):
    """``file:line`` of the program where ``thread`` stands, or None: it has not begun, or no program is involved."""
    return _place(reversed(thread.stack()[0]))


def here():
    """``file:line`` of the program whose plain function has made the call that is being carried out, or None."""
    return _place(frame for frame, _ in traceback.walk_stack(inspect.currentframe()))


def _state(thread):
    """What ``thread`` does, as a pair: of one thread, of several."""
    if not thread.blocked:
        return "runs", "run"
    if thread.call is not None:
        return f"waits in {thread.call}", f"wait in {thread.call}"
    return f"waits for {thread.waits_for}", f"wait for {thread.waits_for}"


def told(threads, computers):
    """What is to be said of ``threads``, behind a time: who waits for what, a line for each group of equal ones if they
    are several. ``computers``: the CAB or the node of each."""
    groups = {}
    for thread, computer in zip(threads, computers, strict=True):
        place = where(thread)
        behind = "" if place is None else f" ({place})"
        groups.setdefault((*_state(thread), behind), []).append(f"{words(thread.name)} on {computer.name}")
    lines = []
    for (one, several, behind), names in groups.items():
        more = len(names) - _NAMES
        named = ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{named} {one if len(names) == 1 else several}{behind}")
    if len(lines) == 1:
        return f": {lines[0]}"
    hidden = sum(map(len, list(groups.values())[_LINES:]))
    lines[_LINES:] = [f"and {hidden} more tasks"] if hidden else []
    return "".join([", where", *(f"\n  {line}" for line in lines)])

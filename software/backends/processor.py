"""A CAB's processor, clock edge by clock edge: executes the operations of the door as ``docs/door.md`` rules.

It knows no simulator: whoever has a board's bus pins, in whatever form, calls ``edge`` at each rising edge of the
board's clock with what the pins showed there, and drives what it returns.

Source: "The Design of Nectar" (1989), section 5.2 (the CPU bus); the rules are ours (``docs/door.md``).
"""

from typing import NamedTuple

from ..door import INTERRUPT, THREAD, BusError, OperationKind, Runner

__all__ = ["Processor", "Request", "FOREVER"]

#: More clock edges than any simulation has.
FOREVER = 1 << 62

# What the level that runs is doing.
_FETCH, _ACCESS, _SPEND, _WAIT, _ENDED = range(5)

_LOADS = (OperationKind.READ, OperationKind.READ_BLOCK)


class Request(NamedTuple):
    """What a processor drives on ``bus__address``, ``bus__write``, ``bus__select``, ``bus__write_data`` and
    ``bus__kernel``."""

    address: int  # byte address of a word
    write: bool
    select: int  # bit 3: the byte at the word's own address
    data: int  # the bytes in their lanes; 0 in a load
    kernel: bool  # bus__kernel: level 1, and level 0 in supervisor mode


class Processor:
    """One CPU and its software.

    Parameters
    ----------
    door : Door
        What its software sees.
    main : coroutine
        Its software at level 0; starts at the first call of ``edge``.

    Members
    -------
    edges : int
        Clock edges so far; the number that the next one bears.
    request : Request or None
        What it drives on the bus now; None for ``bus__valid`` = 0.
    turns : int
        How often software has run.
    note : callable(operation) or None
        Called with each NOTE at the edge at which it is done.
    """

    __slots__ = (
        "edges",
        "request",
        "turns",
        "note",
        "_runner",
        "_door",
        "_level",
        "_state",
        "_until",
        "_masked",
        "_supervisor",
        "_handled",
        "_queues",
        "_errors",
        "_saved",
        "_access",
        "_words",
        "_taken",
        "_answers",
    )

    def __init__(self, door, main):
        self.edges = 0
        self.request = None
        self.turns = 0
        self.note = None
        self._runner = Runner(door, main)
        self._door = door
        self._level = THREAD
        self._state = _FETCH
        self._until = 0  # edge at which the spend under way ends
        self._masked = False
        self._supervisor = False  # mode of level 0
        self._handled = False  # a handler has run since level 0 was last resumed
        self._queues = [None, None]  # for each level an iterator of operations
        self._errors = [None, None]  # for each level the first bus error that its software has not heard of
        self._saved = (_FETCH, 0)  # what level 0 was doing: state, cycles that remain of a spend
        self._access = None
        self._words = ()  # requests of the access under way
        self._taken = 0
        self._answers = []

    # -- what the outside may ask --------------------------------------------------------------------
    @property
    def ended(self):
        """Whether the main coroutine has ended and all that it posted is done."""
        return self._state == _ENDED

    @property
    def asleep(self):
        """Whether only an interrupt can make this processor do anything more."""
        return self._state == _ENDED or self._state == _WAIT and not self._handled

    def sleeps(self, irq):
        """How many of the next edges may be left out, as long as the interrupt line stays at ``irq``.

        0 while an access is under way or when an interrupt would be taken; FOREVER in a wait.
        """
        state = self._state
        if state == _ACCESS or state == _FETCH or (irq and state != _ENDED and self._open()):
            return 0
        if state == _SPEND:
            return max(0, self._until - self.edges)
        return 0 if state == _WAIT and self._handled else FOREVER

    def skip(self, edges):
        """Counts ``edges`` that were left out: at most as many as ``sleeps`` allowed, or such at which an access
        only waited."""
        self.edges += edges

    def wake(self):
        """Lets a wait of level 0 end, at the next edge or when it comes: as if a handler had run."""
        self._handled = True

    def close(self):
        """Ends the software where it stands. May be called twice."""
        self._runner.close()
        self.request = None
        self._state = _ENDED

    # -- one edge ------------------------------------------------------------------------------------
    def edge(self, done=False, data=0, error=False, ready=False, irq=False):
        """One rising edge at which ``bus__done``, ``bus__read_data``, ``bus__error``, ``bus__ready`` and ``irq`` were
        seen.

        Returns the Request to drive from now on, or None. Exceptions of the software pass through, and so does a
        bus error of a store that no await of its software follows.
        """
        at = self.edges
        self.edges = at + 1
        if self._queues[THREAD] is None:
            self._resume(THREAD)
        state = self._state
        if state == _ACCESS:
            if done:
                self._respond(data, error)
                done = False
            if ready and self.request is not None:
                taken = self._taken = self._taken + 1
                self.request = self._words[taken] if taken < len(self._words) else None
            if len(self._answers) < len(self._words):
                return self.request
            self._finish()
        elif state == _SPEND and at >= self._until:
            self._state = _FETCH
        elif state == _WAIT and self._handled:
            self._resume(THREAD)
        if done:
            raise RuntimeError("the board has answered a request that nobody made")
        while True:
            if irq and self._state != _ENDED and self._open():
                irq = False
                self._saved = (self._state, max(0, self._until - at))
                self._level = INTERRUPT
                self._state = _FETCH
                self.turns += 1
                self._queues[INTERRUPT] = iter(self._runner.interrupt())
            if self._state != _FETCH:
                return self.request
            if self._fetch(at):
                irq = False

    def _open(self):
        """Whether an interrupt would be taken between operations."""
        return self._level == THREAD and not self._masked and self._door.handler is not None

    def _resume(self, level, value=None):
        """Runs the software of ``level`` with the result of its await, or with the error that it has not heard of."""
        error = self._errors[level]
        self._errors[level] = None
        if level == THREAD:
            self._handled = False
        self.turns += 1
        self._state = _FETCH
        self._queues[level] = iter(self._runner.resume(level, value, error))

    def _fetch(self, at):
        """Begins the next operation of the level that runs. Returns whether a handler has returned."""
        level = self._level
        operation = next(self._queues[level], None)
        if operation is None:
            self._report(level)
            self._state = _ENDED
            return False
        kind = operation.kind
        if kind == OperationKind.SPEND:
            if operation.value:
                self._until = at + operation.value
                self._state = _SPEND
        elif kind == OperationKind.MASK:
            self._masked = bool(operation.value)
        elif kind == OperationKind.MODE:
            self._supervisor = bool(operation.value)
        elif kind == OperationKind.NOTE:
            if self.note is not None:
                self.note(operation)
        elif kind == OperationKind.RETURN:
            self._report(level)
            self._level = THREAD
            if not operation.value:
                self._handled = True
            state, left = self._saved
            if state == _WAIT and self._handled:
                self._resume(THREAD)
            elif state == _WAIT:
                self._state = _WAIT
            elif state == _SPEND and left:
                self._until = at + left
                self._state = _SPEND
            else:
                self._state = _FETCH
            return True
        elif kind >= OperationKind.READ and self._errors[level] is not None:
            self._resume(level)
        elif kind == OperationKind.NOW:
            self._resume(level, at)
        elif kind == OperationKind.WAIT:
            if level == INTERRUPT:
                raise RuntimeError("an interrupt handler cannot wait for an interrupt: it holds all of them off")
            if self._handled:
                self._resume(level)
            else:
                self._state = _WAIT
        elif kind == OperationKind.READ_BLOCK and not operation.size:
            self._resume(level, b"")
        else:
            self._begin(operation)
        return False

    def _report(self, level):
        """Raises the error of a store when the software that posted it has no await left."""
        error = self._errors[level]
        if error is not None:
            self._errors[level] = None
            raise error

    # -- accesses ------------------------------------------------------------------------------------
    def _begin(self, operation):
        kind = operation.kind
        kernel = self._level == INTERRUPT or self._supervisor
        if kind == OperationKind.WRITE or kind == OperationKind.READ:
            self._words = (_single(operation, kernel),)
        else:
            self._words = _block(operation, kernel)
        self._access = operation
        self._taken = 0
        self._answers = []
        self.request = self._words[0]
        self._state = _ACCESS

    def _respond(self, data, error):
        if len(self._answers) >= self._taken:
            raise RuntimeError("the board has answered a request that it has not taken")
        request = self._words[len(self._answers)]
        self._answers.append(data)
        level = self._level
        if error and self._errors[level] is None:
            start = self._access.address
            self._errors[level] = BusError(max(request.address, start), request.write)

    def _finish(self):
        """The last response is in."""
        operation = self._access
        self._state = _FETCH
        if operation.kind in _LOADS:
            if operation.kind == OperationKind.READ:
                value = self._answers[0] >> (4 - operation.size - (operation.address & 3)) * 8
                value &= (1 << 8 * operation.size) - 1
            else:
                offset = operation.address & 3
                words = b"".join(word.to_bytes(4, "big") for word in self._answers)
                value = words[offset : offset + operation.size]
            self._resume(self._level, value)


def _single(operation, kernel):
    """The request of a single access: 1, 2 or 4 bytes in their lanes."""
    size, offset = operation.size, operation.address & 3
    shift = 4 - size - offset
    write = operation.kind == OperationKind.WRITE
    data = (operation.value & (1 << 8 * size) - 1) << 8 * shift if write else 0
    return Request(operation.address & ~3, write, ((1 << size) - 1) << shift, data, kernel)


def _block(operation, kernel):
    """The requests of a block: words, with byte selects at its ends."""
    first, end = operation.address, operation.address + operation.size
    write = operation.kind == OperationKind.WRITE_BLOCK
    base = first & ~3
    length = (end + 3 & ~3) - base
    data = bytes(first - base) + operation.value if write else b""
    data = data.ljust(length, b"\0")
    requests = []
    for offset in range(0, length, 4):
        address = base + offset
        select = 0xF
        if address < first:
            select &= 0xF >> (first - address)
        if address + 4 > end:
            select &= 0xF << (address + 4 - end)
        requests.append(Request(address, write, select, int.from_bytes(data[offset : offset + 4], "big"), kernel))
    return requests

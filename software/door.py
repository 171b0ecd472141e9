"""The one door between software and a CAB: operations on the CPU bus, CPU time, interrupts.

``docs/door.md`` specifies what a processor does with the operations in every clock cycle. This module holds
what all back ends share: the door that software sees, and the two-level runner that turns suspended
coroutines into queues of operations. It knows no simulator and no hardware library.

Source: "The Design of Nectar" (1989), section 5.2 (one SPARC at 16 MHz for each CAB) and 6.1 (coroutines,
interrupt handlers). How long Python code takes is never measured: software says it with ``spend``.
"""

from typing import NamedTuple

from ..hdl.host.numbers import Level, OperationKind

__all__ = [
    "OperationKind",
    "Operation",
    "Awaited",
    "Door",
    "BusError",
    "Runner",
    "STORE",
    "THREAD",
    "INTERRUPT",
    "pieces",
]

#: Level of the kernel and its threads.
THREAD = int(Level.THREAD)
#: Level of the interrupt handler.
INTERRUPT = int(Level.INTERRUPT)


class BusError(Exception):
    """The board refused an access. ``address`` is the byte address, ``write`` tells stores from loads."""

    def __init__(self, address, write):
        super().__init__(
            f"bus error: {'store to' if write else 'load from'} 0x{address:06X}; "
            "no register or memory takes this access (see docs/cab.md)"
        )
        self.address = address
        self.write = write


class Operation(NamedTuple):
    """One operation of a processor."""

    kind: int
    address: int = 0
    size: int = 0  # bytes: 1, 2, 4, or a block's length
    value: object = 0  # int, or the bytes of a WRITE_BLOCK


_WRITE, _WRITE_BLOCK, _SPEND, _READ, _READ_BLOCK, _NOTE = (
    int(kind)
    for kind in (
        OperationKind.WRITE,
        OperationKind.WRITE_BLOCK,
        OperationKind.SPEND,
        OperationKind.READ,
        OperationKind.READ_BLOCK,
        OperationKind.NOTE,
    )
)
#: Kind of the operation ``write``, for ``post``.
STORE = _WRITE
_RETURN, _RETURN_ALONE = Operation(int(OperationKind.RETURN)), Operation(int(OperationKind.RETURN), 0, 0, 1)
_MASK, _UNMASK = Operation(int(OperationKind.MASK), 0, 0, 1), Operation(int(OperationKind.MASK))
_SUPERVISOR, _USER = Operation(int(OperationKind.MODE), 0, 0, 1), Operation(int(OperationKind.MODE))


# Faster than Operation(…).
_new = tuple.__new__


class Awaited:
    """An operation that software awaits, as often as it likes."""

    __slots__ = ("operation",)

    def __init__(self, operation):
        self.operation = operation

    def __await__(self):
        return (yield self.operation)


_NOW, _WAIT = Awaited(Operation(int(OperationKind.NOW))), Awaited(Operation(int(OperationKind.WAIT)))


def _check(address, size):
    if size not in (1, 2, 4):
        raise ValueError(f"an access has 1, 2 or 4 bytes, not {size!r}; use a block for more")
    if address % size:
        raise ValueError(f"address 0x{address:06X} is not a multiple of {size}")


def pieces(start, end, most):
    """(start, end) of the pieces of an area that end at multiples of ``most``."""
    cuts = range(start - start % most + most, end, most)
    return zip((start, *cuts), (*cuts, end))


class Door:
    """What software sees of a CAB.

    Parameters
    ----------
    cpu_hz : int
        Cycles per second of the CAB's CPU (16,000,000 in the prototype).
    recorder : object or None
        What ``note`` notes goes there: ``groups`` (EventGroup) says what is wanted, ``name(text)`` the number
        that stands for a text. None: nothing is recorded.

    Members
    -------
    groups : int
        EventGroups that are recorded, 0 for none: to be looked at before ``note`` is called.
    name : callable(str) → int or None
        The recorder's; None without one.
    spent : int
        CPU cycles that have been spent behind all that was posted. ``spent += n`` is ``spend(n)`` of a number that is
        certainly not negative, without a call: 18 of the 374 calls that a datagram took in Python were of ``spend``.
    handler, first
        See ``attach``.
    attached_anew : bool
        For back ends: ``attach`` has been called since they set this to False.
    words : list of int
        For back ends: what has been posted and not been taken out, for each operation its kind, address, size and
        value.
    blocks : bytearray
        For back ends: the bytes of all blocks among it; a block's value is the place of its bytes.

    Not for threads of the host: one coroutine at a time uses it.
    """

    __slots__ = ("cpu_hz", "handler", "first", "attached_anew", "groups", "name", "spent", "words", "blocks")

    def __init__(self, cpu_hz, recorder=None):
        self.cpu_hz = cpu_hz
        self.groups = 0 if recorder is None else int(recorder.groups)
        self.name = None if recorder is None else recorder.name
        self.handler = None
        self.first = ()
        self.attached_anew = True
        self.spent = 0
        self.words = []
        self.blocks = bytearray()

    # -- posted: return at once, take effect in order ------------------------------------------------
    def post(self, words):
        """Posts operations as numbers, for each its kind, address, size and value, none of them with bytes: several
        in one call, and such as were made before.

        A ``write`` of a word is ``STORE, address, 4, value``."""
        if self.spent:
            self.words.extend((_SPEND, 0, 0, self.spent))
            self.spent = 0
        self.words.extend(words)

    def write(self, address, value, size=4):
        """Stores ``size`` (1, 2, 4) bytes of ``value``, big-endian, at an aligned byte address."""
        if size != 4 or address & 3:
            _check(address, size)
        if self.spent:
            self.words.extend((_SPEND, 0, 0, self.spent))
            self.spent = 0
        self.words.extend((_WRITE, address, size, value))

    def write_block(self, address, data):
        """Stores the bytes of ``data`` at consecutive addresses, one word a cycle at best."""
        if data:
            if self.spent:
                self.words.extend((_SPEND, 0, 0, self.spent))
                self.spent = 0
            self.words.extend((_WRITE_BLOCK, address, len(data), len(self.blocks)))
            self.blocks += data

    def write_pieces(self, address, data, most):
        """As ``write_block``, in several operations, which end at multiples of ``most`` bytes."""
        if self.spent:
            self.words.extend((_SPEND, 0, 0, self.spent))
            self.spent = 0
        place = len(self.blocks) - address
        self.blocks += data
        end = address + len(data)
        for start, stop in pieces(address, end, most):
            self.words.extend((_WRITE_BLOCK, start, stop - start, place + start))

    def spend(self, cycles):
        """The CPU computes for ``cycles`` (int, 0 or more) CPU cycles."""
        if cycles < 0:
            raise ValueError(f"a CPU cannot spend {cycles} cycles")
        self.spent += cycles

    def note(self, kind, detail=0, a=0, b=0, c=0):
        """Records an event of ``kind`` (EventKind) when all that was posted before is done; takes no time.

        ``detail`` has 8 bits, ``a`` 32, ``b`` 64 with a sign, ``c`` 31; ``docs/recording.md`` says what they are.
        """
        self.post((_NOTE, kind | detail << 8, a | c << 32, b))

    def mask(self):
        """Holds interrupts off from here on, until ``unmask``."""
        self.post(_MASK)

    def unmask(self):
        """Lets interrupts in again."""
        self.post(_UNMASK)

    def supervise(self, on):
        """From here on accesses of level 0 are made in the kernel's domain (``on``), or in that of the register
        DOMAIN."""
        self.post(_SUPERVISOR if on else _USER)

    # -- awaited: wait for all that was posted -------------------------------------------------------
    def read(self, address, size=4):
        """Awaitable: loads 1, 2 or 4 bytes from an aligned address; an int. May raise BusError."""
        if size != 4 or address & 3:
            _check(address, size)
        return Awaited(_new(Operation, (_READ, address, size, 0)))

    def read_block(self, address, length):
        """Awaitable: loads ``length`` bytes, one word a cycle at best. May raise BusError."""
        return Awaited(_new(Operation, (_READ_BLOCK, address, length, 0)))

    def now(self):
        """Awaitable: CPU cycles since reset, once everything posted is done."""
        return _NOW

    def wait(self):
        """Awaitable: sleeps until an interrupt handler has run since this level was last resumed, except handlers that
        have returned True."""
        return _WAIT

    # -- interrupts ----------------------------------------------------------------------------------
    def attach(self, handler, first=()):
        """``handler``: coroutine function, run at interrupt level when the line is up. If it returns True, level 0 need
        not look whether it has something to do: a ``wait`` goes on, as far as the back end has that.

        ``first``: Operations that an interrupt begins with, the last of them one that is awaited, before any software
        runs. The handler is called with its result; with ``first`` empty it is called without arguments.
        """
        self.handler = handler
        self.first = tuple(first)
        self.attached_anew = True

    def nanoseconds(self, cycles):
        """``cycles`` of this CPU in nanoseconds (float)."""
        return cycles * 1e9 / self.cpu_hz


class Runner:
    """Runs a processor's software for a back end: resumes it and hands out its operations.

    Its methods return lists of operations: posted ones, then one that is awaited (or RETURN at interrupt level). The
    list is empty, or lacks its awaited end, only when the main coroutine has ended: then ``ended`` is true. Exceptions
    of the software pass through to the caller.
    """

    __slots__ = ("door", "main", "ended", "_handler")

    def __init__(self, door, main):
        self.door = door
        self.main = main
        self.ended = False
        self._handler = None

    def step(self, level, value=None, error=None):
        """Continues the software of ``level`` with the result of what it awaits, or with ``error`` raised there.

        Returns operations as numbers, as ``Door.words`` has them. The bytes of blocks stay in ``Door.blocks`` for the
        caller to take out.
        """
        coroutine = self.main if level == THREAD else self._handler
        try:
            if coroutine is None:  # what an interrupt begins with is done
                if error is not None:
                    raise error
                self._handler = coroutine = self.door.handler(value)
                last = coroutine.send(None)
            else:
                last = coroutine.send(value) if error is None else coroutine.throw(error)
        except StopIteration as end:
            if level == THREAD:
                self.ended = True
                last = ()
            else:
                self._handler = None
                last = _RETURN_ALONE if end.value else _RETURN
        door = self.door
        words = door.words
        door.words = []
        if door.spent:
            words += (_SPEND, 0, 0, door.spent)
            door.spent = 0
        words += last
        return words

    def begin(self):
        """Starts the attached handler at interrupt level, of which nothing comes before the software; as ``step``."""
        self._handler = self.door.handler()
        return self.step(INTERRUPT)

    def resume(self, level, value=None, error=None):
        """As ``step``; returns Operations."""
        return self._operations(self.step(level, value, error))

    def interrupt(self):
        """Starts the attached handler at interrupt level, or what comes before it."""
        return list(self.door.first) or self._operations(self.begin())

    def _operations(self, words):
        """Operations from numbers; the bytes of blocks are taken out of the door."""
        door = self.door
        operations = []
        for operation in zip(*[iter(words)] * 4, strict=True):
            kind, address, size, value = operation
            if kind == _WRITE_BLOCK:
                operation = kind, address, size, bytes(door.blocks[value : value + size])
            operations.append(Operation._make(operation))
        door.blocks = bytearray()
        return operations

    def close(self):
        """Ends the software where it stands; its ``finally`` clauses run, what they post is dropped."""
        for coroutine in (self._handler, self.main):
            if coroutine is not None:
                coroutine.close()
        self._handler = None
        self.ended = True
        self.door.words, self.door.blocks, self.door.spent = [], bytearray(), 0

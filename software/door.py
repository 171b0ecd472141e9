"""The one door between software and a CAB: operations on the CPU bus, CPU time, interrupts.

``docs/door.md`` specifies what a processor does with the operations in every clock cycle. This module holds
what all back ends share: the door that software sees, and the two-level runner that turns suspended
coroutines into queues of operations. It knows no simulator and no hardware library.

Source: "The Design of Nectar" (1989), section 5.2 (one SPARC at 16 MHz for each CAB) and 6.1 (coroutines,
interrupt handlers). How long Python code takes is never measured: software says it with ``spend``.
"""

from typing import NamedTuple

from ..hdl.host.numbers import Level, OperationKind

__all__ = ["OperationKind", "Operation", "Door", "BusError", "Runner", "THREAD", "INTERRUPT"]

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


# Faster than Operation(…): doors make some ten of these for every packet.
_new = tuple.__new__
_WRITE, _WRITE_BLOCK, _SPEND, _READ, _READ_BLOCK = (
    OperationKind.WRITE,
    OperationKind.WRITE_BLOCK,
    OperationKind.SPEND,
    OperationKind.READ,
    OperationKind.READ_BLOCK,
)
_NOTE = OperationKind.NOTE
_RETURN, _MASK, _UNMASK = (
    Operation(OperationKind.RETURN),
    Operation(OperationKind.MASK, 0, 0, 1),
    Operation(OperationKind.MASK),
)
_SUPERVISOR, _USER = Operation(OperationKind.MODE, 0, 0, 1), Operation(OperationKind.MODE)


class _Value:
    """An operation that software awaits."""

    __slots__ = ("operation",)

    def __init__(self, operation):
        self.operation = operation

    def __await__(self):
        return (yield self.operation)


def _check(address, size):
    if size not in (1, 2, 4):
        raise ValueError(f"an access has 1, 2 or 4 bytes, not {size!r}; use a block for more")
    if address % size:
        raise ValueError(f"address 0x{address:06X} is not a multiple of {size}")


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

    Not for threads of the host: one coroutine at a time uses it.
    """

    __slots__ = ("cpu_hz", "handler", "groups", "name", "_posted", "_spent")

    def __init__(self, cpu_hz, recorder=None):
        self.cpu_hz = cpu_hz
        self.groups = 0 if recorder is None else int(recorder.groups)
        self.name = None if recorder is None else recorder.name
        self.handler = None
        self._posted = []
        self._spent = 0  # cycles of spends behind what is in the list: one operation in the end

    def _flush(self):
        """Puts the spends since the last operation into the list."""
        self._posted.append(_new(Operation, (_SPEND, 0, 0, self._spent)))
        self._spent = 0

    def take(self):
        """For back ends: takes out all operations that were posted."""
        if self._spent:
            self._flush()
        operations = self._posted
        self._posted = []
        return operations

    # -- posted: return at once, take effect in order ------------------------------------------------
    def write(self, address, value, size=4):
        """Stores ``size`` (1, 2, 4) bytes of ``value``, big-endian, at an aligned byte address."""
        if size != 4 or address & 3:
            _check(address, size)
        if self._spent:
            self._flush()
        self._posted.append(_new(Operation, (_WRITE, address, size, value)))

    def write_block(self, address, data):
        """Stores the bytes of ``data`` at consecutive addresses, one word a cycle at best."""
        if data:
            if self._spent:
                self._flush()
            self._posted.append(_new(Operation, (_WRITE_BLOCK, address, len(data), bytes(data))))

    def spend(self, cycles):
        """The CPU computes for ``cycles`` (int, 0 or more) CPU cycles."""
        if cycles < 0:
            raise ValueError(f"a CPU cannot spend {cycles} cycles")
        self._spent += cycles

    def note(self, kind, detail=0, a=0, b=0, c=0):
        """Records an event of ``kind`` (EventKind) when all that was posted before is done; takes no time.

        ``detail`` has 8 bits, ``a`` 32, ``b`` 64 with a sign, ``c`` 31; ``docs/recording.md`` says what they are.
        """
        if self._spent:
            self._flush()
        self._posted.append(_new(Operation, (_NOTE, kind | detail << 8, a | c << 32, b)))

    def mask(self):
        """Holds interrupts off from here on, until ``unmask``."""
        if self._spent:
            self._flush()
        self._posted.append(_MASK)

    def unmask(self):
        """Lets interrupts in again."""
        if self._spent:
            self._flush()
        self._posted.append(_UNMASK)

    def supervise(self, on):
        """From here on accesses of level 0 are made in the kernel's domain (``on``), or in that of the register
        DOMAIN."""
        if self._spent:
            self._flush()
        self._posted.append(_SUPERVISOR if on else _USER)

    # -- awaited: wait for all that was posted -------------------------------------------------------
    def read(self, address, size=4):
        """Awaitable: loads 1, 2 or 4 bytes from an aligned address; an int. May raise BusError."""
        if size != 4 or address & 3:
            _check(address, size)
        return _Value(_new(Operation, (_READ, address, size, 0)))

    def read_block(self, address, length):
        """Awaitable: loads ``length`` bytes, one word a cycle at best. May raise BusError."""
        return _Value(_new(Operation, (_READ_BLOCK, address, length, 0)))

    def now(self):
        """Awaitable: CPU cycles since reset, once everything posted is done."""
        return _Value(Operation(OperationKind.NOW))

    def wait(self):
        """Awaitable: sleeps until an interrupt handler has run since this level was last resumed."""
        return _Value(Operation(OperationKind.WAIT))

    # -- interrupts ----------------------------------------------------------------------------------
    def attach(self, handler):
        """``handler``: coroutine function without arguments, run at interrupt level when the line is up."""
        self.handler = handler

    def nanoseconds(self, cycles):
        """``cycles`` of this CPU in nanoseconds (float)."""
        return cycles * 1e9 / self.cpu_hz


class Runner:
    """Runs a processor's software for a back end: resumes it and hands out its operations.

    Every method that runs software returns a list of operations: posted ones, then one that is awaited (or
    RETURN at interrupt level). The list is empty, or lacks its awaited end, only when the main coroutine has
    ended: then ``ended`` is true. Exceptions of the software pass through to the caller.
    """

    __slots__ = ("door", "main", "ended", "_handler")

    def __init__(self, door, main):
        self.door = door
        self.main = main
        self.ended = False
        self._handler = None

    def _step(self, coroutine, value, error):
        operation = coroutine.throw(error) if error is not None else coroutine.send(value)
        operations = self.door.take()
        operations.append(operation)
        return operations

    def resume(self, level, value=None, error=None):
        """Continues the software of ``level`` with the result of what it awaits, or with ``error`` raised there."""
        if level == INTERRUPT:
            try:
                return self._step(self._handler, value, error)
            except StopIteration:
                self._handler = None
                operations = self.door.take()
                operations.append(_RETURN)
                return operations
        try:
            return self._step(self.main, value, error)
        except StopIteration:
            self.ended = True
            return self.door.take()

    def interrupt(self):
        """Starts the attached handler at interrupt level."""
        self._handler = self.door.handler()
        return self.resume(INTERRUPT)

    def close(self):
        """Ends the software where it stands; its ``finally`` clauses run, what they post is dropped."""
        for coroutine in (self._handler, self.main):
            if coroutine is not None:
                coroutine.close()
        self._handler = None
        self.ended = True
        self.door.take()

"""A board at the other end of a line: what its processors want, and what they are given.

``docs/cable.md`` specifies requests, items and turns.
"""

import time
from collections import deque

from ....hdl.cab.addresses import REGIONS
from ....hdl.host.numbers import BAUD, BUFFER_WORDS, FRAME_WORDS, RESET_EDGES, Item, Reason, Request, Turn
from ....hdl.hub.profile import HUB_PROFILES
from ...door import INTERRUPT, THREAD, BusError, Door, Operation, OperationKind, Runner
from ...errors import CableError
from .line import Line
from .words import TurnWords, awaits, encode, turns, value

__all__ = ["Board"]

#: Edges of a GO: at first, and at most. It is to last some time that a user does not notice.
_FEW, _MOST = 1 << 14, (1 << 32) - 1
_SHORT_S, _LONG_S = 0.05, 0.25
#: Words of a GO besides its items: header, limit, checksum.
_FIXED = 3
_NOW = Operation(OperationKind.NOW)


class _Cpu:
    """A processor in the FPGA, seen from here."""

    def __init__(self, runner):
        self.runner = runner
        self.awaited = [None, None]  # for each level what its software waits for
        self.loads = [deque(), deque()]  # for each level what the processor has not got yet
        self.results = []
        # For each level a NOTE under way, for which the processor tells the time, and the operations behind it; and an
        # error that the software is to hear of at its next await.
        self.notes = [None, None]
        self.errors = [None, None]
        self.handled = False  # a handler has run, or WAKE was given, since level 0 was last resumed


class Board:
    """A board with CABs: a cluster, or a lone CAB whose fiber is on its pins.

    Parameters
    ----------
    path : str
        The serial line.
    baud : int
        Its bits in a second.
    recorder : Recorder or None
        What takes the notes of its software. Each costs a request.
    line : keyword arguments of ``Line``

    Members
    -------
    line : Line
    cabs : int
        CABs that it has.
    ports : int
        Ports of the HUB inside; 0: there is none.
    hub_id : int
    hub_profile : str
        Of that HUB.
    period_ps : int
        Of its clock.
    symbol_ps : int
        Time of a symbol on its fibers.
    memory_bytes : int
        Data memory of each CAB.
    names : list of str
        Names of the CABs that are used, which ``use`` has given them.
    doors : dict of str → Door
    turns : deque
        Turns that are to be served.
    going : bool
        Its time goes on: a GO was begun that has not ended.
    edges : int
        Clock edges since the reset, when its time stood still last.

    Raises CableError.
    """

    def __init__(self, path, baud=BAUD, recorder=None, **line):
        self.recorder = recorder
        self.line = Line(path, baud, **line)
        self.names, self.doors, self._cpus = [], {}, []
        try:
            self._identify()
        except BaseException:
            self.line.close()
            raise

    def _identify(self):
        shape, self.period_ps, memory, symbol_ps, *_ = [*self.line.identify(), 0, 0, 0, 0]
        self.cabs, self.ports, self.hub_id, profile = shape.to_bytes(4, "big")
        data_bytes, _, buffer, _ = memory.to_bytes(4, "big")
        if (
            not self.cabs
            or not self.period_ps
            or 1 << buffer != BUFFER_WORDS
            or profile >= len(HUB_PROFILES)
            or 1 << data_bytes > REGIONS["data"].size
        ):
            raise CableError(
                f"{self.line.path}: the board says of itself what cannot be; build its top with this version of Nectar"
            )
        self.hub_profile = list(HUB_PROFILES)[profile]
        self.memory_bytes = 1 << data_bytes
        self.symbol_ps = symbol_ps or self.period_ps

    @property
    def lone(self):
        """Whether it is a CAB with a fiber on its pins."""
        return not self.ports

    def use(self, names):
        """Gives the first of its CABs names, and Doors."""
        self.names = list(names)
        self.reset()

    def reset(self):
        """Resets all that is on it. Its software is ended; the Doors are new."""
        self._end()
        self.doors = {name: Door(1e12 / self.period_ps, self.recorder) for name in self.names}
        self._cpus = [None] * len(self.names)
        self._items = []  # what the next GO brings
        self._parts = deque()  # GOs that stand behind the one that was begun
        self._stretch = _FEW  # edges of a GO
        self.going = False
        self.edges = 0
        self.turns = deque()  # TurnWords, and CABs whose software is to start
        self._status(self.line.reset())

    def start(self, name, main):
        """Gives a CAB its main coroutine; it starts at the CAB's next clock edge."""
        index = self.names.index(name)
        if self._cpus[index] is not None:
            raise RuntimeError(f"{name} has its software already")
        self._cpus[index] = _Cpu(Runner(self.doors[name], main))
        self.turns.append(index)

    def wake(self, name):
        """Ends a wait of the main coroutine of a CAB, now or when it comes to wait."""
        index = self.names.index(name)
        if self._cpus[index] is not None:
            self._cpus[index].handled = True
            self._items.append([Item.WAKE << 28 | index << 24])

    # -- turns ---------------------------------------------------------------------------------------
    def serve(self):
        """Does what a processor wants, or starts the software of a CAB. ``turns`` must not be empty."""
        turn = self.turns.popleft()
        if not isinstance(turn, TurnWords):
            self._software(turn, THREAD, lambda runner: runner.resume(THREAD))
            return
        cpu = self._cpus[turn.cab]
        if turn.turn == Turn.MORE:
            self._load(turn.cab, turn.level)
        elif turn.turn == Turn.RESULTS:
            cpu.results += turn.results
            self._put(turn.cab, [])
        elif turn.turn == Turn.UNHANDLED:
            self._put(turn.cab, [])
            raise BusError(turn.error_address, turn.error_write)
        elif turn.turn == Turn.INTERRUPT:
            cpu.handled = True
            self._software(turn.cab, INTERRUPT, lambda runner: runner.interrupt())
        elif cpu.notes[turn.level] is not None:
            self._noted(turn)
        elif turn.failed or cpu.errors[turn.level] is not None:
            error = cpu.errors[turn.level] or BusError(turn.error_address, turn.error_write)
            cpu.errors[turn.level] = None
            self._software(turn.cab, turn.level, lambda runner: runner.resume(turn.level, None, error))
        else:
            got = value(cpu.awaited[turn.level], cpu.results + turn.results, self.edges)
            self._software(turn.cab, turn.level, lambda runner: runner.resume(turn.level, got))

    def _software(self, index, level, step):
        """Runs software of a CAB and gives its operations to the processor."""
        cpu = self._cpus[index]
        if level == THREAD:
            cpu.handled = False
        try:
            self._give(index, level, step(cpu.runner))
        except BaseException:
            self._items.append([Item.HALT << 28 | index << 24])
            cpu.runner.close()
            raise

    def _noted(self, turn):
        """A processor has told the time of a NOTE, and goes on with what is behind it."""
        cpu = self._cpus[turn.cab]
        note, rest = cpu.notes[turn.level]
        cpu.notes[turn.level] = None
        if turn.failed:
            # The software hears of it when it awaits something, which then is not done.
            cpu.errors[turn.level] = BusError(turn.error_address, turn.error_write)
        if cpu.errors[turn.level] is not None and rest and awaits(rest[-1]):
            rest[-1] = _NOW
        place = self.recorder.places.index(self.names[turn.cab])
        self.recorder.note(self.time_ps, place, note)
        if turn.level == THREAD and cpu.handled:
            # That the time was told is no reason to wait for another handler.
            self._items.append([Item.WAKE << 28 | turn.cab << 24])
        self._give(turn.cab, turn.level, rest)

    def _give(self, index, level, operations):
        """Gives operations to a processor, up to the first NOTE."""
        cpu = self._cpus[index]
        cpu.results = []
        at = next((at for at, each in enumerate(operations) if each.kind == OperationKind.NOTE), None)
        if at is not None:
            cpu.notes[level] = operations[at], operations[at + 1 :]
            operations = [*operations[:at], _NOW]
        given = encode(operations)
        if level == INTERRUPT and given.awaited is not None and given.awaited.kind == OperationKind.WAIT:
            raise RuntimeError(
                f"{self.names[index]}: an interrupt handler cannot wait for an interrupt: it holds all of them off"
            )
        cpu.awaited[level] = given.awaited
        cpu.loads[level].extend(given.loads)
        self._load(index, level)

    def _load(self, index, level):
        """The next words of a level's operations."""
        loads = self._cpus[index].loads[level]
        if not loads:
            raise CableError(
                f"{self.line.path}: {self.names[index]} wants operations that there are not: the board does not follow "
                f"the protocol"
            )
        cpu = self._cpus[index]
        words = loads.popleft()
        final = not loads and cpu.runner.ended and cpu.notes[THREAD] is None
        self._put(index, words, final=final)

    def _put(self, index, words, final=False):
        attached = self.doors[self.names[index]].handler is not None
        self._items.append([Item.LOAD << 28 | index << 24 | final << 21 | attached << 20 | len(words), *words])

    # -- time ----------------------------------------------------------------------------------------
    def go(self, end=None):
        """Gives the board what there is for it and lets its time go on, to edge ``end`` at most.

        Returns False if it is there already, and there is nothing to give; else True, and ``came`` tells how it went
        on."""
        left = self._stretch if end is None else min(self._stretch, end - self.edges)
        if left <= 0 and not self._items:
            return False
        items, self._items = self._items, []
        words = []
        for item in items:
            if len(words) + len(item) > FRAME_WORDS - _FIXED:
                self._parts.append([0, *words])
                words = []
            words += item
        self._parts.append([max(0, left), *words])
        self.going = True
        self._begin()
        return True

    def _begin(self):
        self._begun = time.monotonic()
        self.line.begin(Request.GO, self._parts.popleft())

    def came(self):
        """Looks for the end of the GO: the Reason why time stands still again, or None if it does not."""
        answer = self.line.answer()
        if answer is None:
            return None
        reason, turns = self._status(answer)
        if self._parts:
            self._begin()
            return None
        self.turns = turns
        self.going = False
        took = time.monotonic() - self._begun
        if took > _LONG_S:
            self._stretch = max(_FEW, self._stretch // 2)
        elif reason == Reason.LIMIT and took < _SHORT_S:
            self._stretch = min(_MOST, 2 * self._stretch)
        return reason

    def _status(self, words):
        """Takes in an answer: (Reason, turns)."""
        try:
            reason, high, low, *rest = words
            found = deque(turns(rest))
            if any(turn.cab >= len(self.names) for turn in found):
                raise ValueError("a CAB that there is not")
            self.edges = high << 32 | low
            return Reason(reason), found
        except ValueError as error:
            raise CableError(
                f"{self.line.path}: the board's answer makes no sense ({error}); build its top with this version of "
                f"Nectar"
            ) from error

    def edge(self, time_ps):
        """The clock edge at that time."""
        return max(0, -(-time_ps // self.period_ps) - RESET_EDGES)

    @property
    def time_ps(self):
        """How long its clock has run, in picoseconds."""
        return (RESET_EDGES + self.edges - 1) * self.period_ps if self.edges else 0

    def _end(self):
        for cpu in self._cpus:
            if cpu is not None:
                cpu.runner.close()
        self._cpus = [None] * len(self._cpus)

    def close(self):
        """Ends all software and gives the line back. May be called twice."""
        self._end()
        self.line.close()

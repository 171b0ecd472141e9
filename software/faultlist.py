"""The faults of a running system: ``system.faults``. ``docs/faults.md`` specifies it."""

from .errors import FaultError
from .faults import BOARD_FAULTS, Fault, directions, key
from .machine import Capability, require

__all__ = ["FaultList", "Placed"]


class Placed:
    """A fault that has been set.

    Members
    -------
    fault : Fault
    hits : int
        How often it has struck.
    symbols : int
        How many symbols were damaged, lost, doubled or delayed by it.
    """

    def __init__(self, machine, fault, parts=()):
        self.fault = fault
        self._machine = machine
        self._parts = parts

    @property
    def hits(self):
        return sum(part.count()[0] for part in self._parts)

    @property
    def symbols(self):
        return sum(part.count()[1] for part in self._parts)

    def end(self):
        """Ends it now."""
        for part in self._parts:
            part.end(self._machine.time_ps)


class _Event:
    """A fault of a board: something that begins at a time, and perhaps ends."""

    def __init__(self, machine, begin, finish, begin_ps, end_ps):
        self._machine = machine
        self._begin, self._finish = begin, finish
        self._hits = 0
        self._state = 0  # 0: to come, 1: begun, 2: over
        machine.plan(begin_ps, self._start)
        if end_ps is not None:
            machine.plan(end_ps, self._stop)

    def _start(self):
        if self._state == 0:
            self._state = 1
            self._hits += self._begin() is not False

    def _stop(self):
        begun, self._state = self._state == 1, 2
        if begun and self._finish is not None:
            self._finish()

    def count(self):
        return self._hits, 0

    def end(self, time_ps):
        self._machine.plan(time_ps, self._stop)


class FaultList:
    """What goes wrong in a system. Its methods return a Placed; they raise FaultError, and CapabilityError on a machine
    without faults.

    Parameters
    ----------
    machine : Machine
    stop, restart : callable(CAB name)
        What the system does when a CAB is stopped (False if it was), and started again. ``restart``: None if that
        cannot be.
    seed : int

    Members
    -------
    seed : int
        What all of it is drawn from.
    """

    def __init__(self, machine, stop, restart, seed=1):
        self._machine = machine
        self._stop = stop
        self._restart = restart
        self._placed = []
        self._seed = seed

    @property
    def seed(self):
        return self._seed

    @seed.setter
    def seed(self, seed):
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise FaultError(f"a seed is a whole number, not {seed!r}")
        if self._placed:
            raise FaultError("the seed must be set before the first fault")
        self._seed = seed

    # -- setting -------------------------------------------------------------------------------------
    def add(self, fault):
        """A Fault, or one as text."""
        if isinstance(fault, str):
            fault = Fault.parse(fault)
        machine = self._machine
        require(machine, Capability.FAULTS)
        begin = machine.time_ps if fault.at_ps is None else fault.at_ps
        if begin < machine.time_ps:
            raise FaultError(f"{fault}: that time has passed, it is {machine.time_ps / 1e6:g} us now")
        end = None if fault.for_ps is None else begin + fault.for_ps
        if fault.what in BOARD_FAULTS:
            parts = [_Event(machine, *self._board(fault), begin, end)]
        else:
            number = len(self._placed) + 1
            parts = [
                machine.fault(ends, fault, key(self._seed, ends, number), begin, end)
                for ends in directions(fault.where, machine.fibers)
            ]
        placed = Placed(machine, fault, parts)
        self._placed.append(placed)
        return placed

    def _board(self, fault):
        """What begins and what ends the fault of a board."""
        machine, where = self._machine, fault.where
        if fault.what == "stop":
            if where not in machine.doors:
                raise FaultError(f"stop: there is no CAB {where}; there are {', '.join(machine.doors)}")
            if self._restart is None:
                if fault.for_ps is not None:
                    raise FaultError(f"{fault}: {where} does not start again on this machine")
                return lambda: self._stop(where), None
            return lambda: self._stop(where), lambda: self._restart(where)
        if not machine.hub_ports:
            raise FaultError(f"{fault.what}: there is no HUB in this system")
        hub, dot, port = where.partition(".P")
        ports = machine.hub_ports.get(hub)
        if ports is None or bool(dot) != (fault.what == "disable"):
            what, form = ("port of a HUB", "HUB1.P3") if fault.what == "disable" else ("HUB", "HUB1")
            raise FaultError(
                f"{fault.what}: {where} is no {what}; write it as {form}; there are {', '.join(machine.hub_ports)}"
            )
        if fault.what == "reset":
            return lambda: machine.reset(hub), None
        if not port.isdecimal() or int(port) >= ports:
            raise FaultError(f"disable: {hub} has no port P{port}; its ports are P0 to P{ports - 1}")
        machine.check_enable(hub)
        return lambda: machine.enable(hub, int(port), False), lambda: machine.enable(hub, int(port), True)

    def errors(self, where, rate=None, **more):
        """Bit errors. ``kind``, ``nth``, ``times``, ``length``, ``at_us``, ``for_us``: see the page."""
        return self._set(where, "errors", rate=rate, **more)

    def lose(self, where, rate=None, **more):
        """Symbols or frames are lost."""
        return self._set(where, "lost", rate=rate, **more)

    def double(self, where, rate=None, **more):
        """Symbols or frames arrive twice."""
        return self._set(where, "doubled", rate=rate, **more)

    def cut(self, where, at_us=None, for_us=None):
        """Nothing passes."""
        return self._set(where, "cut", at_us=at_us, for_us=for_us)

    def delay(self, where, delay_us, at_us=None, for_us=None):
        """Everything arrives later by ``delay_us``."""
        return self._set(where, "delay", delay_ps=_ps(delay_us), at_us=at_us, for_us=for_us)

    def disable(self, port, at_us=None, for_us=None):
        """A HUB's port (``HUB1.P3``) is disabled."""
        return self._set(port, "disable", at_us=at_us, for_us=for_us)

    def reset(self, hub, at_us=None):
        """A HUB is reset."""
        return self._set(hub, "reset", at_us=at_us)

    def stop(self, cab, at_us=None, for_us=None):
        """A CAB's software ends; at the end of ``for_us`` it starts afresh."""
        return self._set(cab, "stop", at_us=at_us, for_us=for_us)

    def _set(self, where, what, at_us=None, for_us=None, **more):
        return self.add(Fault(where, what, at_ps=_ps(at_us), for_ps=_ps(for_us), **more))

    # -- what was done -------------------------------------------------------------------------------
    def report(self):
        """(fault as text, hits, symbols) of each, in the order of their setting."""
        return [(str(placed.fault), placed.hits, placed.symbols) for placed in self._placed]


def _ps(us):
    return None if us is None else round(us * 1_000_000)

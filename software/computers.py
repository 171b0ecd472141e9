"""What the systems of all machines have in common: tasks on computers, runs, results, errors.

Which machine (simulated RTL, cocotb, model) is no concern of this module, nor what carries messages. docs/machines.md
tells what a machine's system adds.
"""

from .door import BusError
from .errors import CabStopped, ProgramError, UnfinishedRun, described
from .kernel.thread import words
from .machine import QUIET, TIME, Capability
from .times import time_text
from .unfinished import told

__all__ = ["Computers"]


class Computers:
    """The computers of a machine, and the tasks that run on them.

    Parameters
    ----------
    machine : Machine
        Has a door for each computer.
    limit_ps : int or None
        Simulated time at which whatever runs is stopped, in picoseconds.

    Members
    -------
    results : list of dict
        What was reported.
    topology, profile
        What the system was made of, for programs that ask; None without it.
    layers : list of callable(Processor)
        Called with each computer that starts again: software above this one puts itself there.
    faults : FaultList
        What is to go wrong, see docs/faults.md; a subclass sets it.
    """

    #: What a computer is called, in messages.
    word = "computer"

    def __init__(self, machine, limit_ps=None):
        self.machine = machine
        self.results = []
        self.topology = self.profile = None
        self.layers = []
        self._limit_ps = limit_ps
        self._cabs = {}  # name -> Processor
        self._tasks = {}  # threads made by ``spawn`` that have not ended and that ``run`` waits for -> Processor
        self._daemons = {}  # the same of those that it does not wait for
        self._error = None  # what the run is to end by, whatever the tasks do
        self._failed = False
        self._runs = False
        self._stopped = set()  # names of those whose software a fault has ended

    # -- computers that stop -------------------------------------------------------------------------
    def _stop(self, name):
        """Ends the software of a computer where it stands. Returns False if that has happened already."""
        if name in self._stopped:
            return False
        self._stopped.add(name)
        cab = self._cabs[name]
        cab.kernel.on_end = cab.kernel.on_fail = None
        for thread in self._forget(cab):
            thread.stopped(CabStopped(f"{name} was stopped at {self._time()} while {words(thread.name)} ran on it"))
        self.machine.stop(name)
        cab.kernel.close()
        return True

    def _forget(self, computer):
        """Waits for no task of a computer any more. Returns these."""
        threads = []
        for tasks in (self._tasks, self._daemons):
            threads += (mine := [thread for thread, where in tasks.items() if where is computer])
            for thread in mine:
                del tasks[thread]
        return threads

    # -- what there is -------------------------------------------------------------------------------
    @property
    def cabs(self):
        """The computers whose software runs here, in their order: on Nectar the CABs."""
        return list(self._cabs.values())

    def cab(self, name):
        """The computer of that name. ProgramError if there is none."""
        cab = self._cabs.get(name)
        if cab is None:
            raise ProgramError(
                f"{self._missing(name)}; there {'is' if len(self._cabs) == 1 else 'are'} {', '.join(self._cabs)}"
            )
        return cab

    def _missing(self, name):
        return f"there is no {self.word} {name!r}"

    @property
    def nodes(self):
        """The nodes behind computers, by the names of these; none on most machines."""
        return {}

    def node(self, name):
        """The node behind the computer of that name. ProgramError if it has none."""
        raise ProgramError(f"{self.cab(name).name} has no node behind it on this machine")

    def id_of(self, name):
        """The number on the network of the computer of that name."""
        return self.cab(name).id

    @property
    def time_ns(self):
        """Simulated time in nanoseconds (float)."""
        return self.machine.time_ps / 1000

    @property
    def recorder(self):
        """The machine's Recorder (docs/recording.md), or None: ``recorder.recording()`` reads what has happened so
        far. None, too, if the machine cannot record."""
        return self.machine.recorder if Capability.EVENTS in self.machine.capabilities else None

    def report(self, id, value, unit=None, *, target=None, ok=None, **more):
        """Notes a result of the program, for ``nectar run --json``.

        ``id`` names it, ``value`` is in ``unit``, ``target`` is what it should be, ``ok`` whether it is (None: nothing
        was asked for). A result that is not ok makes ``nectar run`` end with exit code 1."""
        self.results.append({"id": id, "value": value, "unit": unit, "target": target, "ok": ok, **more})

    @property
    def received(self):
        """(messages, bytes of streams) that the computers have received so far."""
        return sum(cab.kernel.notes.received for cab in self.cabs), 0

    # -- tasks ---------------------------------------------------------------------------------------
    def spawn(self, cab_name, task, *args, name=None, protected=False, daemon=False):
        """Starts ``task(cab, *args)`` on a computer. Returns its Thread; ``result`` holds what it returned once ``run``
        is over.

        ``protected``: in a protection domain of its own (docs/kernel.md). ``daemon``: ``run`` does not wait for its
        end, as for that of a server.
        """
        cab = self.cab(cab_name)
        if cab_name in self._stopped:
            raise CabStopped(f"{cab_name} has been stopped by a fault: no task can run on it before it is restarted")
        asleep = self.time_ns > 0 and cab.kernel.idle
        thread = self._thread(cab, task, args, name, protected)
        (self._daemons if daemon else self._tasks)[thread] = cab
        if asleep:
            self.machine.wake(cab_name)
        return thread

    def _thread(self, cab, task, args, name, protected):
        if protected:
            raise ProgramError(f"{cab.name} has no protection domains: a task there is never protected")
        return cab.spawn(task, *args, name=name)

    def adopt(self, cab, thread):
        """From now on ``run`` waits for the end of a thread that something on ``cab`` has started."""
        self._tasks[thread] = cab

    def dismiss(self, thread):
        """``run`` does not wait for the end of a thread any more."""
        if thread in self._tasks:
            self._daemons[thread] = self._tasks.pop(thread)

    def _on_end(self, thread):
        self._tasks.pop(thread, None)
        self._daemons.pop(thread, None)

    def abort(self, error):
        """Has the run that is under way, else the next, end by ``error`` once the software has had its turn."""
        self._error = error
        self._failed = True

    def _on_fail(self):
        self._failed = True

    async def run(self, max_time_ps=None):
        """Runs until every spawned task has ended, daemons excepted; these go on in the next run.

        Raises ProgramError when a task ends with an exception (its cause); UnfinishedRun when nothing can happen any
        more although tasks wait, or when ``max_time_ps`` picoseconds of simulated time have passed since the call."""
        tasks = self._tasks
        until = self._limit_ps
        if max_time_ps is not None:
            end = self.machine.time_ps + max_time_ps
            until = end if until is None else min(end, until)
        if not tasks:
            return
        self._runs = True
        try:
            outcome = await self.machine.run(lambda: self._failed or not tasks, until)
        except BusError as error:
            raise ProgramError(f"at interrupt level: {error}") from error
        finally:
            self._runs = False
        self.check()
        if outcome == QUIET:
            raise UnfinishedRun(f"nothing can happen any more at {self._time()}{told(tasks, tasks.values())}")
        if outcome == TIME:
            raise UnfinishedRun(f"the time limit was reached at {self._time()}{told(tasks, tasks.values())}")

    async def advance(self, stop, until_ps, patient=False):
        """Runs whether there are tasks or not, until ``stop()`` is true, simulated time is ``until_ps``, or all is
        quiet, as ``Machine.run`` has it; returns STOPPED, TIME or QUIET. Raises ProgramError as ``run``."""
        self._runs = True
        try:
            outcome = await self.machine.run(lambda: self._failed or stop(), until_ps, patient)
        except BusError as error:
            raise ProgramError(f"at interrupt level: {error}") from error
        finally:
            self._runs = False
        self.check()
        return outcome

    def _computers(self):
        """All that run software."""
        return list(self._cabs.values())

    def running(self):
        """The task whose code the host runs at this moment, in words; None if it runs none."""
        for cab in self._computers():
            for thread in cab.kernel.threads:
                if thread.running:
                    return f"{words(thread.name)} on {cab.name}"
        return None

    def _time(self):
        return time_text(self.machine.time_ps)

    def check(self):
        """Raises ProgramError if something went wrong on a CAB or a node.

        That was in a run, or in a ``finally`` clause as ``close`` ended its task.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        for cab in self._computers():
            if cab.kernel.failed is not None:
                thread, error = cab.kernel.failed
                cab.kernel.failed = None
                self._failed = any(other.kernel.failed is not None for other in self._computers())
                who = f"{words(thread.name)} on {cab.name}" if thread is not None else f"a thread of {cab.name}"
                raise ProgramError(f"{who} failed at {self._time()}: {described(error)}") from error

    def close(self):
        """Ends all software and frees the machine. May be called twice."""
        self.machine.close()
        for computer in self._computers():
            computer.kernel.close()

"""An application: tasks on the CABs of a system.

Source: "The Design of Nectar" (1989), section 6.3. Specification: docs/nectarine.md.
"""

from ..errors import CabStopped, EndThread, ProgramError
from ..kernel.kernel import checked
from ..kernel.plain import as_coroutine
from .agent import Agent
from .directory import Directory, End
from .placement import Placement
from .task import Task, TaskExit

__all__ = ["Application"]

#: Simulated time that tasks have to end in when one of them has failed, in picoseconds.
_GRACE_PS = 10**11


class Application:
    """Tasks that send each other messages. A system has one application at most.

    Parameters
    ----------
    system : System
    placement : path, dict or None
        Where tasks run, and which ones are started at once: the path of a TOML file, or what stands in its tables
        (``Placement``). A task of which nothing is said gets the next CAB in turns.
    functions : dict of str → callable
        The functions that ``placement`` names, for example ``globals()``.

    Members
    -------
    tasks : Directory
        All tasks so far, in order and by name: each with ``name``, ``number``, ``cab``, ``end``, ``status``,
        ``result``, ``unreceived``.
    """

    def __init__(self, system, placement=None, functions=None):
        self.system = system
        self.tasks = Directory()
        self._agents = {}  # CAB's name -> Agent of its present start
        self._threads = {}  # number -> Thread
        self._placement = Placement(placement, [cab.name for cab in system.cabs])
        if any(getattr(layer, "__func__", None) is Application.put_on for layer in system.layers):
            raise ProgramError("the system has an application already: start these tasks in that one")
        system.layers.append(self.put_on)
        for cab in system.cabs:
            self.put_on(cab)
        for name, function, args in self._placement.tasks():
            if function not in (functions or {}):
                raise ProgramError(f"task {name}: there is no function {function!r} among those given")
            self.spawn(name, functions[function], *args)

    def put_on(self, cab):
        """Puts Nectarine on a CAB that has started; tasks of its earlier start are no more."""
        for record in self.tasks:
            if record.cab == cab.name and record.agent is not None:
                record.finish(End.STOPPED)
        agent = self._agents[cab.name] = Agent(cab, self.tasks, self.start, self.end)
        self.system.spawn(cab.name, agent.transfers.serve, name="long messages", daemon=True)

    @property
    def agents(self):
        """What Nectarine does on each CAB: its counters."""
        return list(self._agents.values())

    # -- for main ------------------------------------------------------------------------------------
    def spawn(self, name, function, *args, on=None, count=None):
        """Before a run: ``function(task, *args)``, async or plain, becomes a task of that name, on the CAB named
        ``on``. Returns its Record; with ``count`` a list of them: tasks ``name.0`` to ``name.count-1``.

        Raises ProgramError if the name is taken or there is no such CAB, CabStopped if it is stopped, TypeError for
        what is no function.
        """
        names = [name] if count is None else [f"{name}.{index}" for index in range(count)]
        records = [self.register(each, function, args, on) for each in names]
        for record in records:
            agent = self._agents[record.cab]
            try:
                thread = self.system.spawn(record.cab, self._run, agent, record, name=record.name)
            except CabStopped:
                record.finish(End.STOPPED)
                raise
            self._threads[record.number] = thread
            record.agent = agent
            agent.begin(record.number)
        return records[0] if count is None else records

    async def run(self, max_time_ps=None):
        """Runs until all tasks have ended. Raises ProgramError as ``System.run`` does; if a task has raised an
        exception, all others are ended first."""
        try:
            await self.system.run(max_time_ps)
        except ProgramError:
            await self._end_all()
            raise
        finally:
            for record in self.tasks:
                thread = self._threads.get(record.number)
                if thread is not None and thread.ended:
                    record.finish(End.STOPPED if isinstance(thread.error, CabStopped) else End.ENDED)

    async def _end_all(self):
        for record in self.tasks:
            thread = self._threads.get(record.number)
            if thread is not None and not thread.ended:
                thread.end()
                self.system.machine.wake(record.cab)
        try:
            await self.system.run(_GRACE_PS)
        except ProgramError:  # one is enough to be told of
            pass

    # -- for tasks and agents ------------------------------------------------------------------------
    def register(self, name, function, args, on):
        """A new Record; the task does not run yet."""
        cab = self._placement.place(name, on)
        return self.tasks.add(name, cab, self.system.id_of(cab), checked(function), args)

    def start(self, agent, number):
        """On the CAB of ``agent``: the task of that number begins. From both levels."""
        record = self.tasks.at((agent.cab.id, number))
        record.agent = agent
        agent.begin(number)
        kernel = agent.kernel
        thread = self._threads[number] = kernel.spawn(self._run, agent.cab, agent, record, name=record.name)
        self.system.adopt(agent.cab, thread)

    def end(self, agent, number):
        """On the CAB of ``agent``: ends the task of that number. From both levels."""
        record = self.tasks.at((agent.cab.id, number))
        if record.agent is not agent:
            return
        if not record.begun:
            record.finish(End.ENDED)
            agent.kernel.spawn(agent.finish, number, name=f"the end of {record.name}")
        self._threads[number].end()

    async def _run(self, _, agent, record):
        """The thread of a task."""
        record.begun = True
        task = Task(self, record, agent)
        try:
            record.finish(End.RETURNED, 0, await as_coroutine(record.function, task, *record.args))
        except TaskExit as exit:
            record.finish(End.EXIT, exit.status)
        except EndThread:
            record.finish(End.ENDED)
            raise
        except GeneratorExit:
            raise
        except BaseException:
            record.finish(End.FAILED)
            raise
        finally:
            await task.finish()

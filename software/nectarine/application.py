"""An application: tasks on the CABs of a system.

Source: "The Design of Nectar" (1989), section 6.3. Specification: docs/nectarine.md.
"""

from ..errors import CabStopped, EndThread, Fault, NodeStopped, ProgramError
from ..kernel.kernel import checked
from ..kernel.plain import as_coroutine
from .agent import Agent
from .directory import Directory, End
from .nodeproxy import Proxy
from .nodetask import NodeTask, NodeTasks
from .placement import Placement
from .task import Task, TaskExit
from .usertask import run_protected

__all__ = ["Application"]

#: Simulated time that tasks have to end in when one of them has failed, in picoseconds.
_GRACE_PS = 10**11


class Application:
    """Tasks that send each other messages, on CABs and nodes. A system has one application at most.

    Parameters
    ----------
    system : System
    placement : path, dict or None
        Where tasks run, and which ones are started at once: the path of a TOML file, or what stands in its tables
        (``Placement``). A task of which nothing is said gets the next CAB in turns, never a node.
    functions : dict of str → callable
        The functions that ``placement`` names, for example ``globals()``.

    Members
    -------
    tasks : Directory
        All tasks so far, in order and by name: each with ``name``, ``number``, ``cab``, ``on``, ``end``, ``status``,
        ``result``, ``unreceived``.
    """

    def __init__(self, system, placement=None, functions=None):
        self.system = system
        self.tasks = Directory()
        self._agents = {}  # CAB's name -> Agent of its present start
        self._threads = {}  # number -> Thread
        self._nodes = {node.name: NodeTasks(name, node) for name, node in system.nodes.items()}
        self._placement = Placement(placement, [cab.name for cab in system.cabs], self._nodes)
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
        for function, name in agent.daemons:
            self.system.spawn(cab.name, function, name=name, daemon=True)

    @property
    def agents(self):
        """What Nectarine does on each CAB: its counters."""
        return list(self._agents.values())

    # -- for main ------------------------------------------------------------------------------------
    def spawn(self, name, function, *args, on=None, count=None, protected=False):
        """Before a run: ``function(task, *args)``, async or plain, becomes a task of that name, on the CAB or node
        named ``on``. Returns its Record; with ``count`` a list of them: tasks ``name.0`` to ``name.count-1``.
        ``protected``: in a protection domain of its own; only on a CAB.

        Raises ProgramError if the name is taken or there is no such CAB or node, CabStopped if it is stopped, TypeError
        for what is no function.
        """
        names = [name] if count is None else [f"{name}.{index}" for index in range(count)]
        records = [self.register(each, function, args, on, protected) for each in names]
        for record in records:
            agent = self._agents[record.cab]
            on_node = record.on in self._nodes
            name = f"the CAB's part of {record.name}" if on_node else record.name
            try:
                thread = self.system.spawn(record.cab, self._run, agent, record, name=name, daemon=on_node)
            except CabStopped:
                record.finish(End.STOPPED)
                raise
            record.agent = agent
            agent.begin(record.number)
            if on_node:
                thread = self._nodes[record.on].begin(self._node_task(record, agent))
            self._threads[record.number] = thread
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
                    record.finish(End.STOPPED if isinstance(thread.error, (CabStopped, NodeStopped)) else End.ENDED)

    async def _end_all(self):
        for record in self.tasks:
            thread = self._threads.get(record.number)
            if thread is not None and not thread.ended:
                thread.end()
                self.system.machine.wake(record.on)
        try:
            await self.system.run(_GRACE_PS)
        except ProgramError:  # one is enough to be told of
            pass

    # -- for tasks and agents ------------------------------------------------------------------------
    def register(self, name, function, args, on, protected):
        """A new Record; the task does not run yet."""
        on = self._placement.place(name, on)
        if protected and on in self._nodes:
            raise ProgramError(f"task {name} cannot be protected on {on}: protection domains are of CABs")
        cab = self._nodes[on].cab if on in self._nodes else on
        record = self.tasks.add(name, cab, self.system.id_of(cab), on, checked(function), args)
        record.protected = protected
        return record

    def _node_task(self, record, agent):
        """The NodeTask of a task on a node."""
        proxy = Proxy(Task(self, record, agent), agent.cab.port)
        record.node_task = NodeTask(proxy, self._nodes[record.on].node)
        return record.node_task

    def start(self, agent, number):
        """On the CAB of ``agent``: the task of that number begins. From both levels."""
        record = self.tasks.at((agent.cab.id, number))
        record.agent = agent
        agent.begin(number)
        thread = agent.kernel.spawn(self._run, agent.cab, agent, record, name=record.name)
        self.system.adopt(agent.cab, thread)
        if record.on not in self._nodes:
            self._threads[number] = thread
            return
        task = self._node_task(record, agent)

        def begun(process):
            self._threads[number] = process
            self.system.dismiss(thread)

        self._nodes[record.on].ask(lambda node: begun(node.begin(task)))
        agent.cab.port.call_node()

    def end(self, agent, number):
        """On the CAB of ``agent``: ends the task of that number. From both levels."""
        record = self.tasks.at((agent.cab.id, number))
        if record.agent is not agent:
            return
        if record.node_task is not None:
            self._nodes[record.on].ask(lambda node: node.end(record.node_task, self._threads[number]))
            agent.cab.port.call_node()
            return
        if not record.begun:
            record.finish(End.ENDED)
            agent.kernel.spawn(agent.finish, number, name=f"the end of {record.name}")
        self._threads[number].end()

    async def _run(self, _, agent, record):
        """The thread of a task."""
        record.begun = True
        if record.node_task is not None:
            await record.node_task.proxy.run()
            return
        task = Task(self, record, agent)
        try:
            if record.protected:
                result = await run_protected(task, record.function, record.args)
            else:
                result = await as_coroutine(record.function, task, *record.args)
            record.finish(End.RETURNED, 0, result)
        except TaskExit as exit:
            record.finish(End.EXIT, exit.status)
        except EndThread:
            record.finish(End.ENDED)
            raise
        except Fault:
            record.finish(End.FAULT)
            raise
        except GeneratorExit:
            raise
        except BaseException:
            record.finish(End.FAILED)
            raise
        finally:
            await task.finish()

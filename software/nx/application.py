"""An NX/2 program: processes on the nodes of a system, each a task of Nectarine.

Source: P. Pierce, "The NX/2 Operating System" (1988); "The Design of Nectar" (1989), section 7: the iPSC communication
library on top of Nectarine. Specification: docs/nx.md.
"""

from ..errors import ProgramError
from ..kernel.kernel import checked
from ..kernel.plain import as_coroutine
from ..nectarine import Application
from ..nectarine.keeper import Keeper
from .nodeprocess import NodeProcess, keeper_on
from .process import Process

__all__ = ["ALL", "NX", "PROCESSES", "calling"]

#: In the place of a node: all of them; of a send: all but the sender's.
ALL = -1
#: Processes on a node, at most.
PROCESSES = 20

#: Processes that have begun and not ended.
_RUNNING = []


def calling(call):
    """The Process whose code runs now. ProgramError if there is none."""
    for process in _RUNNING:
        if process.thread.running:
            return process
    raise ProgramError(f"{call} is a call for processes of NX/2: load its function with NX.load, and let that call it")


class NX:
    """The nodes of a system, and the processes on them. A system has one NX at most.

    Parameters
    ----------
    system : System
    nodes : list of str, int or None
        Names of the CABs, or of workstations behind them, that are nodes 0, 1, 2, …; an int: the first so many CABs;
        None: all CABs in their order.

    Members
    -------
    application : Application
        Of Nectarine; its tasks are named ``process NODE.PID``.
    numnodes : int
    results : dict of (int, int) → object
        What the processes have returned, by node and process id.
    """

    def __init__(self, system, nodes=None):
        names = [cab.name for cab in system.cabs]
        if isinstance(nodes, int):
            if not 1 <= nodes <= len(names):
                raise ProgramError(f"the system has {len(names)} CABs: it cannot give {nodes} nodes")
            nodes = names[:nodes]
        self._cabs = list(names if nodes is None else nodes)
        behind = {node.name for node in system.nodes.values()}
        for name in self._cabs:
            if name not in behind:
                system.cab(name)
        if not self._cabs or len(set(self._cabs)) != len(self._cabs):
            raise ProgramError(
                f"each node is a CAB or a workstation of its own, not as in {', '.join(self._cabs) or 'an empty list'}"
            )
        self.application = Application(system)
        self._records = {}  # (node, pid) -> Record
        self._addresses = {}  # number of a task -> (node, pid)
        self._keepers = [[] for _ in self._cabs]

    @property
    def numnodes(self):
        """See above."""
        return len(self._cabs)

    @property
    def results(self):
        """See above."""
        return {address: record.result for address, record in self._records.items()}

    def load(self, function, *args, node=ALL, pid=0):
        """Before a run: ``function(process, *args)``, async or plain, becomes process ``pid`` (0 to 19) of ``node``, of
        several (a list of numbers), or of all. ProgramError if there is no such node, or it has that process already;
        TypeError for what is no function."""
        checked(function)
        if isinstance(node, int):
            node = range(self.numnodes) if node == ALL else [node]
        if not isinstance(pid, int) or not 0 <= pid < PROCESSES:
            raise ProgramError(f"load: a process id is 0 to {PROCESSES - 1}, not {pid!r}")
        for each in node:
            self._check("load", each)
            if (each, pid) in self._records:
                raise ProgramError(f"load: node {each} has a process {pid} already: give this one another id")
            record = self.application.spawn(
                f"process {each}.{pid}", self._run, each, pid, function, args, on=self._cabs[each]
            )
            self._records[each, pid] = record
            self._addresses[record.number] = each, pid

    async def run(self, max_time_ps=None):
        """Runs until all processes have ended. Raises ProgramError as ``System.run`` does; if a process has raised an
        exception, all others are ended first."""
        await self.application.run(max_time_ps)

    async def _run(self, task, node, pid, function, args):
        """The task of a process."""
        if task.on is task.node:
            keeper = await keeper_on(task, self._keepers[node])
            process = NodeProcess(self, task, node, pid, keeper)
        else:
            process = Process(self, task, node, pid, Keeper(task, self._keepers[node]))
        _RUNNING.append(process)
        try:
            return await as_coroutine(function, process, *args)
        finally:
            _RUNNING.remove(process)
            await process.stop()

    # -- for processes -------------------------------------------------------------------------------
    def _check(self, call, node):
        if not isinstance(node, int) or not 0 <= node < self.numnodes:
            raise ProgramError(f"{call}: a node is 0 to {self.numnodes - 1}, or -1 for all, not {node!r}")

    def record(self, call, node, pid):
        """The Record of that process. ProgramError, in the name of ``call``, if there is none."""
        record = self._records.get((node, pid))
        if record is None:
            self._check(call, node)
            raise ProgramError(f"{call}: node {node} has no process {pid!r}: load one before the run")
        return record

    def records(self, call, node, pid, mine):
        """As ``record``, a list; for node ALL the processes of that id on all nodes but ``mine``."""
        if node != ALL:
            return [self.record(call, node, pid)]
        return [self.record(call, each, pid) for each in range(self.numnodes) if each != mine]

    def address(self, place):
        """(node, pid) of the process that is the task at (CAB ID, number)."""
        return self._addresses[place[1]]

"""A process of an MPI program: what one rank has."""

import sys

from greenlet import GreenletExit

from ..errors import EndThread, ProgramError
from ..kernel.plain import Placed, as_coroutine, in_plain_task, wait
from ..kernel.scope import Scope
from ..nectarine.keeper import Keeper
from ..nectarine.nodetask import NodeTask
from .carrier import Carrier
from .communicator import Communicator
from .envelope import CONTEXTS
from .exception import ErrorClass, Exception
from .multicasts import Multicasts
from .package import packages, rc
from .python import RankPython

__all__ = ["Process", "blocked", "caller", "nobody", "running"]

#: Messages from Python's memory are copied into data memory while no more than 1 / SHARE of that is in use, so that
#: there is room for those that come in; then they go in parts.
SHARE = 2
#: Short messages of receives that nobody waits for that may stay in the slots of a channel.
LYING = 3
#: Contexts of COMM_WORLD and COMM_SELF.
_WORLD, _SELF = 0, 1

_running = None


def running():
    """The Process whose code runs now, or None."""
    return _running


def nobody():
    """No process runs any more."""
    global _running
    _running = None


_NOT_HERE = "a call of MPI is made by a rank of a program that 'nectar mpirun' runs, in the thread that runs it"


def caller():
    """The Process that calls. ProgramError outside of any."""
    process = _running
    if process is None:
        raise ProgramError(_NOT_HERE)
    if process.world.over:
        raise EndThread
    return process


def blocked(coroutine):
    """Runs a coroutine for the calling process, which blocks until it is over; returns what it gives."""
    if not in_plain_task():
        coroutine.close()
        raise ProgramError(_NOT_HERE)
    process = _running
    try:
        return wait(process.on_cab(coroutine))
    except (EndThread, GreenletExit):
        process.ended()
        raise


class _Turns:
    """For ``Placed``: ``enter`` is called before each turn of a rank's code on a node. Between two turns the node polls
    its CAB, which is no turn: with a call for each poll, ranks on nodes took 15 % more time of the host."""

    def __init__(self, enter):
        self.enter = enter

    def leave(self):
        """Nothing is to be done behind a turn."""


class Process:
    """One rank.

    Parameters
    ----------
    world : World
    number : int
        Its rank in COMM_WORLD.
    task : Task
        Of Nectarine; of a rank on a node the one that its CAB has.
    carrier : Carrier or None
        Of a rank on a node.

    Members
    -------
    cab : Cab
        That makes its calls.
    on : Cab or Node
        That its program runs on.
    comm_world, comm_self : Communicator
    initialized, finalized : bool
        Whether the program has called ``Init``, and ``Finalize``.
    buffer : object or None
        Attached for buffered sends.
    keys : dict of int → object
        Keys of attributes.
    keyvals : int
        Such keys so far.
    messages_in_parts : int
        That it has sent so far.
    multicasts : Multicasts
    """

    __slots__ = (
        "world",
        "number",
        "task",
        "carrier",
        "cab",
        "on",
        "kernel",
        "python",
        "comm_world",
        "comm_self",
        "initialized",
        "finalized",
        "buffer",
        "keys",
        "keyvals",
        "messages_in_parts",
        "multicasts",
        "_free",
        "_status",
        "_leaving",
        "_lying",
        "_keeper",
    )

    def __init__(self, world, number, task, carrier=None):
        self.world = world
        self.number = number
        self.task = task
        self.carrier = carrier
        self.cab = task.cab
        self.on = task.cab if carrier is None else carrier.task.node
        self.kernel = task.cab.kernel
        self.python = RankPython(world.program, packages(self._set_status))
        everybody = tuple(range(world.size))
        self.comm_world = Communicator(self, _WORLD, everybody, name="MPI_COMM_WORLD")
        self.comm_self = Communicator(self, _SELF, (number,), name="MPI_COMM_SELF")
        self.initialized = self.finalized = False
        self.buffer = None
        self._status = 0
        self.keys = {}
        self.keyvals = 0
        self.messages_in_parts = 0
        self.multicasts = Multicasts(self)
        self._free = (1 << CONTEXTS) - 1 & ~(1 << _WORLD | 1 << _SELF)
        self._leaving = []  # handles that nobody waits for
        self._lying = []  # receives whose messages lie in slots
        self._keeper = Keeper(task, world.keepers(task.cab), lambda arrival: False)

    @classmethod
    async def of(cls, world, number, task):
        """That of a rank which is the task ``task``, on a CAB or a node."""
        if not isinstance(task, NodeTask):
            return cls(world, number, task)

        async def made(of_cab):
            return cls(world, number, of_cab, Carrier(task))

        return (await task.do(f"the start of rank {number}", made))[0]

    @property
    def computer(self):
        """A number of the CAB or node that its program runs on."""
        return 2 * self.cab.id + (self.carrier is not None)

    def on_cab(self, coroutine):
        """The coroutine that the program's thread awaits to have ``coroutine`` run by the CAB."""
        return coroutine if self.carrier is None else self.carrier.run(coroutine, self.enter)

    @property
    def has_mpi(self):
        """Whether MPI has begun: by ``Init``, or by itself, as ``mpi4py.rc`` has it."""
        return self.initialized or rc(self).initialize

    # -- its code ------------------------------------------------------------------------------------
    def enter(self):
        """Its code goes on."""
        global _running
        _running = self
        self.python.enter()

    async def run(self):
        """The task: runs the program."""
        try:
            if self.carrier is None:
                await Scope(as_coroutine(self._main), self.enter)
            else:
                await as_coroutine(Placed(self._main, _Turns(self.enter)))
        finally:
            if self.carrier is None:
                await self._keeper.stop()
            else:
                await self.carrier.last(self._keeper.stop(), self.enter)

    def _set_status(self, status):
        """At its end the process ends all ranks with this exit code, if it is not 0."""
        self._status = status

    def _main(self):
        try:
            self.python.run()
            if self._status:
                self.world.exited(self, self._status)
            self._finish()
        except SystemExit as end:
            if end.code in (None, 0):
                self._finish()
            else:
                self.world.exited(self, end.code)
        except (EndThread, GeneratorExit):
            raise
        except BaseException as error:
            self.world.failed(self, error)

    def _finish(self):
        """The program has come to its end."""
        for stream in sys.stdout, sys.stderr:
            stream.flush()
        if self.has_mpi and not self.finalized and rc(self).finalize is not False:
            blocked(self.finalize())

    async def finalize(self):
        """Waits until everything that it has sent has left, and until all others have come as far."""
        await self.left("Finalize")
        with self.kernel.current.calling("Finalize"):
            await self.world.barrier(self)
        self.finalized = True

    def ended(self):
        """It is ended from outside: it makes no more calls, and is not heard any more."""
        self.world.over = True
        self.python.silence()

    def spawn(self, function, name):
        """Runs an async function without arguments in a thread of its own, as code of this process."""
        return self.kernel.spawn(self._thread, function, name=name)

    async def _thread(self, function):
        await Scope(function(), self.enter)

    # -- messages ------------------------------------------------------------------------------------
    def spend(self):
        """Charges for a call."""
        self.kernel.door.spend(self.kernel.costs.mpi_call)

    def compute(self, work):
        """Charges for what the CPU computes: a Work."""
        self.kernel.door.spend(self.kernel.computation(work))

    def room(self, length):
        """Whether a message of so many bytes may be copied into data memory: see SHARE."""
        memory = self.cab.memory
        return memory.used + (1 << (length - 1).bit_length()) <= memory.size // SHARE

    def may_lie(self, handle, channel):
        """Whether a short message that a receive has got may stay in its slot: as long as few of a channel do."""
        self._lying = [each for each in self._lying if each.lies()]
        few = sum(each.lies(channel) for each in self._lying) < LYING
        if few:
            self._lying.append(handle)
        return few

    async def out(self, data):
        """Bytes that the program gives, once the CAB has them."""
        return data if self.carrier is None else await self.carrier.out(data)

    async def into(self, data):
        """Bytes that the program gets, once they are where it is."""
        return data if self.carrier is None else await self.carrier.into(data)

    def seen(self, data):
        """A Buffer that the program gives, as the CAB sees it."""
        return data if self.carrier is None or data is None else self.carrier.seen(data)

    def leave(self, handle):
        """A handle of a send is not waited for; it goes on."""
        self._leaving = [each for each in self._leaving if not _over(each)] + [handle]

    async def left(self, call):
        """Waits until all such sends, and its multicasts, are over; ``call``: who waits."""
        while self._leaving:
            handle = self._leaving.pop(0)
            with self.kernel.current.calling(f"{call} until there is a receive for {handle}"):
                await handle.outcome()
        with self.kernel.current.calling(call):
            await self.multicasts.over()

    # -- contexts ------------------------------------------------------------------------------------
    @property
    def contexts(self):
        """Contexts that it does not use, as the bits of an int."""
        return self._free

    def take_context(self, context):
        """That context is in use from now on."""
        self._free &= ~(1 << context)

    def give_context(self, context):
        """That context is free again."""
        self._free |= 1 << context

    def no_context(self):
        """What a process hears if its communicators are too many."""
        return Exception(ErrorClass.ERR_OTHER, f"a process has {CONTEXTS} communicators at most: free some")


def _over(handle):
    """Whether a send is over; then it is done with."""
    if handle.ready:
        handle.task.handles.pop(handle, None)
    return handle.ready

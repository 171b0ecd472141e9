"""Ranks without a machine: collective calls over queues, for tests of what stands above an Exchange.

Each rank is a greenlet. A rank that waits for a message lets another one run, chosen at random.
"""

from collections import defaultdict, deque

from greenlet import getcurrent, greenlet

from nectar.software.mpi import caller
from nectar.software.mpi.callbook import Terms
from nectar.software.mpi.collectives import Collectives
from nectar.software.mpi.constants import UNDEFINED
from nectar.software.mpi.prefixes import Prefixes
from nectar.verification import seeds

__all__ = ["Communicator", "Ranks", "run"]

_NONE = Terms()


class Handle:
    """A send that is over."""

    async def wait(self):
        """Returns at once."""


class Exchange:
    """One collective call of one rank."""

    def __init__(self, ranks, number, rank, name):
        self.ranks = ranks
        self.number = number
        self.rank = rank
        self.name = name
        self.size = self.remote_size = ranks.size

    async def isend(self, data, to, phase=0):
        """Bytes to a rank."""
        assert 0 <= to < self.size and to != self.rank, f"{self.name}: rank {self.rank} sends to rank {to}"
        assert 0 <= phase < 64
        self.ranks.messages.append((self.name, self.rank, to, len(data)))
        self.ranks.queues[self.number, self.rank, to, phase].append((self.name, bytes(data)))
        return Handle()

    async def send(self, data, to, phase=0):
        """The same."""
        await self.isend(data, to, phase)

    async def receive(self, source, phase=0):
        """The bytes that a rank has sent."""
        assert 0 <= source < self.size and source != self.rank
        key = self.number, source, self.rank, phase
        queue = self.ranks.queues[key]
        if not queue:
            self.ranks.wait(key, f"{self.name} from rank {source}")
        name, data = queue.popleft()
        assert name == self.name
        return data

    def can_multicast(self, nbytes=None):
        """As the test says."""
        return self.ranks.multicast and self.size > 1

    async def multicast(self, data):
        """Bytes to all other ranks."""
        self.ranks.multicasts += 1
        for to in range(self.size):
            if to != self.rank:
                self.ranks.queues[self.number, self.rank, to, "all"].append((self.name, bytes(data)))

    async def from_multicast(self, root):
        """The bytes of a multicast."""
        return await self.receive(root, "all")

    def computed(self, work):
        """Adds to what is charged."""
        self.ranks.charged += work.cycles


class Communicator(Collectives, Prefixes):
    """COMM_WORLD of one rank."""

    def __init__(self, ranks, rank):
        self.ranks = ranks
        self.rank = rank
        self.calls = 0

    def Get_rank(self):
        """The rank."""
        return self.rank

    def Get_size(self):
        """Number of ranks."""
        return self.ranks.size

    def Is_inter(self):
        """No."""
        return False

    def _begin(self, name):
        self.calls += 1
        return Exchange(self.ranks, self.calls, self.rank, name)

    def _collective(self, name, function, terms=_NONE):
        exchange = self._begin(name)
        assert self.ranks.terms.setdefault(self.calls, (name, terms.alike)) == (name, terms.alike)
        coroutine = function(exchange)
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError(f"{name} waits for something else than a message")

    def exchange(self, name="test"):
        """An Exchange of its own."""
        return self._begin(name)


class Ranks:
    """The ranks of a run.

    Members
    -------
    messages : list of (call, source, to, bytes)
    multicasts : int
    charged : int
        CPU cycles of the numbers that were combined.
    """

    def __init__(self, size, multicast=False, seed=None):
        self.size = size
        self.multicast = multicast
        self.queues = defaultdict(deque)
        self.messages = []
        self.multicasts = 0
        self.charged = 0
        self.terms = {}  # number of a call -> its name, and what all ranks must give alike
        self._random = seeds.rng("ranks") if seed is None else seeds.rng("ranks", seed)
        self._waits = {}
        self._running = None
        self._main = None

    def wait(self, key, why):
        """Lets other ranks run until there is a message in the queue ``key``."""
        self._waits[self._running] = key, why
        self._main.switch()
        del self._waits[self._running]

    def run(self, function):
        """Runs ``function(communicator)`` as each rank. Returns the list of results."""
        self._main = getcurrent()
        results = [None] * self.size

        def body(rank):
            results[rank] = function(Communicator(self, rank))

        left = {rank: greenlet(body, self._main) for rank in range(self.size)}
        caller.told_by(lambda: self._running)
        while left:
            ready = [rank for rank in left if rank not in self._waits or self.queues[self._waits[rank][0]]]
            assert ready, f"the ranks wait for ever: { {rank: why for rank, (_, why) in self._waits.items()} }"
            self._running = self._random.choice(ready)
            rank = left[self._running]
            rank.switch(*() if rank else (self._running,))
            if rank.dead:
                del left[self._running]
        caller.told_by(lambda: UNDEFINED)
        unread = {key: len(queue) for key, queue in self.queues.items() if queue}
        assert not unread, f"messages that nobody has received: {unread}"
        return results


def run(size, function, **options):
    """Results of ``function(communicator)`` of each of ``size`` ranks, by rank."""
    return Ranks(size, **options).run(function)

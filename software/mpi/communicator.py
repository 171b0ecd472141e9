"""What a communicator is to one process. Handles of it are in ``comm``."""

from .constants import UNDEFINED
from .exception import ErrorClass, Exception

__all__ = ["Communicator", "Predefined"]


class Communicator:
    """A communicator, as one of its processes has it.

    Parameters
    ----------
    process : Process
    context : int
        Its number, by which messages name it.
    members : tuple of int
        Its processes by rank: their ranks in COMM_WORLD.
    remote : tuple of int or None
        Of an intercommunicator: the processes of the other group.
    name : str

    Members
    -------
    rank : int
        Of the process.
    peers : tuple of int
        The processes that messages go to and come from: of an intercommunicator those of the other group.
    collectives : int
        Collective calls so far.
    attributes : dict of int → object
        By their keys.
    info : dict of str → str
    topology : object or None
        Of ``topology``, if it has one.
    early : dict of (int, int, int) → bytes
        Multicasts that came before their collective call, by CAB of the sender, number and code of the call.
    parts : dict of int → bytes
        The first parts of multicasts whose last part has not come, by CAB of the sender.
    reading : bool
        Whether a thread waits for a multicast.
    freed : bool
    """

    __slots__ = (
        "__weakref__",
        "process",
        "context",
        "members",
        "remote",
        "name",
        "rank",
        "peers",
        "collectives",
        "attributes",
        "info",
        "topology",
        "early",
        "parts",
        "reading",
        "freed",
        "constant",
        "buffer",
        "errhandler",
        "_ranks",
    )

    def __init__(self, process, context, members, remote=None, name=""):
        self.process = process
        self.context = context
        self.members = members
        self.remote = remote
        self.name = name
        self.rank = members.index(process.number)
        self.peers = members if remote is None else remote
        self.collectives = 0
        self.attributes = {}
        self.info = {}
        self.topology = None
        self.early = {}
        self.parts = {}
        self.reading = self.freed = False
        self.constant = None
        self.buffer = None
        self.errhandler = None
        self._ranks = {number: rank for rank, number in enumerate(self.peers)}

    def of_caller(self):
        """The communicator; Exception (ERR_COMM) if it has been freed."""
        if self.freed:
            raise Exception(ErrorClass.ERR_COMM, "the communicator has been freed")
        return self

    def rank_of(self, place):
        """The rank among the peers of the task at (CAB ID, number)."""
        return self._ranks.get(self.process.world.number_of(place), UNDEFINED)

    def record(self, rank):
        """The Nectarine Record of the peer of that rank. Exception (ERR_RANK) if there is none."""
        if not 0 <= rank < len(self.peers):
            raise Exception(
                ErrorClass.ERR_RANK,
                f"{self.name or 'the communicator'} has the ranks 0 to {len(self.peers) - 1}, not {rank}",
            )
        return self.process.world.records[self.peers[rank]]


class Predefined:
    """COMM_WORLD or COMM_SELF: another communicator for each process.

    Parameters
    ----------
    of_caller : callable() → Communicator
        That of the calling process.
    """

    __slots__ = ("__weakref__", "constant", "of_caller")

    def __init__(self, of_caller):
        self.constant = None
        self.of_caller = of_caller

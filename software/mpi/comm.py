"""Communicators: groups of processes that send each other messages apart from all others. Names are mpi4py's."""

from functools import partial
from struct import Struct
from zlib import crc32

from ..unfinished import here
from .absent import name_absent
from .attributes import WithAttributes, copied, deleted
from .callbook import Terms
from .carrier import Carried, carried
from .collectives import Collectives
from .communicator import Communicator, Predefined
from .constants import (
    CART,
    DIST_GRAPH,
    GRAPH,
    UNDEFINED,
)
from .described import Described
from .errhandler import WithErrhandler
from .exception import ErrorClass, Exception
from .exchange import Exchange
from .group import Group
from .handle import Handle
from .info import INFO_NULL
from .making import agree, agree_with, made
from .pending import Collective, prepared
from .pointtopoint import PointToPoint
from .prefixes import Prefixes
from .process import blocked, caller
from .request import Prequest, Request
from .topologies import Neighborhood, OfCart, OfDistGraph, OfGraph, WithTopologies

__all__ = [
    "COMMS",
    "COMM_TYPES",
    "Cartcomm",
    "Comm",
    "Distgraphcomm",
    "Graphcomm",
    "Intercomm",
    "Intracomm",
    "Topocomm",
]

#: Ways of ``Split_type``.
COMM_TYPES = {
    f"COMM_TYPE_{name}": number
    for number, name in enumerate(("SHARED", "HW_GUIDED", "HW_UNGUIDED", "RESOURCE_GUIDED"), 1)
}
#: What ranks give to ``Split``: color, key.
_SPLIT = Struct(">ii")
_NONE = Terms()
#: The kind of resource of ranks on one CAB, and the key of an Info under which it stands.
_RESOURCE, _SHARED = "mpi_hw_resource_type", "mpi_shared_memory"


class Comm(Described, PointToPoint, Collectives, WithAttributes, WithErrhandler, Handle):
    """A communicator. Its calls are made by the ranks of a program.

    Raises
    ------
    Exception
        ERR_COMM if the communicator is null or has been freed.
    """

    @property
    def communicator(self):
        """What the handle stands for in the calling process."""
        caller()
        if self.target is None:
            raise Exception(ErrorClass.ERR_COMM, "the communicator is null")
        return self.target.of_caller()

    @classmethod
    def fromhandle(cls, handle):
        """As ``Handle.fromhandle``; of the class that fits the communicator."""
        comm = super().fromhandle(handle)
        if comm.target is None or comm.constant:
            return comm
        communicator = comm.communicator
        if communicator.remote is not None:
            return Intercomm.of(comm.target)
        if communicator.topology is None:
            return Intracomm.of(comm.target)
        kind = {CART: Cartcomm, GRAPH: Graphcomm, DIST_GRAPH: Distgraphcomm}[communicator.topology.kind]
        return kind.of(comm.target)

    # -- collective calls, for ``collectives`` ---------------------------------------------------------
    def _operations(self):
        """See Collectives."""
        carrier, operations = self.communicator.process.carrier, super()._operations()
        return operations if carrier is None else Carried(carrier, operations)

    def _carried(self, operation):
        """See Collectives."""
        carrier = self.communicator.process.carrier
        return operation if carrier is None else carried(carrier, operation)

    def _collective(self, name, function, terms=_NONE):
        """Runs ``await function(exchange)`` and returns its result."""
        return blocked(_named(Exchange(self.communicator, name, here(), terms), function))

    def _icollective(self, name, function, terms=_NONE):
        """Begins the same in a thread of its own. Returns a Request."""
        communicator, place = self.communicator, here()

        async def begin():
            communicator.process.spend()
            return await _begun(communicator, name, place, function, terms)

        return Request.of(blocked(begin()))

    def _persistent(self, name, function, terms):
        """A Prequest that begins the same each time it is started."""
        communicator = self.communicator
        return Prequest.of(
            blocked(prepared(communicator.process, partial(_begun, communicator, name, here(), function, terms)))
        )

    @classmethod
    def Get_parent(cls):
        """The intercommunicator to the processes that have spawned these: a null one."""
        return Intercomm()

    # -- others made of it -----------------------------------------------------------------------------
    async def _duplicate(self, exchange, info):
        """The Communicator of a duplicate, without attributes."""
        old = exchange.communicator
        *_, context = await agree(exchange)
        new = made(old.process, context, old.members, old.name, old.remote)
        new.topology = old.topology
        new.info = dict(old.info) if info is None else dict(info.items())
        return new

    def Dup(self, info=None):
        """A duplicate, with attributes as their keys say. ``info``: its hints; by default those of this one."""
        comm = type(self).of(self._collective("Dup", lambda exchange: self._duplicate(exchange, info)))
        copied(self, comm)
        return comm

    def Dup_with_info(self, info):
        """A duplicate with these hints."""
        return self.Dup(info)

    Clone = Dup

    def Idup(self, info=None):
        """Begins ``Dup``. Returns the duplicate, which may be used when the request is over, and a Request."""
        comm = type(self)()

        async def run(exchange):
            comm.target = await self._duplicate(exchange, info)
            copied(self, comm)

        return comm, self._icollective("Idup", run)

    def Idup_with_info(self, info):
        """As ``Idup``, with these hints."""
        return self.Idup(info)

    def Create(self, group):
        """A communicator of the processes of a group, a subset of this one's; null for others. Of an intercommunicator
        each group gives its part."""
        members = group.processes
        communicator = self.communicator
        if not set(members) <= set(communicator.members):
            raise Exception(ErrorClass.ERR_GROUP, "the group has processes that do not belong to the communicator")
        place = members.index(communicator.process.number) if communicator.process.number in members else UNDEFINED
        return self._split("Create", 0 if place != UNDEFINED else UNDEFINED, place)

    def Split(self, color=0, key=0):
        """A communicator of the ranks that give the same color, in the order of their keys and ranks.

        ``color``: 0 or more; UNDEFINED: the rank gets a null communicator. Of an intercommunicator the ranks of both
        groups that give the same color make an intercommunicator; a null one if one group has none of them."""
        if color != UNDEFINED and color < 0:
            raise Exception(ErrorClass.ERR_ARG, f"a color is 0 or more, or UNDEFINED, not {color}")
        return self._split("Split", color, key)

    def _split(self, call, color, key):
        async def run(exchange):
            communicator = exchange.communicator
            ours, theirs, context = await agree(exchange, _SPLIT.pack(color, key))
            members = _of_color(color, ours, communicator.members)
            remote = None if communicator.remote is None else _of_color(color, theirs, communicator.remote)
            if color == UNDEFINED or remote == ():
                return None
            return made(communicator.process, context, members, remote=remote)

        return (Intercomm if self.Is_inter() else Intracomm).of(self._collective(call, run))

    def Split_type(self, split_type, key=0, info=INFO_NULL):
        """A communicator of the ranks that share something: COMM_TYPE_SHARED, a CAB or a node.

        The other types need an Info with ``mpi_hw_resource_type``; only ``mpi_shared_memory`` is known, the same. For
        others the communicator is null."""
        guided = split_type in (COMM_TYPES["COMM_TYPE_HW_GUIDED"], COMM_TYPES["COMM_TYPE_RESOURCE_GUIDED"])
        shared = split_type == COMM_TYPES["COMM_TYPE_SHARED"] or guided and info.get(_RESOURCE) == _SHARED
        return self._split("Split_type", self.communicator.process.computer if shared else UNDEFINED, key)

    def Free(self):
        """Frees it; the handle is null then. Its attributes are deleted."""
        communicator = self.communicator
        if communicator.constant or communicator in (communicator.process.comm_world, communicator.process.comm_self):
            raise Exception(ErrorClass.ERR_COMM, "COMM_WORLD and COMM_SELF cannot be freed")
        deleted(self)
        communicator.freed = True
        communicator.process.give_context(communicator.context)
        self.target = None

    # -- the end ---------------------------------------------------------------------------------------
    def Abort(self, errorcode=0):
        """Ends all ranks; the exit code of the run is ``errorcode``, or 1 if that is 0."""
        process = caller()
        process.world.aborted(process, errorcode)

    Disconnect = Free


_ABSENT = ("Agree", "Iagree", "Shrink", "Ishrink", "Revoke", "Is_revoked", "Get_failed", "Ack_failed")
name_absent(Comm, _ABSENT, ("Join", "Create_errhandler"))


def _of_color(color, told, members):
    """Those of ``members`` that give that color, as ``_SPLIT`` has it, by key and rank."""
    given = [(*_SPLIT.unpack(each), member) for each, member in zip(told, members, strict=True)]
    chosen = [(key, rank, member) for rank, (other, key, member) in enumerate(given) if other == color]
    return tuple(member for _, _, member in sorted(chosen))


async def _begun(communicator, name, place, function, terms):
    """The Pending of a collective call that begins."""
    exchange = Exchange(communicator, name, place, terms)
    return Collective(communicator.process, str(exchange), partial(function, exchange))


async def _named(exchange, function):
    exchange.communicator.process.spend()
    with exchange.communicator.process.kernel.current.calling(exchange):
        return await function(exchange)


class Intracomm(WithTopologies, Prefixes, Comm):
    """A communicator of one group of processes.

    Raises
    ------
    TypeError
        If it is made of an intercommunicator.
    """

    def __new__(cls, comm=None):
        """As ``Handle``."""
        self = super().__new__(cls, comm)
        if self.target is not None and self.Is_inter():
            raise TypeError(f"{cls.__name__} is not made of an intercommunicator")
        return self

    def Create_intercomm(self, local_leader, peer_comm, remote_leader, tag=0):
        """An intercommunicator of the ranks of this one and of those of another, which make the same call.

        ``local_leader``: the rank that talks to the other group's leader, which is rank ``remote_leader`` of
        ``peer_comm``; the last two matter on it alone. ``tag`` tells such calls from each other."""
        communicator, name = self.communicator, "Create_intercomm"
        process, across = communicator.process, None
        if communicator.rank == local_leader:
            peers = peer_comm.communicator
            across = Communicator(process, peers.context, peers.members, peers.remote)
            across.collectives = tag
            across = Exchange(across, name)

        async def run():
            process.spend()
            context, remote = await agree_with(communicator, name, local_leader, across, remote_leader)
            return made(process, context, communicator.members, remote=remote)

        return Intercomm.of(blocked(run()))

    def Create_group(self, group, tag=0):
        """As ``Create``; only the processes of the group make the call. ``tag`` tells such calls from each other."""
        return self._of_group("Create_group", self.communicator, group, tag)

    @classmethod
    def Create_from_group(cls, group, stringtag="org.mpi4py", info=INFO_NULL, errhandler=None):
        """A communicator of the processes of a group, each of which makes the call."""
        tag = crc32(stringtag.encode())
        return cls._of_group("Create_from_group", caller().comm_world, group, tag)

    @classmethod
    def _of_group(cls, call, communicator, group, tag):
        process, members = communicator.process, group.processes
        if process.number not in members:
            return Intracomm()
        among = Communicator(process, communicator.context, members)
        among.collectives = tag

        async def run():
            process.spend()
            *_, context = await agree(Exchange(among, call))
            return made(process, context, members)

        return Intracomm.of(blocked(run()))


name_absent(Intracomm, ("Accept", "Connect", "Spawn", "Spawn_multiple"))


class Topocomm(Neighborhood, Intracomm):
    """A communicator whose ranks have neighbors."""


class Cartcomm(OfCart, Topocomm):
    """A communicator whose ranks form a grid."""


class Graphcomm(OfGraph, Topocomm):
    """A communicator whose ranks form a graph."""


class Distgraphcomm(OfDistGraph, Topocomm):
    """A communicator whose ranks form a graph of which each knows its part."""


class Intercomm(Comm):
    """A communicator of two groups of processes: messages go from one to the other.

    Raises
    ------
    TypeError
        If it is made of an intracommunicator.
    """

    def __new__(cls, comm=None):
        """As ``Handle``."""
        self = super().__new__(cls, comm)
        if self.target is not None and not self.Is_inter():
            raise TypeError(f"{cls.__name__} is not made of an intracommunicator")
        return self

    @classmethod
    def Create_from_groups(
        cls,
        local_group,
        local_leader,
        remote_group,
        remote_leader,
        stringtag="org.mpi4py",
        info=INFO_NULL,
        errhandler=None,
    ):
        """An intercommunicator of the processes of two groups, each of which makes the call. The leaders are ranks of
        their groups; equal calls have different values of ``stringtag``."""
        process, tag = caller(), crc32(stringtag.encode())
        world, name = process.comm_world, "Create_from_groups"
        local = Communicator(process, world.context, local_group.processes)
        across = Communicator(process, world.context, world.members)
        local.collectives = across.collectives = tag

        async def run():
            process.spend()
            leader = remote_group.processes[remote_leader]
            context, remote = await agree_with(local, name, local_leader, Exchange(across, name), leader)
            return made(process, context, local.members, remote=remote)

        return cls.of(blocked(run()))

    def Merge(self, high=False):
        """An intracommunicator of both groups: first the one that is not ``high``; if both are or neither is, the one
        whose first rank is lower in COMM_WORLD."""

        async def run(exchange):
            old = exchange.communicator
            _, theirs, context = await agree(exchange, bytes([bool(high)]))
            groups = sorted([(bool(high), old.members), (bool(theirs[0][0]), old.remote)])
            return made(old.process, context, groups[0][1] + groups[1][1])

        return Intracomm.of(self._collective("Merge", run))

    def Get_remote_size(self):
        """Number of processes of the other group."""
        return len(self.communicator.peers)

    def Get_remote_group(self):
        """The Group of the other processes."""
        return Group.of_processes(self.communicator.peers)

    remote_size, remote_group = property(Get_remote_size), property(Get_remote_group)


COMMS = {
    "COMM_NULL": Comm.constant_of("COMM_NULL", None),
    "COMM_WORLD": Intracomm.constant_of("COMM_WORLD", Predefined(lambda: caller().comm_world)),
    "COMM_SELF": Intracomm.constant_of("COMM_SELF", Predefined(lambda: caller().comm_self)),
}
Comm.nothing = COMMS["COMM_NULL"]

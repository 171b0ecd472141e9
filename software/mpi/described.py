"""What a communicator is: its processes, its kind, its name. Names are mpi4py's."""

from .constants import CONGRUENT, IDENT, MAX_OBJECT_NAME, SIMILAR, UNDEFINED, UNEQUAL
from .group import Group
from .info import Info

__all__ = ["Described"]


class Described:
    """The calls of a communicator that tell of it."""

    __slots__ = ()

    def Get_size(self):
        """Number of its processes; of an intercommunicator those of the local group."""
        return len(self.communicator.members)

    def Get_rank(self):
        """Rank of the calling process."""
        return self.communicator.rank

    def Get_group(self):
        """The Group of its processes; of an intercommunicator the local one."""
        return Group.of_processes(self.communicator.members)

    size, rank, group = property(Get_size), property(Get_rank), property(Get_group)

    def Is_inter(self):
        """Whether it is an intercommunicator."""
        return self.communicator.remote is not None

    def Is_intra(self):
        """Whether it is no intercommunicator."""
        return not self.Is_inter()

    is_inter, is_intra = property(Is_inter), property(Is_intra)

    def Get_topology(self):
        """CART, GRAPH, DIST_GRAPH, or UNDEFINED."""
        topology = self.communicator.topology
        return UNDEFINED if topology is None else topology.kind

    topology = property(Get_topology)
    is_topo = property(lambda self: self.topology != UNDEFINED)

    def Compare(self, comm):
        """IDENT: the same; CONGRUENT: the same processes in the same order; SIMILAR: in another order; else UNEQUAL."""
        ours, theirs = self.communicator, comm.communicator
        if ours is theirs:
            return IDENT
        if (ours.remote is None) is not (theirs.remote is None):
            return UNEQUAL
        pairs = [(ours.members, theirs.members), (ours.remote or (), theirs.remote or ())]
        if all(one == other for one, other in pairs):
            return CONGRUENT
        return SIMILAR if all(sorted(one) == sorted(other) for one, other in pairs) else UNEQUAL

    def Get_name(self):
        """Its name."""
        return "MPI_COMM_NULL" if self.target is None else self.communicator.name

    def Set_name(self, name):
        """Gives it a name, which errors tell."""
        self.communicator.name = name[: MAX_OBJECT_NAME - 1]

    name = property(Get_name, Set_name)

    def Get_info(self):
        """An Info with the hints that were given."""
        return Info.Create(self.communicator.info)

    def Set_info(self, info):
        """Sets hints, which have no effect."""
        self.communicator.info.update(info.items())

    info = property(Get_info, Set_info)

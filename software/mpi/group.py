"""Groups: ordered sets of processes. Names are mpi4py's.

A process is a number: its rank in COMM_WORLD. The handle's ``target`` is a Members.
"""

from . import caller
from .constants import IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL
from .exception import ErrorClass, Exception
from .handle import Handle

__all__ = ["GROUP_EMPTY", "GROUP_NULL", "Group", "Members"]


class Members:
    """The processes of a group. ``processes[rank]`` is a process; ``ranks[process]`` its rank."""

    __slots__ = ("__weakref__", "constant", "processes", "ranks")

    def __init__(self, processes):
        self.processes = tuple(processes)
        self.ranks = {process: rank for rank, process in enumerate(self.processes)}
        self.constant = None


class Group(Handle):
    """A group of processes.

    Raises
    ------
    Exception
        ERR_GROUP if the group is null; ERR_RANK for a rank that is not in the group, or is named twice; ERR_ARG for a
        range whose step does not lead from the first to the last rank.
    """

    @property
    def _members(self):
        if self.target is None:
            raise Exception(ErrorClass.ERR_GROUP)
        return self.target

    @classmethod
    def of_processes(cls, processes):
        """The group of these processes, in their order."""
        processes = tuple(processes)
        return cls.of(Members(processes) if processes else GROUP_EMPTY.target)

    @property
    def processes(self):
        """The processes of the group by rank, a tuple of int."""
        return self._members.processes

    def Get_size(self):
        """Number of processes."""
        return len(self._members.processes)

    def Get_rank(self):
        """Rank of the calling process; UNDEFINED if it does not belong to the group."""
        return self._members.ranks.get(caller.process(), UNDEFINED)

    size = property(Get_size)
    rank = property(Get_rank)

    def Translate_ranks(self, ranks=None, group=None):
        """Ranks of these processes in ``group``; UNDEFINED for those that do not belong to it.

        ``ranks``: all ranks of this group by default. ``group``: that of COMM_WORLD by default.
        """
        ranks = range(self.Get_size()) if ranks is None else ranks
        elsewhere = group and group._members.ranks
        found = []
        for rank in ranks:
            if rank == PROC_NULL:
                found.append(PROC_NULL)
            else:
                process = self.processes[self._rank(rank)]
                found.append(process if elsewhere is None else elsewhere.get(process, UNDEFINED))
        return found

    def Compare(self, group):
        """IDENT: the same processes in the same order; SIMILAR: in another order; else UNEQUAL."""
        ours, theirs = self._members, group._members
        if ours.processes == theirs.processes:
            return IDENT
        return SIMILAR if ours.ranks.keys() == theirs.ranks.keys() else UNEQUAL

    def Dup(self):
        """Another group of the same processes."""
        return self.of_processes(self.processes)

    @classmethod
    def Union(cls, group1, group2):
        """The processes of ``group1``, then those of ``group2`` that are not in it."""
        return cls.of_processes(dict.fromkeys(group1.processes + group2.processes))

    @classmethod
    def Intersection(cls, group1, group2):
        """The processes of ``group1`` that are in ``group2`` too."""
        return cls.of_processes(process for process in group1.processes if process in group2._members.ranks)

    Intersect = Intersection

    @classmethod
    def Difference(cls, group1, group2):
        """The processes of ``group1`` that are not in ``group2``."""
        return cls.of_processes(process for process in group1.processes if process not in group2._members.ranks)

    def _rank(self, rank):
        if not 0 <= rank < self.Get_size():
            raise Exception(ErrorClass.ERR_RANK, f"the group has the ranks 0 to {self.Get_size() - 1}, not {rank}")
        return rank

    def _distinct(self, ranks):
        ranks = [self._rank(rank) for rank in ranks]
        if len(set(ranks)) != len(ranks):
            raise Exception(ErrorClass.ERR_RANK, "a rank is named twice")
        return ranks

    def _ranges(self, ranks):
        chosen = []
        for first, last, step in ranks:
            if not step:
                raise Exception(ErrorClass.ERR_ARG, "the step of a range is 0")
            chosen += range(first, last + (1 if step > 0 else -1), step)
        return chosen

    def Incl(self, ranks):
        """The processes with these ranks, in this order."""
        return self.of_processes(self.processes[rank] for rank in self._distinct(ranks))

    def Excl(self, ranks):
        """All other processes than those with these ranks."""
        left_out = set(self._distinct(ranks))
        return self.of_processes(self.processes[rank] for rank in range(self.Get_size()) if rank not in left_out)

    def Range_incl(self, ranks):
        """As ``Incl``, of the ranks in ranges (first, last, step)."""
        return self.Incl(self._ranges(ranks))

    def Range_excl(self, ranks):
        """As ``Excl``, of the ranks in ranges (first, last, step)."""
        return self.Excl(self._ranges(ranks))

    @classmethod
    def Create_from_session_pset(cls, session, pset_name):
        """Sessions are not provided."""
        raise NotImplementedError("Group.Create_from_session_pset")

    def Free(self):
        """Frees the group; the handle is null then. The constant GROUP_EMPTY stays."""
        if self._members is not None and not self.constant:
            self.target = None


GROUP_NULL = Group.nothing = Group.constant_of("GROUP_NULL", None)
GROUP_EMPTY = Group.constant_of("GROUP_EMPTY", Members(()))

"""Scan and exscan, the collective calls that intracommunicators alone have. Names are mpi4py's."""

from .callbook import Terms
from .collective import reduction
from .collectives import combiner, object_combiner, reduced_blocks, stored
from .forms import collective
from .op import OPERATIONS
from .pickling import pickle

__all__ = ["Prefixes"]

_SUM = OPERATIONS["SUM"]


class Prefixes:
    """Combinations of what the ranks up to the caller have. Raises as ``Collectives``."""

    __slots__ = ()

    def _prefix(self, sendbuf, recvbuf, op, operation):
        given, result = reduced_blocks(sendbuf, recvbuf)
        op.combination(result.datatype)

        async def run(exchange):
            data = await self._carried(operation)(exchange, given.pack(), combiner(exchange, op, result.datatype))
            if data is not None:
                stored(exchange, result, data, "the reduction")

        return run, Terms.of(given, op)

    @collective
    def Scan(self, sendbuf, recvbuf, op=_SUM):
        """Combines the elements of the ranks up to this one."""
        return self._prefix(sendbuf, recvbuf, op, reduction.scan)

    @collective
    def Exscan(self, sendbuf, recvbuf, op=_SUM):
        """Combines the elements of the ranks before this one; the buffer of rank 0 stays as it is."""
        return self._prefix(sendbuf, recvbuf, op, reduction.exscan)

    def scan(self, sendobj, op=_SUM):
        """The combination of the objects of the ranks up to this one."""
        data, combine = pickle.dumps(sendobj), object_combiner(op)
        got = self._collective(
            "scan", lambda exchange: self._carried(reduction.scan)(exchange, data, combine), Terms.of(op=op)
        )
        return pickle.loads(got)

    def exscan(self, sendobj, op=_SUM):
        """The combination of the objects of the ranks before this one; None on rank 0."""
        data, combine = pickle.dumps(sendobj), object_combiner(op)
        got = self._collective(
            "exscan", lambda exchange: self._carried(reduction.exscan)(exchange, data, combine), Terms.of(op=op)
        )
        return None if got is None else pickle.loads(got)

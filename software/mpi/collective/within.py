"""The collective operations of an intracommunicator, under the names by which ``between`` has them too."""

from .broadcast import barrier, bcast
from .reduction import allreduce, reduce, reduce_scatter
from .sharing import allgather, alltoall, gather, scatter

__all__ = [
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

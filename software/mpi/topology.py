"""Topologies: which ranks of a communicator are neighbors. Communicators that have one are in ``topologies``."""

from itertools import accumulate
from math import prod

from .constants import CART, DIST_GRAPH, GRAPH, PROC_NULL
from .exception import ErrorClass, Exception

__all__ = ["Cart", "Compute_dims", "DistGraph", "Graph"]


def _best(nodes, ndims, largest):
    """``nodes`` as a product of ``ndims`` factors, the largest first and at most ``largest``, as equal as can be."""
    if ndims == 1:
        return [nodes] if nodes <= largest else None
    found = None
    for first in range(1, min(nodes, largest) + 1):
        if nodes % first or first**ndims < nodes:
            continue
        others = _best(nodes // first, ndims - 1, first)
        if others and (found is None or first - others[-1] < found[0] - found[-1]):
            found = [first, *others]
    return found


def Compute_dims(nnodes, dims):
    """A list of dimensions whose product is ``nnodes``, as equal as can be and the largest first.

    ``dims``: number of dimensions, or a list of them, in which those other than 0 stay. Raises Exception (ERR_DIMS) if
    there is no such list.
    """
    dims = [0] * dims if isinstance(dims, int) else [int(size) for size in dims]
    fixed = prod(size for size in dims if size)
    free = dims.count(0)
    if any(size < 0 for size in dims) or nnodes < 1 or nnodes % fixed or not free and fixed != nnodes and dims:
        raise Exception(ErrorClass.ERR_DIMS, f"the product of {dims} cannot be {nnodes}")
    sizes = iter(_best(nnodes // fixed, free, nnodes) if free else ())
    return [size or next(sizes) for size in dims]


class Cart:
    """A grid. ``dims``: ranks in each dimension; ``periods``: whether its ends are neighbors; the last varies first.

    Raises
    ------
    Exception
        ERR_DIMS for a dimension that is not positive; ERR_ARG for coordinates out of a dimension that is not
        periodic; ERR_RANK for a rank that is not in the grid.
    """

    kind = CART

    def __init__(self, dims, periods):
        self.dims = dims
        self.periods = periods
        self.size = prod(dims)
        if any(size < 1 for size in dims):
            raise Exception(ErrorClass.ERR_DIMS, f"a dimension is 1 or more: {dims}")

    def rank(self, coords):
        """The rank at some coordinates."""
        rank = 0
        for at, size, period in zip(coords, self.dims, self.periods, strict=True):
            if not (period or 0 <= at < size):
                raise Exception(ErrorClass.ERR_ARG, f"a coordinate is 0 to {size - 1}, not {at}")
            rank = rank * size + at % size
        return rank

    def coords(self, rank):
        """The coordinates of a rank."""
        if not 0 <= rank < self.size:
            raise Exception(ErrorClass.ERR_RANK, f"the grid has the ranks 0 to {self.size - 1}, not {rank}")
        coords = []
        for size in reversed(self.dims):
            rank, at = divmod(rank, size)
            coords.append(at)
        return coords[::-1]

    def moved(self, rank, direction, disp):
        """The rank ``disp`` further in a dimension; PROC_NULL beyond the end."""
        coords = self.coords(rank)
        coords[direction] += disp
        if not (self.periods[direction] or 0 <= coords[direction] < self.dims[direction]):
            return PROC_NULL
        return self.rank(coords)

    def neighbors(self, rank):
        """Sources and destinations of a rank, one list for both: in each dimension the rank before, the rank behind."""
        both = [self.moved(rank, direction, disp) for direction in range(len(self.dims)) for disp in (-1, 1)]
        return both, both

    def routes(self, rank):
        """Sources and destinations of a rank as (rank, phase): what one sends in a phase, the other receives in it.

        Two ranks may be neighbors in several directions: what is sent to the rank before comes from the rank behind.
        """
        both, _ = self.neighbors(rank)
        return [(each, slot ^ 1) for slot, each in enumerate(both)], [(each, slot) for slot, each in enumerate(both)]


def _in_phase_0(sources, destinations):
    return [(source, 0) for source in sources], [(to, 0) for to in destinations]


class Graph:
    """Any neighbors, which all ranks know: those of rank r are ``edges[index[r - 1] : index[r]]``.

    Raises
    ------
    Exception
        ERR_TOPOLOGY if the index does not fit the edges, or an edge leads to a rank that there is not.
    """

    kind = GRAPH

    def __init__(self, index, edges):
        if len(index) and index[0] == 0 and index[-1] == len(edges) and len(index) > 1:
            index = index[1:]  # with the 0 before the first rank, as adjacency lists often are
        self.index = index
        self.edges = edges
        if sorted(index) != index or (index[-1] if index else 0) != len(edges):
            raise Exception(ErrorClass.ERR_TOPOLOGY, f"the index {index} does not fit {len(edges)} edges")
        if any(not 0 <= edge < len(index) for edge in edges):
            raise Exception(ErrorClass.ERR_TOPOLOGY, f"an edge leads to a rank, 0 to {len(index) - 1}: {edges}")

    @property
    def size(self):
        """Number of ranks."""
        return len(self.index)

    def of_rank(self, rank):
        """List of the neighbors of a rank."""
        if not 0 <= rank < self.size:
            raise Exception(ErrorClass.ERR_RANK, f"the graph has the ranks 0 to {self.size - 1}, not {rank}")
        return self.edges[self.index[rank - 1] if rank else 0 : self.index[rank]]

    def neighbors(self, rank):
        """As ``Cart.neighbors``: both lists are the same."""
        return self.of_rank(rank), self.of_rank(rank)

    def routes(self, rank):
        """As ``Cart.routes``."""
        return _in_phase_0(*self.neighbors(rank))


class DistGraph:
    """Any neighbors, of which a rank knows its own. ``weights``: lists of ints for both, or None."""

    kind = DIST_GRAPH

    def __init__(self, sources, destinations, weights):
        self.sources = sources
        self.destinations = destinations
        self.weights = weights

    @classmethod
    def of_edges(cls, rank, edges, weighted):
        """The part of ``rank`` of a graph with these edges, (source, destination, weight) each."""
        incoming = [(source, weight) for source, to, weight in edges if to == rank]
        outgoing = [(to, weight) for source, to, weight in edges if source == rank]
        weights = tuple([weight for _, weight in each] for each in (incoming, outgoing)) if weighted else None
        return cls([source for source, _ in incoming], [to for to, _ in outgoing], weights)

    def neighbors(self, rank):
        """Sources and destinations of the caller."""
        return self.sources, self.destinations

    def routes(self, rank):
        """As ``Cart.routes``."""
        return _in_phase_0(self.sources, self.destinations)


def edges_of(sources, degrees, destinations, weights):
    """List of edges (source, destination, weight); rank ``sources[i]`` has the next ``degrees[i]`` destinations."""
    ends = list(accumulate(degrees))
    starts = [source for source, degree in zip(sources, degrees, strict=True) for _ in range(degree)]
    if len(destinations) != (ends[-1] if ends else 0):
        raise ValueError(f"expecting {len(starts)} items, got {len(destinations)}")
    return list(zip(starts, destinations, weights or [1] * len(starts), strict=True))

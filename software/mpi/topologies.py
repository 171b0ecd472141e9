"""Communicators whose ranks have neighbors: grids, graphs, distributed graphs. Names are mpi4py's.

``WithTopologies`` has the calls by which an intracommunicator makes them, ``family`` the classes. The ranks stay where
they are: ``reorder`` has no effect.
"""

from .buffers import block, blocks, typed_blocks
from .callbook import Terms
from .collective.neighbors import alltoall
from .collectives import stored
from .constants import CART, DIST_GRAPH, GRAPH, UNDEFINED, UNWEIGHTED, WEIGHTS_EMPTY
from .exception import ErrorClass, Exception
from .forms import collective
from .info import INFO_NULL
from .pickling import pickle
from .topology import Cart, DistGraph, Graph, edges_of

__all__ = ["Neighborhood", "OfCart", "OfDistGraph", "OfGraph", "WithTopologies"]

#: Kind of topology -> class of communicators.
_classes = {}


def _integers(values, count=None):
    values = [int(value) for value in values]
    if count is not None and len(values) != count:
        raise ValueError(f"expecting {count} items, got {len(values)}")
    return values


def _cart(dims, periods):
    dims = _integers(dims)
    if periods is None or isinstance(periods, bool):
        periods = [bool(periods)] * len(dims)
    return Cart(dims, [int(bool(period)) for period in _integers(periods, len(dims))])


def _weights(weights, count):
    """A list of weights; None if there are none."""
    if weights is None or weights is UNWEIGHTED:
        return None
    if weights is WEIGHTS_EMPTY:
        if count:
            raise ValueError("empty weights but nonzero degree")
        return []
    return _integers(weights, count)


class WithTopologies:
    """The calls of intracommunicators that make communicators with a topology.

    Raises
    ------
    Exception
        ERR_ARG if the communicator has fewer ranks than the topology; as the classes of ``topology``.
    ValueError
        Lists of lengths that do not fit.
    """

    __slots__ = ()

    def _with_topology(self, topology, color=0):
        """A communicator of those ranks of this one that give the same color, in their order."""
        made = self.Split(color, self.Get_rank())
        kind = _classes[topology.kind]
        if not made:
            return kind()
        made.target.topology = topology
        return kind.of(made.target)

    def _of_first(self, topology):
        """The same of as many ranks as the topology has."""
        if topology.size > self.Get_size():
            raise Exception(
                ErrorClass.ERR_ARG, f"the topology has {topology.size} ranks, the communicator {self.Get_size()}"
            )
        return self._with_topology(topology, 0 if self.Get_rank() < topology.size else UNDEFINED)

    def Create_cart(self, dims, periods=None, reorder=False):
        """A grid of ``dims`` ranks; ``periods``: whether the ends of all, or of each dimension, are neighbors.

        Ranks beyond the grid get a null communicator.
        """
        return self._of_first(_cart(dims, periods))

    def Create_graph(self, index, edges, reorder=False):
        """A graph, as ``topology.Graph`` describes it; all ranks give the same."""
        return self._of_first(Graph(_integers(index), _integers(edges)))

    def Create_dist_graph_adjacent(
        self, sources, destinations, sourceweights=None, destweights=None, info=INFO_NULL, reorder=False
    ):
        """A graph in which each rank gives its sources and its destinations."""
        sources, destinations = _integers(sources or ()), _integers(destinations or ())
        weights = _weights(sourceweights, len(sources)), _weights(destweights, len(destinations))
        if weights == (None, None):
            weights = None
        else:
            weights = weights[0] or [1] * len(sources), weights[1] or [1] * len(destinations)
        return self._with_topology(DistGraph(sources, destinations, weights))

    def Create_dist_graph(self, sources, degrees, destinations, weights=None, info=INFO_NULL, reorder=False):
        """A graph of which each rank gives any edges: ``degrees[i]`` destinations of ``sources[i]``, and so on."""
        destinations = _integers(destinations)
        weights = _weights(weights, len(destinations))
        ours = edges_of(_integers(sources), _integers(degrees), destinations, weights)
        told = self.allgather((weights is not None, ours))
        edges = [edge for _, each in told for edge in each]
        return self._with_topology(DistGraph.of_edges(self.Get_rank(), edges, any(given for given, _ in told)))

    def Cart_map(self, dims, periods=None):
        """The rank that the caller would have in a grid; UNDEFINED beyond it."""
        return self.Get_rank() if self.Get_rank() < _cart(dims, periods).size else UNDEFINED

    def Graph_map(self, index, edges):
        """The rank that the caller would have in a graph; UNDEFINED beyond it."""
        return self.Get_rank() if self.Get_rank() < Graph(_integers(index), _integers(edges)).size else UNDEFINED


class Neighborhood:
    """Neighbors, and the collective calls among them. Buffers are as in the calls of ``Collectives``.

    The part of a source that is PROC_NULL, beyond the end of a grid, stays as it is; as an object it is None.

    Raises
    ------
    TypeError
        If it is made of a communicator with another topology, or none.
    """

    #: Kind of topology; None: any.
    kind = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.kind is not None and "kind" not in vars(cls):
            _classes.setdefault(cls.kind, cls)

    def __new__(cls, comm=None):
        self = super().__new__(cls, comm)
        if self.target is not None:
            topology = self.topology_of_caller
            if topology is None or cls.kind not in (None, topology.kind):
                raise TypeError(f"{cls.__name__} is made of a communicator with that topology")
        return self

    @property
    def topology_of_caller(self):
        """The Cart, Graph or DistGraph."""
        if self.target is None:
            raise Exception(ErrorClass.ERR_COMM, "the communicator is null")
        return self.target.of_caller().topology

    @property
    def inoutedges(self):
        """Sources and destinations of the caller, two lists of ranks."""
        sources, destinations = self.topology_of_caller.neighbors(self.Get_rank())
        return list(sources), list(destinations)

    inedges = property(lambda self: self.inoutedges[0])
    outedges = property(lambda self: self.inoutedges[1])
    degrees = property(lambda self: tuple(map(len, self.inoutedges)))
    indegree = property(lambda self: self.degrees[0])
    outdegree = property(lambda self: self.degrees[1])

    def _exchange_blocks(self, sources, targets):
        """``sources``: Blocks for the destinations; ``targets``: Blocks that the sources' elements are stored in."""
        routes = self.topology_of_caller.routes(self.Get_rank())

        async def run(exchange):
            parts = await self._carried(alltoall)(exchange, [each.pack() for each in sources], routes[1], routes[0])
            for target, data, (source, _) in zip(targets, parts, routes[0], strict=True):
                if data is not None:
                    stored(exchange, target, data, f"rank {source}")

        return run, Terms()

    @collective
    def Neighbor_allgather(self, sendbuf, recvbuf):
        """Sends the elements of a buffer to all destinations, and puts those of the sources one behind the other."""
        indegree, outdegree = self.degrees
        whole = block(recvbuf, True, indegree)
        return self._exchange_blocks([block(sendbuf)] * outdegree, _row(whole, indegree))

    @collective
    def Neighbor_allgatherv(self, sendbuf, recvbuf):
        """As ``Neighbor_allgather``; ``recvbuf`` says how many elements come from each source, and where they are."""
        indegree, outdegree = self.degrees
        return self._exchange_blocks([block(sendbuf)] * outdegree, blocks(recvbuf, indegree, True))

    @collective
    def Neighbor_alltoall(self, sendbuf, recvbuf):
        """Sends to each destination its part of a buffer, and puts those of the sources one behind the other."""
        indegree, outdegree = self.degrees
        sent = _row(block(sendbuf, False, outdegree), outdegree)
        return self._exchange_blocks(sent, _row(block(recvbuf, True, indegree), indegree))

    @collective
    def Neighbor_alltoallv(self, sendbuf, recvbuf):
        """As ``Neighbor_alltoall``; the buffers say how many elements each part has, and where they are."""
        indegree, outdegree = self.degrees
        return self._exchange_blocks(blocks(sendbuf, outdegree), blocks(recvbuf, indegree, True))

    @collective
    def Neighbor_alltoallw(self, sendbuf, recvbuf):
        """As ``Neighbor_alltoallv``, with a datatype for each part."""
        indegree, outdegree = self.degrees
        return self._exchange_blocks(typed_blocks(sendbuf, outdegree), typed_blocks(recvbuf, indegree, True))

    def _exchange_objects(self, name, parts):
        sources, destinations = self.topology_of_caller.routes(self.Get_rank())
        got = self._collective(name, lambda exchange: self._carried(alltoall)(exchange, parts, destinations, sources))
        return [None if part is None else pickle.loads(part) for part in got]

    def neighbor_allgather(self, sendobj):
        """The list of the sources' objects."""
        return self._exchange_objects("neighbor_allgather", [pickle.dumps(sendobj)] * self.outdegree)

    def neighbor_alltoall(self, sendobj):
        """The list of the objects that the sources have for this rank; ``sendobj``: one for each destination."""
        return self._exchange_objects("neighbor_alltoall", pickle.dumps_each(sendobj, self.outdegree))


def _row(whole, count):
    return [whole.part(index * whole.count, whole.count) for index in range(count)]


class OfCart(Neighborhood):
    """The calls of a communicator whose ranks form a grid."""

    kind = CART

    def Get_dim(self):
        """Number of dimensions."""
        return len(self.topology_of_caller.dims)

    dim = ndim = property(Get_dim)

    def Get_topo(self):
        """Three lists: ranks in each dimension, whether it is periodic (0 or 1), coordinates of the caller."""
        cart = self.topology_of_caller
        return list(cart.dims), list(cart.periods), cart.coords(self.Get_rank())

    topo = property(Get_topo)
    dims = property(lambda self: self.Get_topo()[0])
    periods = property(lambda self: self.Get_topo()[1])
    coords = property(lambda self: self.Get_topo()[2])

    def Get_cart_rank(self, coords):
        """The rank at some coordinates."""
        return self.topology_of_caller.rank(_integers(coords, self.Get_dim()))

    def Get_coords(self, rank):
        """The coordinates of a rank."""
        return self.topology_of_caller.coords(rank)

    def Shift(self, direction, disp):
        """(source, destination) of the caller if all ranks send ``disp`` further in a dimension; PROC_NULL: none."""
        cart, rank = self.topology_of_caller, self.Get_rank()
        if not 0 <= direction < len(cart.dims):
            raise Exception(ErrorClass.ERR_DIMS, f"a dimension is 0 to {len(cart.dims) - 1}, not {direction}")
        return cart.moved(rank, direction, -disp), cart.moved(rank, direction, disp)

    def Sub(self, remain_dims):
        """The part of the grid that has the caller's coordinates in the dimensions that do not remain."""
        remain = _integers(remain_dims, self.Get_dim())
        dims, periods, coords = self.Get_topo()
        color = 0
        for at, size, stays in zip(coords, dims, remain, strict=True):
            color = color if stays else color * size + at
        kept = [index for index, stays in enumerate(remain) if stays]
        return self._with_topology(Cart([dims[index] for index in kept], [periods[index] for index in kept]), color)


class OfGraph(Neighborhood):
    """The calls of a communicator whose ranks form a graph."""

    kind = GRAPH

    def Get_dims(self):
        """Numbers of ranks and of edges."""
        return self.topology_of_caller.size, len(self.topology_of_caller.edges)

    dims = property(Get_dims)
    nnodes = property(lambda self: self.Get_dims()[0])
    nedges = property(lambda self: self.Get_dims()[1])

    def Get_topo(self):
        """Index and edges, as ``topology.Graph`` describes them."""
        return list(self.topology_of_caller.index), list(self.topology_of_caller.edges)

    topo = property(Get_topo)
    index = property(lambda self: self.Get_topo()[0])
    edges = property(lambda self: self.Get_topo()[1])

    def Get_neighbors_count(self, rank):
        """Number of neighbors of a rank."""
        return len(self.topology_of_caller.of_rank(rank))

    def Get_neighbors(self, rank):
        """List of the neighbors of a rank."""
        return list(self.topology_of_caller.of_rank(rank))

    nneighbors = property(lambda self: self.Get_neighbors_count(self.Get_rank()))
    neighbors = property(lambda self: self.Get_neighbors(self.Get_rank()))


class OfDistGraph(Neighborhood):
    """The calls of a communicator whose ranks form a graph of which each knows its part."""

    kind = DIST_GRAPH

    def Get_dist_neighbors_count(self):
        """Numbers of sources and of destinations, and whether they have weights."""
        return (*self.degrees, self.topology_of_caller.weights is not None)

    def Get_dist_neighbors(self):
        """Sources, destinations, and (weights of the sources, of the destinations) or None."""
        weights = self.topology_of_caller.weights
        return (*self.inoutedges, weights and (list(weights[0]), list(weights[1])))

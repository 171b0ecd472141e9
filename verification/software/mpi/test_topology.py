"""Topologies: neighbors in grids and graphs (MPI 4.1, ch. 8)."""

from itertools import product
from math import prod

import hypothesis.strategies as st
import pytest
from hypothesis import given

from nectar.software.mpi.constants import PROC_NULL
from nectar.software.mpi.exception import ErrorClass, Exception
from nectar.software.mpi.topology import Cart, Compute_dims, DistGraph, Graph, edges_of
from nectar.verification.properties import properties


@properties(max_examples=60)
@given(st.integers(1, 96), st.integers(1, 4))
def test_dimensions_are_as_equal_as_can_be(nodes, ndims):
    dims = Compute_dims(nodes, ndims)
    assert prod(dims) == nodes and dims == sorted(dims, reverse=True) and len(dims) == ndims
    factors = [each for each in range(1, nodes + 1) if nodes % each == 0]
    best = min(max(each) - min(each) for each in product(factors, repeat=ndims) if prod(each) == nodes)
    assert dims[0] - dims[-1] == best


def test_given_dimensions_stay():
    assert Compute_dims(12, [0, 3, 0]) == [2, 3, 2]
    assert Compute_dims(6, [2, 3]) == [2, 3]
    assert Compute_dims(1, []) == []
    for wrong in ([5, 0], [2, 2], [-1, 0]):
        with pytest.raises(Exception) as caught:
            Compute_dims(6, wrong)
        assert caught.value == ErrorClass.ERR_DIMS


GRIDS = st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=3).map(
    lambda each: Cart([size for size, _ in each], [period for _, period in each])
)


@properties(max_examples=100)
@given(GRIDS)
def test_ranks_and_coordinates_are_the_same_places(cart):
    places = list(product(*(range(size) for size in cart.dims)))
    assert [tuple(cart.coords(rank)) for rank in range(cart.size)] == places
    assert [cart.rank(place) for place in places] == list(range(cart.size))


@properties(max_examples=100)
@given(GRIDS)
def test_what_is_sent_in_one_direction_comes_from_the_other(cart):
    """Each part that a rank sends in a phase is expected in that phase by the rank it goes to, exactly once."""
    sent, expected = [], []
    for rank in range(cart.size):
        sources, destinations = cart.routes(rank)
        sent += [(rank, to, phase) for to, phase in destinations if to != PROC_NULL]
        expected += [(source, rank, phase) for source, phase in sources if source != PROC_NULL]
        for direction in range(len(cart.dims)):
            assert destinations[2 * direction + 1][0] == cart.moved(rank, direction, 1)
            assert sources[2 * direction][0] == cart.moved(rank, direction, -1)
    assert sorted(sent) == sorted(expected) and len(set(sent)) == len(sent)


def test_a_grid_ends_where_it_is_not_periodic():
    cart = Cart([2, 3], [0, 1])
    assert cart.neighbors(0) == ([PROC_NULL, 3, 2, 1], [PROC_NULL, 3, 2, 1])
    assert cart.rank([1, -1]) == 5
    for call, error in [
        (lambda: cart.rank([2, 0]), ErrorClass.ERR_ARG),
        (lambda: cart.coords(6), ErrorClass.ERR_RANK),
        (lambda: Cart([0], [0]), ErrorClass.ERR_DIMS),
    ]:
        with pytest.raises(Exception) as caught:
            call()
        assert caught.value == error


def test_a_graph_is_given_by_its_edges_with_or_without_the_first_index():
    for index in ([2, 3, 5], [0, 2, 3, 5]):
        graph = Graph(index, [1, 2, 0, 0, 1])
        assert [graph.of_rank(rank) for rank in range(graph.size)] == [[1, 2], [0], [0, 1]]
    for index, edges in [([2], [0]), ([1], [1]), ([2, 1], [0, 0])]:
        with pytest.raises(Exception) as caught:
            Graph(index, edges)
        assert caught.value == ErrorClass.ERR_TOPOLOGY


def test_any_rank_may_give_the_edges_of_a_distributed_graph():
    edges = edges_of([0, 2], [2, 1], [1, 2, 0], [5, 6, 7])
    assert edges == [(0, 1, 5), (0, 2, 6), (2, 0, 7)]
    own = DistGraph.of_edges(0, edges, True)
    assert own.neighbors(0) == ([2], [1, 2]) and own.weights == ([7], [5, 6])
    assert DistGraph.of_edges(1, edges, False).weights is None
    with pytest.raises(ValueError, match="expecting 2 items, got 1"):
        edges_of([0], [2], [1], None)

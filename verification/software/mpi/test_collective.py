"""The algorithms of collective operations, on ranks without a machine: what comes, and how many messages it takes.

The reference is what the MPI standard says of each operation, as one line of Python over the contributions.
"""

from math import ceil, log2

import pytest

from nectar.software.mpi.collective import between, broadcast, neighbors, reduction, sharing, within
from nectar.verification.software.mpi.ranks import Ranks

SIZES = [1, 2, 3, 4, 5, 8, 9, 13]

#: Bytes of a rank: around a short message, and what goes through trees.
LENGTHS = [0, 1, 12, 13, 50, 101]


def data_of(rank, length):
    """Bytes that tell the rank they are of."""
    return bytes((rank * 7 + index) & 255 for index in range(length))


def joined(lower, upper):
    """A combination that shows the order: what has come, one behind the other."""
    return lower + upper


def rounds(size):
    """Steps of an operation that doubles what it knows."""
    return ceil(log2(size))


def calls(size, operation, multicast=False):
    """Runs ``operation(exchange)`` on all ranks. Returns the results and the Ranks."""
    ranks = Ranks(size, multicast)

    def body(communicator):
        return communicator._collective("test", lambda exchange: operation(exchange))

    return ranks.run(body), ranks


@pytest.mark.parametrize("multicast", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_bcast_gives_all_ranks_the_bytes_of_the_root(size, multicast):
    for root in range(size):
        for length in LENGTHS:
            data = data_of(root, length)

            for known in (None, length):

                def operation(exchange, root=root, data=data, known=known):
                    return broadcast.bcast(exchange, data if exchange.rank == root else None, root, known)

                results, ranks = calls(size, operation, multicast)
                assert results == [data] * size
                at_once = multicast and size > 1 and (known is None or length > 100 or size > 4)
                assert len(ranks.messages) == (0 if at_once else size - 1)
                assert ranks.multicasts == at_once


@pytest.mark.parametrize("multicast", [False, True])
@pytest.mark.parametrize("size", [*SIZES, 16, 17])
def test_no_rank_leaves_a_barrier_before_the_last_has_come(size, multicast):
    come = set()

    async def operation(exchange):
        come.add(exchange.rank)
        await broadcast.barrier(exchange)
        return len(come)

    results, ranks = calls(size, operation, multicast)
    assert results == [size] * size
    assert len(ranks.messages) == (size - 1 if multicast and size > 16 else size * rounds(size))
    assert all(length == 0 for *_, length in ranks.messages)


@pytest.mark.parametrize("size", SIZES)
def test_reduce_combines_in_the_order_of_the_ranks(size):
    for root in range(size):
        for length in (0, 3):
            results, ranks = calls(
                size,
                lambda exchange, root=root, length=length: reduction.reduce(
                    exchange, data_of(exchange.rank, length), joined, root, False
                ),
            )
            whole = b"".join(data_of(rank, length) for rank in range(size))
            assert results == [whole if rank == root else None for rank in range(size)]
            assert len(ranks.messages) == size - 1 + (root != 0)


@pytest.mark.parametrize("size", SIZES)
def test_reduce_of_a_commutative_operation_takes_a_message_of_each_rank_but_the_root(size):
    for root in range(size):
        results, ranks = calls(
            size,
            lambda exchange, root=root: reduction.reduce(
                exchange, bytes([exchange.rank]), lambda one, other: bytes([one[0] + other[0]]), root, True
            ),
        )
        assert results[root] == bytes([size * (size - 1) // 2])
        assert len(ranks.messages) == size - 1


@pytest.mark.parametrize("size", SIZES)
def test_allreduce_combines_in_the_order_of_the_ranks_on_all_of_them(size):
    results, ranks = calls(size, lambda exchange: reduction.allreduce(exchange, data_of(exchange.rank, 3), joined))
    assert results == [b"".join(data_of(rank, 3) for rank in range(size))] * size
    power = 1 << size.bit_length() - 1
    assert len(ranks.messages) == power * (power.bit_length() - 1) + 2 * (size - power)


@pytest.mark.parametrize("size", SIZES)
def test_reduce_scatter_gives_each_rank_its_part(size):
    for lengths in ([2] * size, list(range(size)), [1024 // size + 1] * size):

        def combine(one, other):
            return bytes((first + second) & 255 for first, second in zip(one, other, strict=True))

        total = sum(lengths)
        given = [data_of(rank, total) for rank in range(size)]
        results, ranks = calls(
            size,
            lambda exchange, lengths=lengths, given=given, combine=combine: reduction.reduce_scatter(
                exchange, given[exchange.rank], lengths, combine
            ),
        )
        whole = bytes(sum(column) & 255 for column in zip(*given, strict=True))
        assert b"".join(results) == whole
        assert list(map(len, results)) == lengths
        assert len(ranks.messages) == (size * (size - 1) if total >= 1024 else 2 * (size - 1))


@pytest.mark.parametrize("size", SIZES)
def test_scan_and_exscan_combine_the_ranks_up_to_one(size):
    parts = [data_of(rank, 3) for rank in range(size)]
    results, ranks = calls(size, lambda exchange: reduction.scan(exchange, parts[exchange.rank], joined))
    assert results == [b"".join(parts[: rank + 1]) for rank in range(size)]
    assert len(ranks.messages) <= size * rounds(size)
    results, _ = calls(size, lambda exchange: reduction.exscan(exchange, parts[exchange.rank], joined))
    assert results == [None, *(b"".join(parts[:rank]) for rank in range(1, size))]


@pytest.mark.parametrize("size", SIZES)
def test_gather_gives_the_root_what_all_have(size):
    for root in {0, size // 2, size - 1}:
        for length in LENGTHS:
            for equal in (True, False):
                parts = [data_of(rank, length if equal else length + rank) for rank in range(size)]
                results, ranks = calls(
                    size,
                    lambda exchange, root=root, parts=parts, equal=equal: sharing.gather(
                        exchange, parts[exchange.rank], root, equal
                    ),
                )
                assert results == [parts if rank == root else None for rank in range(size)]
                assert len(ranks.messages) == size - 1


@pytest.mark.parametrize("size", SIZES)
def test_scatter_gives_each_rank_what_the_root_has_for_it(size):
    for root in {0, size // 2, size - 1}:
        for length in LENGTHS:
            for equal in (True, False):
                parts = [data_of(rank, length if equal else length + rank) for rank in range(size)]
                results, ranks = calls(
                    size,
                    lambda exchange, root=root, parts=parts, length=length if equal else None: sharing.scatter(
                        exchange, parts if exchange.rank == root else None, root, length
                    ),
                )
                assert results == parts
                assert len(ranks.messages) == size - 1


@pytest.mark.parametrize("size", SIZES)
def test_short_parts_go_through_a_tree_and_long_ones_straight(size):
    """A message of the tree carries half of all parts at most: 100 bytes, which Nectarine sends as a short message."""
    for length, tree in ((1, True), (100, size < 4)):
        _, ranks = calls(
            size, lambda exchange, length=length: sharing.gather(exchange, data_of(exchange.rank, length), 0, True)
        )
        steps = {source for _, source, to, _ in ranks.messages if to == 0}
        assert len(steps) == (rounds(size) if tree and size > 2 else size - 1)
        assert max((nbytes for *_, nbytes in ranks.messages), default=0) <= 100


@pytest.mark.parametrize("size", SIZES)
def test_allgather_gives_all_what_all_have(size):
    for length in LENGTHS:
        for equal in (True, False):
            parts = [data_of(rank, length if equal else length + rank) for rank in range(size)]
            results, ranks = calls(
                size,
                lambda exchange, parts=parts, equal=equal: sharing.allgather(exchange, parts[exchange.rank], equal),
            )
            assert results == [parts] * size
            assert len(ranks.messages) == size * rounds(size)
            assert sum(nbytes for *_, nbytes in ranks.messages) == (size - 1) * sum(
                len(part) + (0 if equal else 4) for part in parts
            )


@pytest.mark.parametrize("size", SIZES)
def test_alltoall_gives_each_rank_what_each_has_for_it(size):
    parts = [[data_of(16 * rank + to, rank + to) for to in range(size)] for rank in range(size)]
    results, ranks = calls(size, lambda exchange: sharing.alltoall(exchange, parts[exchange.rank]))
    assert results == [[parts[source][rank] for source in range(size)] for rank in range(size)]
    assert len(ranks.messages) == size * (size - 1)


def test_neighbors_that_are_so_twice_get_each_part_in_its_place():
    """Two ranks in a ring: each is the other's neighbor on both sides."""
    sides = [(1, 0), (1, 1)], [(0, 0), (0, 1)]  # destinations: the rank before, the rank behind
    mirrored = [(1, 1), (1, 0)], [(0, 1), (0, 0)]

    def operation(exchange):
        parts = [bytes([exchange.rank, side]) for side in range(2)]
        return neighbors.alltoall(exchange, parts, sides[exchange.rank], mirrored[exchange.rank])

    results, _ = calls(2, operation)
    assert results == [[bytes([1, 1]), bytes([1, 0])], [bytes([0, 1]), bytes([0, 0])]]


def test_both_kinds_of_communicators_have_the_same_operations():
    assert within.__all__ == between.__all__
    assert all(callable(getattr(module, name)) for module in (within, between) for name in within.__all__)

"""Random programs of collective calls against a sequential replay.

The replay knows the elements that each rank gives, and says in one line of each call what each rank must have then.
Sizes lie around those at which the algorithms change. All else of a buffer, and the gaps of a datatype, must stay.
"""

from array import array
from functools import reduce
from itertools import accumulate

import hypothesis.strategies as st
import pytest
from hypothesis import given, note

from nectar.software.mpi.constants import IN_PLACE
from nectar.software.mpi.op import OPERATIONS, Op
from nectar.software.mpi.predefined import DATATYPES
from nectar.verification.properties import properties
from nectar.verification.software.mpi.ranks import run

INT = DATATYPES["INT"]
UNTOUCHED = -77
#: Elements of a rank: none, few, those whose bytes are a short message or just no more, a whole packet and more.
COUNTS = [0, 1, 2, 3, 12, 13, 24, 25, 26, 260]


class Plain:
    """Elements of one int, one behind the other."""

    width, extent = 1, 1
    datatype = INT

    @staticmethod
    def places(element):
        return [element]


class Strided(Plain):
    """Elements of one int with a gap behind it."""

    extent = 2
    datatype = INT.Create_resized(0, 8)

    @staticmethod
    def places(element):
        return [2 * element]


class Indexed(Plain):
    """Elements of two ints of three, the last one first."""

    width, extent = 2, 3
    datatype = INT.Create_indexed_block(1, [2, 0]).Create_resized(0, 12)

    @staticmethod
    def places(element):
        return [3 * element + 2, 3 * element]


class Vector(Plain):
    """Elements of two blocks of two ints, with a gap between them."""

    width, extent = 4, 5
    datatype = INT.Create_vector(2, 2, 3)

    @staticmethod
    def places(element):
        return [5 * element + at for at in (0, 1, 3, 4)]


KINDS = [Plain, Strided, Indexed, Vector]


def values(step, rank, part, count, kind):
    """The ints that a rank gives as its elements, for one part of its buffer."""
    return [(step * 31 + rank * 1009 + part * 101 + index * 7) % 4001 for index in range(count * kind.width)]


class Room:
    """A buffer with a part for each of some counts, at displacements of its own."""

    def __init__(self, kind, counts, gaps):
        self.kind, self.counts = kind, counts
        starts = list(accumulate((count + gap for count, gap in zip(counts, gaps, strict=True)), initial=gaps[0]))
        self.displacements = starts[:-1]
        self.data = array("i", [UNTOUCHED] * (kind.extent * (starts[-1] + 1)))

    def _places(self, part):
        first = self.displacements[part]
        return [place for index in range(self.counts[part]) for place in self.kind.places(first + index)]

    def put(self, part, ints):
        """Stores the elements of a part."""
        for place, value in zip(self._places(part), ints, strict=True):
            self.data[place] = value

    def expect(self, parts):
        """The buffer with these parts; None: as it is."""
        whole = list(self.data)
        for part, ints in enumerate(parts):
            if ints is not None:
                for place, value in zip(self._places(part), ints, strict=True):
                    whole[place] = value
        return whole

    @property
    def simple(self):
        """The message, of the first part."""
        return [self.data, (self.counts[0], self.displacements[0]), self.kind.datatype]

    @property
    def vector(self):
        """The message, of all parts."""
        return [self.data, (self.counts, self.displacements), self.kind.datatype]


def composed(one, other):
    """The composition of two affine maps x → a x + b modulo 251, lists of pairs: associative, not commutative."""
    pairs = zip(one[::2], one[1::2], other[::2], other[1::2], strict=True)
    return [number for a, b, c, d in pairs for number in (a * c % 251, (b * c + d) % 251)]


def compose(inbuf, inoutbuf, datatype):
    """The same as an operation of a program."""
    one, other = (array("i", bytes(side)) for side in (inbuf, inoutbuf))
    inoutbuf[:] = array("i", composed(list(one), list(other)))


def added(one, other):
    return [a + b for a, b in zip(one, other, strict=True)]


def greater(one, other):
    return [max(a, b) for a, b in zip(one, other, strict=True)]


PAIRED = INT.Create_contiguous(2)
#: Name, width of an element, datatype, combination of two lists.
REDUCTIONS = {"SUM": (1, INT, added), "MAX": (1, INT, greater), "own": (2, PAIRED, composed)}

KINDS_OF_STEPS = ["Bcast", "Gather", "Scatter", "Allgather", "Alltoall"]
KINDS_OF_REDUCTIONS = ["Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block"]
MOVES = st.tuples(
    st.sampled_from(["Barrier", *KINDS_OF_STEPS, *(f"{name}v" for name in KINDS_OF_STEPS[1:])]),
    st.integers(0, 99),  # the root
    st.sampled_from(KINDS),
    st.booleans(),  # in place
    st.lists(st.sampled_from(COUNTS), min_size=25, max_size=25),
    st.lists(st.integers(0, 2), min_size=25, max_size=25),
)
COMBINES = st.tuples(
    st.sampled_from(KINDS_OF_REDUCTIONS),
    st.integers(0, 99),
    st.sampled_from(sorted(REDUCTIONS)),
    st.booleans(),
    st.lists(st.sampled_from(COUNTS), min_size=25, max_size=25),
    st.just(()),
)
OBJECTS = st.tuples(
    st.sampled_from(["bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "scan", "exscan"]),
    st.integers(0, 99),
    st.just(None),
    st.just(False),
    st.lists(st.sampled_from(COUNTS), min_size=25, max_size=25),
    st.just(()),
)


def move(comm, number, call, root, kind, in_place, counts, gaps):
    """One call that moves elements, and what must be in the buffers then. ``counts[source * size + to]``."""
    size, rank = comm.Get_size(), comm.Get_rank()
    vector = call.endswith("v")
    name = call.removesuffix("v")
    if not vector:
        counts = [counts[0]] * len(counts)

    def of(source, to):
        return values(number, source, to, counts[source * size + to], kind)

    def count(source, to):
        return counts[source * size + to]

    def room(all_counts):
        # Without the v the parts lie one behind the other.
        return Room(kind, all_counts, gaps[: len(all_counts)] if vector else [0] * len(all_counts))

    def message(space):
        return space.vector if vector else space.simple

    gives, gets = room([1]), room([1])
    expected = gets.expect([])
    if name == "Barrier":
        comm.Barrier()
    elif name == "Bcast":
        gets = Room(kind, [count(0, 0)], gaps[:1])
        if rank == root:
            gets.put(0, of(root, 0))
        expected = gets.expect([of(root, 0)])
        comm.Bcast(gets.simple, root)
    elif name in ("Gather", "Allgather"):
        everywhere = name == "Allgather"
        gets = room([count(source, 0) for source in range(size)])
        gives = Room(kind, [count(rank, 0)], gaps[:1])
        gives.put(0, of(rank, 0))
        in_place = in_place and (everywhere or rank == root)
        if in_place:
            gets.put(rank, of(rank, 0))
        if everywhere or rank == root:
            expected = gets.expect([of(source, 0) for source in range(size)])
        else:
            expected = gets.expect([])
        sent = IN_PLACE if in_place else gives.simple
        getattr(comm, call)(sent, message(gets), *(() if everywhere else (root,)))
    elif name == "Scatter":
        gives = room([count(root, to) for to in range(size)])
        for to in range(size):
            gives.put(to, of(root, to))
        gets = Room(kind, [count(root, rank)], gaps[:1])
        in_place = in_place and rank == root
        expected = gets.expect([None if in_place else of(root, rank)])
        received = IN_PLACE if in_place else gets.simple
        getattr(comm, call)(message(gives) if rank == root else None, received, root)
    else:
        if in_place:  # each pair of ranks exchanges as many elements
            counts = [counts[min(a, b) * size + max(a, b)] for a in range(size) for b in range(size)]
        gives = room([count(rank, to) for to in range(size)])
        gets = room([count(source, rank) for source in range(size)])
        for to in range(size):
            (gets if in_place else gives).put(to, of(rank, to))
        expected = gets.expect([of(source, rank) for source in range(size)])
        getattr(comm, call)(IN_PLACE if in_place else message(gives), message(gets))
    return list(gets.data), expected


def combine(comm, number, call, root, name, in_place, counts, own):
    """One reduction, and what must be in the buffer then."""
    size, rank = comm.Get_size(), comm.Get_rank()
    width, datatype, function = REDUCTIONS[name]
    op = OPERATIONS.get(name, own)
    scattered = call.startswith("Reduce_scatter")
    wanted = [counts[0]] * size if call.endswith("block") else counts[:size]
    total = sum(wanted) if scattered else counts[0]
    parts = [[1 + value % 250 for value in values(number, source, 0, total * width, Plain)] for source in range(size)]
    in_place = in_place and (call != "Reduce" or rank == root)
    # In place, a scattered reduction leaves what it wants at the start.
    room = total if in_place else wanted[rank] if scattered else total
    result = array("i", parts[rank] if in_place else [UNTOUCHED] * room * width)
    expected = list(result)
    sent = IN_PLACE if in_place else [array("i", parts[rank]), datatype]
    if scattered:
        first = sum(wanted[:rank]) * width
        mine = reduce(function, parts)[first : first + wanted[rank] * width]
        expected[: len(mine)] = mine
        more = () if call.endswith("block") else (wanted if in_place or root % 2 else None,)
        getattr(comm, call)(sent, [result, datatype], *more, op)
        return list(result), expected
    if call in ("Scan", "Exscan"):
        parts = parts[: rank + (call == "Scan")]
    if parts and (call != "Reduce" or rank == root):
        expected = reduce(function, parts)
    getattr(comm, call)(sent, [result, datatype], op, *((root,) if call == "Reduce" else ()))
    return list(result), expected


def objects(comm, number, call, root, counts):
    """One call with objects: its result, and what it must be."""
    size, rank = comm.Get_size(), comm.Get_rank()

    def of(source, to=0):
        return [source, to, "x" * counts[source * size + to]]

    everyone = [of(source) for source in range(size)]
    joined = [sum(everyone[: source + 1], []) for source in range(size)]
    each = [of(rank, to) for to in range(size)]
    if call == "bcast":
        return comm.bcast(of(root) if rank == root else None, root), of(root)
    if call == "gather":
        return comm.gather(of(rank), root), everyone if rank == root else None
    if call == "scatter":
        return comm.scatter(each if rank == root else None, root), of(root, rank)
    if call == "allgather":
        return comm.allgather(of(rank)), everyone
    if call == "alltoall":
        return comm.alltoall(each), [of(source, rank) for source in range(size)]
    if call == "reduce":
        return comm.reduce(of(rank), root=root), joined[-1] if rank == root else None
    if call == "allreduce":
        return comm.allreduce(of(rank)), joined[-1]
    if call == "scan":
        return comm.scan(of(rank)), joined[rank]
    return comm.exscan(of(rank)), joined[rank - 1] if rank else None


def play(comm, steps):
    """A program: list of what the calls have left, and what they must leave."""
    outcomes = []
    own = Op.Create(compose)
    for number, (call, root, kind, in_place, counts, gaps) in enumerate(steps):
        root %= comm.Get_size()
        if call in KINDS_OF_REDUCTIONS:
            outcomes.append((call, *combine(comm, number, call, root, kind, in_place, counts, own)))
        elif call[0].islower():
            outcomes.append((call, *objects(comm, number, call, root, counts)))
        else:
            outcomes.append((call, *move(comm, number, call, root, kind, in_place, counts, gaps)))
    own.Free()
    return outcomes


def judge(results):
    """Every rank has what the replay says."""
    for rank, outcomes in enumerate(results):
        for number, (call, got, expected) in enumerate(outcomes):
            assert got == expected, f"step {number}, {call}, on rank {rank}"


PROGRAMS = st.tuples(
    st.integers(1, 5),
    st.booleans(),
    st.integers(0, 1 << 16),
    st.lists(st.one_of(MOVES, COMBINES, OBJECTS), min_size=1, max_size=8),
)


def _holds(program):
    size, multicast, seed, steps = program
    for step in steps:
        note(f"{size} ranks, multicast {multicast}: {step}")
    judge(run(size, lambda comm: play(comm, steps), multicast=multicast, seed=seed))


@properties(max_examples=160)
@given(PROGRAMS)
def test_random_programs_do_what_the_replay_says(program):
    _holds(program)


@pytest.mark.nightly
@properties(max_examples=3000)
@given(PROGRAMS)
def test_many_random_programs_do_what_the_replay_says(program):
    _holds(program)

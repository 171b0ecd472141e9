"""Random programs of messages between ranks, in all ways that MPI has, against a sequential replay (``replay``)."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, note

from nectar.verification import seeds
from nectar.verification.properties import properties
from nectar.verification.software.helpers import FAST_RECOVERY
from nectar.verification.software.mpi.programs import ranks, sleep
from nectar.verification.software.mpi.replay import ANYONE, NAMED, SIZES, TAGGED, TAGS, UNUSED, WHOLE, judge, planned

#: Simulated time that no program needs, with or without faults, in picoseconds.
LONG = 20 * 10**12
#: Fibers that damage symbols. An answer that is not acknowledged is kept for half a second.
DAMAGED = {"faults": ["*:errors=1e-4"], "options": FAST_RECOVERY, "settle_ps": 10**12}
#: A message that goes in parts.
LARGE = WHOLE + 1
KINDS = ["send"] * 5 + ["receive"] * 5 + ["exchange", "wait", "wait", "look", "pause", "null", "cancel"]


class Rank:
    """One rank: does the actions of the program, and notes what it gets."""

    def __init__(self, MPI, comm):
        self.MPI, self.comm = MPI, comm
        self.rooms = [comm, comm.Dup(), comm.Dup()]
        self.got, self.looks = {}, []
        self.open = {}  # number of a request → (request, number of its receive or None, its room for bytes)
        self.persistent = []

    def run(self, actions):
        """All actions. Returns (what its receives got, what its looks found)."""
        self.MPI.Attach_buffer(bytearray(1 << 22))
        for name, *rest in actions:
            getattr(self, name)(*rest)
        for request in self.persistent:
            request.Free()
        self.MPI.Detach_buffer()
        self.comm.Barrier()
        assert not any(room.Iprobe() for room in self.rooms)
        for room in self.rooms[1:]:
            room.Free()
        return self.got, self.looks

    def any(self, source, tag):
        """Source and tag as a call takes them."""
        return (
            self.MPI.ANY_SOURCE if source is None else source,
            self.MPI.ANY_TAG if tag is None else tag,
        )

    def note(self, receive, status, data, room=None):
        """A receive is over; ``data``: the object, or None if the bytes are in ``room``."""
        if room is not None:
            count = status.Get_count(self.MPI.BYTE)
            assert not any(room[count:])
            data = bytes(room[:count])
        self.got[receive] = (status.source, status.tag, data)

    def send(self, way, objects, room, to, tag, data, number):
        comm = self.rooms[room]
        call, _, free = way.partition(" and ")
        made = getattr(comm, call.lower() if objects else call)(data, to, tag)
        if way == "Send_init":
            self.persistent.append(made)
            made.Start()
        if free:
            made.Free()
        elif number is not None:
            self.open[number] = (made, None, None)

    def receive(self, way, objects, room, source, tag, receive, number):
        comm, source_tag = self.rooms[room], self.any(source, tag)
        status, seen, buffer = self.MPI.Status(), self.MPI.Status(), None if objects else bytearray(LARGE)
        if way in ("Irecv", "Recv_init"):
            made = comm.irecv(None, *source_tag) if objects else getattr(comm, way)(buffer, *source_tag)
            if way == "Recv_init":
                self.persistent.append(made)
                made.Start()
            self.open[number] = (made, receive, buffer)
            return
        if way == "Mprobe":
            message = comm.Mprobe(*source_tag, seen)
            data = message.recv(status) if objects else message.Recv(buffer, status)
        else:
            if way == "Probe":
                comm.Probe(*source_tag, seen)
            while way == "Iprobe" and not comm.Iprobe(*source_tag, seen):
                pass
            if way != "Recv":
                source_tag = seen.source, seen.tag
            data = comm.recv(None, *source_tag, status) if objects else comm.Recv(buffer, *source_tag, status)
        if way != "Recv":
            assert (seen.source, seen.tag, seen.count) == (status.source, status.tag, status.count)
        self.note(receive, status, data, buffer)

    def exchange(self, objects, other, tag, data, receive):
        status = self.MPI.Status()
        if objects:
            self.note(receive, status, self.comm.sendrecv(data, other, tag, None, other, tag, status))
        else:
            room = bytearray(LARGE)
            self.comm.Sendrecv(data, other, tag, room, other, tag, status)
            self.note(receive, status, None, room)

    def wait(self, way, numbers):
        """Waits for the requests of these numbers, or for all, so far as it has not."""
        while left := [number for number in self.open if numbers is None or number in numbers]:
            requests = [self.open[number][0] for number in left]
            for index, status, data in self._waited(way, requests):
                request, receive, room = self.open.pop(left[index])
                if receive is not None:
                    self.note(receive, status, data, room)
                assert any(request is each for each in self.persistent) or not request

    def _waited(self, way, requests):
        """(index, status, object) of what has ended."""
        Request, status, call = self.MPI.Request, self.MPI.Status(), way.lower()
        if way in ("Wait", "Test"):
            got = getattr(requests[0], call)(status)
            over, data = got if way == "Test" else (True, got)
            return [(0, status, data)] * over
        statuses = [self.MPI.Status() for _ in requests]
        if way.endswith("any"):
            index, *over, data = getattr(Request, call)(requests, status)
            return [(index, status, data)] if over in ([], [True]) else []
        if way.endswith("all"):
            got = getattr(Request, call)(requests, statuses)
            over, objects = got if way == "Testall" else (True, got)
            return list(zip(range(len(requests)), statuses, objects, strict=True)) if over else []
        indices, objects = getattr(Request, call)(requests, statuses)
        return list(zip(indices, statuses, objects, strict=True))

    def look(self, objects, source, tag):
        status = self.MPI.Status()
        found = self.comm.Iprobe(*self.any(source, tag), status)
        self.looks.append((status.tag, None if objects else status.count) if found else None)

    def pause(self, seconds):
        sleep(self.comm, seconds)

    def null(self, other, tag):
        status, room = self.MPI.Status(), bytearray(b"as it is")
        self.comm.Send(b"x", self.MPI.PROC_NULL, tag)
        self.comm.Irecv(room, self.MPI.PROC_NULL, tag).Wait(status)
        assert (status.source, status.tag, status.count) == (self.MPI.PROC_NULL, self.MPI.ANY_TAG, 0)
        assert room == b"as it is" and self.comm.recv(source=self.MPI.PROC_NULL) is None

    def cancel(self, other, tag):
        status = self.MPI.Status()
        request = self.comm.Irecv(bytearray(3), other, UNUSED)
        request.Cancel()
        request.Wait(status)
        assert status.Is_cancelled() and not request


STEP = st.tuples(
    st.sampled_from(KINDS),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([NAMED, NAMED, ANYONE, TAGGED]),
    st.integers(0, TAGS - 1),
    st.sampled_from(SIZES),
    st.integers(0, 47),
)


def check(program, **options):
    """Runs a program on its ranks, and judges what they have received."""

    def play(MPI, comm):
        return Rank(MPI, comm).run(program.actions[comm.rank])

    judge(program, ranks(play, program.size, LONG, **options))


def check_noted(program):
    """The same on fast boards; a failure shows the program."""
    note("\n".join(f"rank {rank}: {each}" for rank, own in enumerate(program.actions) for each in own))
    check(program)


def drawn(seed, size, count, large=0):
    """A program drawn from the seed of the run; ``large``: so many messages go in parts."""
    draw = seeds.rng(f"messages {seed}")
    steps = [
        (
            draw.choice(KINDS),
            draw.randrange(4),
            draw.randrange(4),
            draw.choice([NAMED, NAMED, ANYONE, TAGGED]),
            draw.randrange(TAGS),
            draw.choice(SIZES),
            draw.randrange(48),
        )
        for _ in range(count)
    ]
    for number in draw.sample(range(count), large):
        _, one, other, room, tag, _, choice = steps[number]
        steps[number] = ("send", one, other, room, tag, LARGE, choice)
    return planned(size, draw.randrange(8), steps)


@properties(max_examples=25)
@given(st.integers(1, 4), st.integers(0, 7), st.lists(STEP, max_size=40))
def test_random_programs_receive_what_the_standard_allows(size, salt, steps):
    check_noted(planned(size, salt, steps))


@pytest.mark.nightly
@properties(max_examples=1000)
@given(st.integers(1, 4), st.integers(0, 7), st.lists(STEP, max_size=60))
def test_many_random_programs_receive_what_the_standard_allows(size, salt, steps):
    check_noted(planned(size, salt, steps))


@pytest.mark.parametrize("seed", range(2))
def test_they_do_so_on_the_rtl_too(seed):
    check(drawn(f"rtl {seed}", 3, 12), boards="rtl")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_symbols_change_no_outcome(seed):
    """The replay decides as it does without faults; some messages go in parts."""
    check(drawn(f"faults {seed}", 3, 30, large=2), **DAMAGED)


@pytest.mark.nightly
@pytest.mark.parametrize("boards", ["fast", "rtl"])
@pytest.mark.parametrize("seed", range(20))
def test_many_programs_over_damaged_fibers_receive_the_same(seed, boards):
    check(drawn(f"night {seed}", 4, 40, large=2), **DAMAGED, boards=boards)


#: Of rank 1: two named messages of one tag, one of another; two that any receive may take.
STEPS = [
    ("send", 0, 1, NAMED, 0, 3, 1),
    ("send", 0, 1, NAMED, 0, 4, 1),
    ("send", 0, 1, NAMED, 2, 5, 1),
    ("send", 0, 1, ANYONE, 0, 6, 1),
    ("send", 0, 1, ANYONE, 1, 7, 1),
    ("look", 1, 0, NAMED, 2, 0, 0),
]


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda got, looks: None, None),
        (lambda got, looks: looks.append((2, 5)), None),
        (lambda got, looks: looks.append((0, 3)), "a look of rank 1 finds"),
        (lambda got, looks: got.update({0: got[1], 1: got[0]}), "receive 0 of rank 1"),
        (lambda got, looks: got.update({2: (0, 2, b"other")}), "receive 2 of rank 1"),
        (lambda got, looks: got.update({3: got[4], 4: got[3]}), "receive 3 of rank 1 takes not the oldest"),
        (lambda got, looks: got.update({4: got[3]}), "receive 4 of rank 1 takes not the oldest"),
    ],
)
def test_the_replay_finds_what_is_not_allowed(change, said):
    program = planned(2, 1, STEPS)
    got = {number: (message.source, message.tag, message.data) for number, message in enumerate(program.messages)}
    looks = []
    change(got, looks)
    looks = looks or [None]
    if said is None:
        judge(program, [({}, []), (got, looks)])
    else:
        with pytest.raises(AssertionError, match=said):
            judge(program, [({}, []), (got, looks)])

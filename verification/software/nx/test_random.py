"""Random programs: processes that send each other messages and receive them in all ways, against a sequential replay.

The replay has one queue for each pair of processes and decides which outcomes are allowed: a receive must take the
oldest message of one of the senders that its selector takes, with the bytes as they were sent; it takes no
message that was not sent yet; in the end every message has been received once. In the midst of the messages the
processes of each id make a global operation."""

import inspect

import hypothesis.strategies as st
import pytest
from hypothesis import given, note

from nectar.software.nx import NX
from nectar.verification import seeds
from nectar.verification.properties import properties
from nectar.verification.software.helpers import FAST_RECOVERY, drive, pattern, simulated
from nectar.verification.software.nx.programs import LIMIT, USER_MASK
from nectar.verification.software.plainly import plainly

#: Around a short message and a packet.
SIZES = [0, 1, 99, 100, 101, 1003, 1004, 1005, 3000]
#: Types that receives take one by one, by a mask, and by -1 alone; so that no receive takes what another must have.
EXACT, MASKED, REST = (0, 5, 2**30), (1, 2, 30), (31, 77, 2**31 - 1)
MASK = USER_MASK | 1 << 1 | 1 << 2 | 1 << 30
ROOM = SIZES[-1]

SEND = st.tuples(
    st.just("send"),
    st.sampled_from(["csend", "isend"]),
    st.sampled_from(EXACT + MASKED + REST),
    st.sampled_from(SIZES),
    st.integers(0, 5),
)
PAUSE = st.tuples(st.just("pause"), st.integers(1, 3000))
LOOK = st.tuples(st.just("look"), st.sampled_from([-1, MASK, *EXACT, *REST]))
RECEIVE = st.tuples(st.just("receive"), st.sampled_from(["crecv", "cprobe", "irecv", "msgdone", "hrecv"]))


def takes(selector, type):
    """Whether a selector takes a type, as section 4 says."""
    if selector == -1:
        return True
    return bool(type <= 30 and selector >> type & 1) if selector & USER_MASK else selector == type


def class_of(type):
    """The selector by which a message of that type is received in the end."""
    return type if type in EXACT else MASK if type in MASKED else -1


def plans(processes, steps):
    """Of each process the selectors of the receives that take all that is sent to it."""
    wanted = [[] for _ in range(processes)]
    for source, own in enumerate(steps):
        for step in own:
            if step[0] == "send":
                to = step[4] % processes
                wanted[to].append(class_of(step[2]))
    return wanted


async def play(process, number, places, own, wanted, log):
    """A process: its steps; a receive in its steps takes what is there; at the end it receives all that is wanted."""
    sends, wanted, room = [], list(wanted), bytearray(ROOM)
    count = 0

    def took(typesel):
        sender = places.index((process.infonode(), process.infopid()))
        log.append(("took", number, sender, typesel, process.infotype(), bytes(room[: process.infocount()])))
        wanted.remove(class_of(process.infotype()))

    async def receive(how, typesel):
        if how in ("irecv", "msgdone"):
            mid = await process.irecv(typesel, room, ROOM)
            if how == "msgdone":
                while not await process.msgdone(mid):
                    pass
            else:
                await process.msgwait(mid)
        elif how == "hrecv":
            got = []
            await process.hrecv(typesel, room, ROOM, lambda *given: got.append(given))
            while not got:
                await process.flick()
            type, size = got[0][:2]
            log.append(("took", number, places.index(got[0][2:]), typesel, type, bytes(room[:size])))
            wanted.remove(class_of(type))
            return
        else:
            if how == "cprobe":
                await process.cprobe(typesel)
                found = process.infotype(), process.infocount(), process.infonode(), process.infopid()
            await process.crecv(typesel, room, ROOM)
            if how == "cprobe":
                assert found == (process.infotype(), process.infocount(), process.infonode(), process.infopid())
        took(typesel)

    ways = []
    for kind, *step in own:
        if kind == "send":
            call, type, size, to = step
            data = pattern(size, 1000 * number + count)
            to %= len(places)
            log.append(("sent", number, to, type, data))
            mid = await getattr(process, call)(type, data, size, *places[to])
            if call == "isend":
                sends.append(mid)
            count += 1
        elif kind == "pause":
            await process.cab.sleep(step[0])
        elif kind == "look":
            if await process.iprobe(step[0]):
                await receive("crecv", step[0])
        else:
            ways.append(step[0])
    total = [number]
    await process.gisum(total, 1, [0])
    assert total == [sum(other for other, (_, pid) in enumerate(places) if pid == process.mypid())]
    while wanted:
        exact = [typesel for typesel in wanted if typesel != -1]
        await receive(ways.pop() if ways else "crecv", (exact or wanted)[0])
    for mid in sends:
        await process.msgwait(mid)
    assert not await process.iprobe(-1)


def replay(log):
    """Raises AssertionError if the outcomes of ``log`` are not allowed."""
    queues = {}
    for kind, number, *event in log:
        if kind == "sent":
            to, type, data = event
            queues.setdefault((number, to), []).append((type, data))
        else:
            sender, typesel, type, data = event
            queue = queues.get((sender, number), [])
            first = next((message for message in queue if takes(typesel, message[0])), None)
            assert first == (type, data), f"process {number} took {type} of {len(data)} bytes from {sender}: not first"
            queue.remove(first)
    assert not any(queues.values())


ANY_STEP = st.one_of(SEND, SEND, SEND, PAUSE, RECEIVE, LOOK)
PROGRAMS = {
    "plain": st.booleans(),
    "nodes": st.integers(1, 3),
    "processes": st.integers(1, 2),
    "steps": st.lists(st.lists(ANY_STEP, max_size=14), min_size=6, max_size=6),
}


@properties(max_examples=100)
@given(**PROGRAMS)
def test_random_programs_do_what_a_replay_allows(plain, nodes, processes, steps):
    check_noted(plain, nodes, processes, steps)


@pytest.mark.nightly
@properties(max_examples=1500)
@given(**PROGRAMS)
def test_many_random_programs_do_what_a_replay_allows(plain, nodes, processes, steps):
    check_noted(plain, nodes, processes, steps)


def drawn(seed, processes, count):
    """Steps of so many processes, drawn from the seed of the run."""
    draw = seeds.rng(f"nx {seed}")

    def step():
        kind = draw.choice(["send", "send", "send", "pause", "receive", "look"])
        if kind == "send":
            types = EXACT + MASKED + REST
            return kind, draw.choice(["csend", "isend"]), draw.choice(types), draw.choice(SIZES), draw.randrange(6)
        if kind == "pause":
            return kind, draw.randrange(1, 3000)
        if kind == "look":
            return kind, draw.choice([-1, MASK, *EXACT, *REST])
        return kind, draw.choice(["crecv", "cprobe", "irecv", "msgdone", "hrecv"])

    return [[step() for _ in range(count)] for _ in range(processes)]


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_do_what_a_replay_allows_on_the_rtl(seed):
    check("rtl", seed == 2, 2, 2, drawn(f"rtl {seed}", 4, 8))


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_do_what_a_replay_allows_over_damaged_fibers(seed):
    check("fast", False, 3, 2, drawn(f"faults {seed}", 6, 14), faults=["*:errors=1e-4"], options=FAST_RECOVERY)


@pytest.mark.nightly
@pytest.mark.parametrize("boards", ["fast", "rtl"])
@pytest.mark.parametrize("seed", range(20))
def test_many_random_programs_do_so_over_damaged_fibers(seed, boards):
    steps = drawn(f"night {seed}", 6, 14)
    check(boards, seed % 2 == 1, 3, 2, steps, faults=["*:errors=1e-4"], options=FAST_RECOVERY)


@properties(max_examples=15)
@given(
    st.booleans(),
    st.sampled_from([[0], [0, 1]]),
    st.integers(1, 2),
    st.lists(st.lists(st.one_of(SEND, SEND, SEND, PAUSE, RECEIVE, LOOK), max_size=8), min_size=4, max_size=4),
)
def test_random_programs_do_what_a_replay_allows_on_workstations(plain, stations, processes, steps):
    check_noted(plain, 2, processes, steps, stations)


def plain_play():
    """``play`` as a plain function."""
    space = dict(globals())
    exec(compile(plainly(inspect.getsource(play)), "plain", "exec"), space)
    return space["play"]


def loaded(nx, plain, processes, steps):
    """Loads a program of so many processes on each node. Returns the log, which ``replay`` reads after the run."""
    function = plain_play() if plain else play
    places = [(node, pid) for node in range(nx.numnodes) for pid in range(processes)]
    steps = steps[: len(places)]
    wanted, log = plans(len(places), steps), []
    for number, (node, pid) in enumerate(places):
        nx.load(function, number, places, steps[number], wanted[number], log, node=node, pid=pid)
    return log


def check(boards, plain, nodes, processes, steps, stations=(), **options):
    """Runs a program of so many processes on each node, and replays it. ``stations``: nodes that are workstations."""
    names = [f"CAB{node + 1}.node" if node in stations else f"CAB{node + 1}" for node in range(nodes)]
    with simulated(f"hub:{nodes}", boards=boards, nodes=[f"CAB{node + 1}" for node in stations], **options) as system:
        nx = NX(system, names)
        log = loaded(nx, plain, processes, steps)
        drive(nx.run(LIMIT))
    replay(log)


def check_noted(plain, nodes, processes, steps, stations=()):
    """The same on fast boards; a failure shows the program."""
    note(f"{nodes} nodes with {processes} processes: {steps}")
    check("fast", plain, nodes, processes, steps, stations)


SENT = ("sent", 0, 1, 5, b"first"), ("sent", 0, 1, 2, b"second"), ("sent", 0, 1, 5, b"third")


@pytest.mark.parametrize(
    "taken, allowed",
    [
        ([("took", 1, 0, 5, 5, b"first"), ("took", 1, 0, 5, 5, b"third"), ("took", 1, 0, MASK, 2, b"second")], True),
        ([("took", 1, 0, -1, 5, b"first"), ("took", 1, 0, -1, 2, b"second"), ("took", 1, 0, -1, 5, b"third")], True),
        ([("took", 1, 0, 5, 5, b"third"), ("took", 1, 0, 5, 5, b"first"), ("took", 1, 0, MASK, 2, b"second")], False),
        ([("took", 1, 0, -1, 2, b"second"), ("took", 1, 0, 5, 5, b"first"), ("took", 1, 0, 5, 5, b"third")], False),
        ([("took", 1, 0, 5, 5, b"first"), ("took", 1, 0, 5, 5, b"third")], False),
        ([("took", 1, 0, 5, 5, b"other"), ("took", 1, 0, 5, 5, b"third"), ("took", 1, 0, MASK, 2, b"second")], False),
        ([("took", 1, 0, MASK, 5, b"first"), ("took", 1, 0, -1, 2, b"second"), ("took", 1, 0, 5, 5, b"third")], False),
        ([("took", 0, 1, -1, 5, b"first")], False),
    ],
)
def test_the_replay_finds_what_is_not_allowed(taken, allowed):
    if allowed:
        replay([*SENT, *taken])
    else:
        with pytest.raises(AssertionError):
            replay([*SENT, *taken])

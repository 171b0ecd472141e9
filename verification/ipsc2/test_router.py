"""Bench of hdl/ipsc2/router.py: cubes of routers, from node source to node sink and to the devices at channel 7."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.formats import CHANNELS, EXTERNAL, MOST_WIRE, WORD_PAIRS, flight, route
from nectar.hdl.ipsc2.router import Router
from nectar.verification.bench import Bench, inside
from nectar.verification.ipsc2.cube import Cube
from nectar.verification.ipsc2.network import Network

#: Name → dimensions, delay of each channel.
SIZES = {
    "2 dimensions": (2, 0),
    "3 dimensions, any wires": (3, None),
    "3 dimensions, long wires": (3, MOST_WIRE),
    "4 dimensions": (4, 0),
}


def network(dut, **how):
    """The cube of this configuration."""
    return Network(dut, SIZES[inside()][0], **how)


async def traffic(cube, count, sizes, pace=0.02, patience=lambda: None):
    """``count`` random messages."""
    possible = cube.possible()
    while count:
        if random.random() < pace * cube.ends:
            cube.send(*random.choice(possible), random.choice(sizes), patience())
            count -= 1
        await cube.cycle()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random_messages_arrive_unchanged(dut):
    """D1, D2, D3: all at once, between nodes and devices; nothing hangs, nothing is lost, nothing is out of order."""
    cube = network(dut, serializer={"starve": 0.1}, deserializer={"drain": 0.15, "depth": 40, "headroom": 20})
    await cube.start()
    await cube.run(20)
    assert cube.violations <= 10, "frames are found within a few pairs"
    cube.violations = 0
    await traffic(cube, 150, [1, 2, 3, 8, 30])
    await cube.finish(40_000)
    assert not cube.violations


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_is_given_up_leaves_nothing_behind(dut):
    """docs/ipsc2.md, "An end before the circuit stands": half of all messages, at any time; all others arrive, and in
    the end no channel is held."""
    cube = network(dut, deserializer={"drain": 0.1, "depth": 40, "headroom": 20})
    await cube.start()
    await cube.run(20)
    cube.violations = 0
    await traffic(cube, 150, [1, 2, 8, 30], 0.05, lambda: random.choice([None, random.randrange(300)]))
    await cube.finish(40_000)
    assert not cube.violations
    ended = [each for end in cube.deserializers for each in end.received if each.given_up]
    given_up = [each for end in cube.serializers for each in end.sent if each.given_up]
    assert 0 < len(ended) < len(given_up) - 5


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def a_message_is_given_up_in_each_cycle_around_a_grant(dut):
    """docs/ipsc2.md, "An end before the circuit stands": the message waits at its first, second, … element for a
    channel that another one has, or for the sink, or for channel 7. The other one and the next one by the same way
    arrive."""
    cube = network(dut)
    await cube.start()
    await cube.run(20)
    cube.violations = 0
    last, device = cube.nodes - 1, cube.ends - 1
    # Who sends to whom; who sends what it waits for, to the same end. The way is 0, 1, 3, 7, …; its sink is held by a
    # message of another neighbour.
    ways = [(0, last, (1 << hop) - 1) for hop in range(1, cube.dimensions)]
    for source, target, holder in [*ways, (0, last, last ^ 1), (0, device, last), (device, device, last)]:
        outcomes = set()

        async def both(patience, source=source, target=target, holder=holder):
            cube.forget()
            other = cube.send(holder, target, 10)
            for _ in range(100):
                if "allow" in other.times:
                    break
                await cube.cycle()
            message, begun = cube.send(source, target, 4, patience), cube.clock.cycles
            await cube.finish(2000)
            assert "arrived" in other.times
            return message, begun

        message, begun = await both(None)
        grant = message.times["arrived"]["probe"] - begun
        for patience in range(grant - 44, grant + 4):
            message, _ = await both(patience)
            assert message.given_up or "arrived" in message.times
            outcomes.add("arrived" if not message.given_up else "ended" if "ended" in message.times else "gone")
            after = cube.send(source, target, 2)
            await cube.finish(500)
            assert "arrived" in after.times
        assert outcomes == {"gone", "ended"}, (source, target, outcomes)
    assert not cube.violations


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def each_way_takes_its_time(dut):
    """D1, docs/ipsc2.md, "Circuits": one message between each two ends of an idle cube; the table of times."""
    cube = network(dut)
    await cube.start()
    await cube.run(20)
    wire = SIZES[inside()][1]
    for source, destination in random.sample(cube.possible(), min(len(cube.possible()), 40)):
        message = cube.send(source, destination, 3)
        await cube.finish(1000)
        hops = (
            (cube.node(source) ^ cube.node(destination)).bit_count()
            + (source >= cube.nodes)
            + (destination >= cube.nodes)
        )
        times, arrived = message.times, message.times["arrived"]
        most = MOST_WIRE if wire is None else wire
        least = 0 if wire is None else wire
        # From the first pair of the probe that is taken, to the last one of the short probe at the sink.
        built = arrived["probe"] - times["grant"]
        before = 1 + 9 + 5
        assert before + 9 * (hops - 1) + least * hops <= built <= before + 10 * (hops - 1) + most * hops
        # What is taken in a cycle is at the sink so much later.
        passed = arrived["end"] - times["end"]
        assert 1 + 2 * hops + least * hops <= passed <= 1 + 2 * hops + most * hops
        # RDY: the next place for it, at each hop.
        back = times["allow"] - arrived["probe"]
        assert hops * (3 + least) < back <= 1 + hops * (3 + 2 + most)
        assert times["last"] - times["first"] == 2 * WORD_PAIRS, "full rate"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def busy_and_held_are_those_of_the_way(dut):
    """docs/ipsc2.md, "Pins of the router": while a message passes, each channel of its way has an owner, and is held at
    the other end; no other channel is either."""
    cube = network(dut)
    await cube.start()
    await cube.run(20)
    for source, destination in cube.possible():
        message = cube.send(source, destination, 12)
        here, busy, held, arrived = cube.node(source), 0, 0, EXTERNAL if source >= cube.nodes else None
        if arrived is not None:
            held |= 1 << CHANNELS * here + EXTERNAL
        while (channel := route(message.probe, arrived)) is not None:
            busy |= 1 << CHANNELS * here + channel
            if channel == EXTERNAL:
                break
            here, arrived = here ^ 1 << channel, channel
            held |= 1 << CHANNELS * here + channel
        for _ in range(400):
            if "allow" in message.times:
                break
            await cube.cycle()
        await cube.run(3)
        assert (cube.clock.pin("busy"), cube.clock.pin("held")) == (busy, held), (source, destination)
        await cube.finish(1000)


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def ready_stops_the_source_before_the_fifo_overflows(dut):
    """D3; docs/ipsc2.md, "Node sink": with exactly the room that the page asks for, while words go in both directions;
    half of the bound is reached."""
    dimensions, wire = SIZES[inside()]
    bound = flight(dimensions, MOST_WIRE if wire is None else wire)
    cube = network(dut, deserializer={"drain": 0.04, "depth": bound + 4, "headroom": bound})
    await cube.start()
    last = cube.nodes - 1
    for _ in range(5):
        cube.send(0, last, 60)
        cube.send(last, 0, 60)
    await cube.finish(40_000)
    most = max(each.most_after for each in cube.deserializers)
    cocotb.log.info("after RDY fell %d words came, of %d that may", most, bound)
    assert bound // 2 <= most <= bound


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def no_ready_of_an_old_message_starts_a_new_one(dut):
    """docs/ipsc2.md, "Ready": short messages one behind the other over each channel, in both directions at once, so
    that RDY goes back in words, too; none is sent a word too early."""
    cube = network(dut)
    await cube.start()
    await cube.run(20)
    cube.violations = 0
    rounds = [[(n, n ^ 1 << k) for n in range(cube.nodes)] for k in range(cube.dimensions)]
    devices = [(cube.node(end), end) for end in range(cube.nodes, cube.ends)]
    rounds.append([pair for way in devices for pair in (way, way[::-1])])
    for pairs in rounds:
        for source, destination in pairs:
            for _ in range(40):
                cube.send(source, destination, random.choice([1, 2, 3, 8]))
        await cube.finish(20_000)
        assert not cube.violations


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_frame_that_is_cut_is_told_at_the_end_of_its_channel(dut):
    """docs/ipsc2.md, "What can go wrong": without one pair of a nibble the next frame begins where none should; the
    receiver tells so, nobody else does, and it finds the frames again."""
    cube = network(dut)
    await cube.start()
    await cube.run(20)
    devices = {cube.node(end): end - cube.nodes for end in range(cube.nodes, cube.ends)}
    for node in range(cube.nodes):
        for channel in [*range(cube.dimensions), *([EXTERNAL] if node in devices else [])]:
            told, told_there = 0, 0
            for cycle in range(20):
                cube.clock.drive(cut=(cycle == 0) << CHANNELS * node + channel)
                await cube.clock.settle()
                told |= cube.clock.pin("violation")
                told_there |= cube.clock.pin("device_violation")
                await cube.cycle()
            end = node if channel == EXTERNAL else node ^ 1 << channel
            assert told == 1 << CHANNELS * end + channel, (node, channel)
            assert told_there == (1 << devices[node] if channel == EXTERNAL else 0)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def all_send_to_one_in_turns(dut):
    """D3: round robin at each channel and at the sink: each message waits for a bounded number of others."""
    cube = network(dut)
    await cube.start()
    target = random.randrange(cube.nodes)
    sources = [n for n in range(cube.ends) if n != target]
    for source in sources:
        for _ in range(4):
            cube.send(source, target, random.choice([1, 2, 5]))
    await cube.finish(20_000)
    order = [message.probe for message in cube.deserializers[target].received]
    assert len(order) == 4 * len(sources)
    # The neighbours come in by channels of their own, which take turns at the sink.
    for k in range(cube.dimensions):
        places = [place for place, probe in enumerate(order) if probe == 1 << k]
        assert places[0] <= cube.dimensions + 1


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_leads_nowhere_is_refused(dut):
    """docs/ipsc2.md, "Node source": at once, and the next message goes."""
    cube = network(dut)
    await cube.start()
    absent = [n for n in range(cube.dimensions, 16) if n != EXTERNAL]
    for probe in (0, *(1 << n for n in absent), *(1 << n | 1 for n in absent)):
        wrong = cube.send(1, 0, 1)
        wrong.probe = probe
        cube.expected[0].remove(wrong)
        cube.send(1, 0, 2)
        await cube.finish(500)
        assert "refused" in wrong.times and "grant" not in wrong.times


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_cut_channel_is_noticed_and_a_reset_mends_all(dut):
    """docs/ipsc2.md, "What can go wrong": EOM lost, a probe cut short: held for good; after a reset of all modules
    everything goes."""
    cube = network(dut)
    await cube.start()
    for wait in (4, 8, 30, 60, 120):
        await cube.run(40)
        message = cube.send(0, cube.nodes - 1, 12)
        await cube.run(wait)
        assert "end" not in message.times
        cube.clock.drive(cut=0xFF)  # all that comes from node 0
        for _ in range(400):
            cube.clock.drive(request=0, ready=(1 << cube.ends) - 1)
            await cube.clock.settle()
            await cube.clock.edge()
        held = cube.clock.pin("held")
        if wait > 20:
            assert held >> 8 & 1, "node 1 has what came by channel 0"
        cube.clock.drive(cut=0)
        await cube.reset()
        assert not cube.clock.pin("busy")
        cube.send(0, cube.nodes - 1, 3)
        cube.send(1, 0, 3)
        await cube.finish(1000)


bench = Bench(__name__, {name: lambda size=size: Cube(*size) for name, size in SIZES.items()}, ports_only=True)


#: Larger routers and longer wires, and the claim that takes longest.
NIGHTLY = (
    "3 dimensions, long wires",
    "4 dimensions",
    "3 dimensions, any wires",
    "a_message_is_given_up_in_each_cycle_around_a_grant",
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=NIGHTLY))
def test_router(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize("dimensions", [0, 8])
def test_a_cube_of_other_dimensions_is_refused(dimensions):
    with pytest.raises(ValueError, match=f"dimensions must be 1 to 7, not {dimensions}"):
        Router(dimensions)

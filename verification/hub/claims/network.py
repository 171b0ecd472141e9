"""Claims about connections, replies, ready signals and the four ways to send (facts H10 to H17). Run by
``test_hub.py``."""

import random

from nectar.hdl.hub.commands import SUPERVISOR, Op
from nectar.hdl.link.symbol import MAX_PACKET, Control, command, packet, reply

from ..testbench import CLOSE_ALL, HUB, claim
from ..traffic import neighbour_hub

#: Cycles that a reply needs through a HUB in which nothing else happens, at most; to this come the other ports' turns.
REPLY_CYCLES = 12
#: Cycles in which an opcode with bit 7 lets nothing else be decided, at most, be it unknown.
SUPERVISOR_CYCLES = 12
#: Opcodes of no command, of either kind, that ask for a reply.
UNKNOWN = [0x7F, 0xFF]


def others(scene, *ports):
    """All other ports."""
    return [port for port in range(scene.ports) if port not in ports]


@claim(ports=3)
async def an_output_takes_one_input_only_and_the_inputs_in_turns(scene):
    """H10: all inputs want one output; packets come out whole, one input at a time; nobody waits for more than all
    others once."""
    target = random.randrange(scene.ports)
    sources = others(scene, target)
    rounds = 6
    sent = {
        source: [packet([source, n, *random.randbytes(4)]) + CLOSE_ALL for n in range(rounds)] for source in sources
    }
    for source in sources:
        for stream in sent[source]:
            scene.send(source, command(Op.OPEN_RETRY, HUB, target), stream)
    await scene.drain()
    got = scene.data(target)
    order = []
    while got:
        source = got[1]
        assert got[:12] == sent[source].pop(0)
        order.append(source)
        got = got[12:]
    for place in range(0, len(order), len(sources)):
        assert sorted(order[place : place + len(sources)]) == sources
    await scene.finish()


@claim(ports=3)
async def a_multicast_gives_every_output_the_same_at_the_pace_of_the_slowest(scene):
    """H10: an input feeds several outputs; one slow fiber holds all, and nothing is lost or sent twice."""
    source = random.randrange(scene.ports)
    targets = others(scene, source)
    slow = random.choice(targets)
    for target in targets:
        scene.order(source, Op.OPEN_RETRY, target)
        scene.ends[target].take = lambda cycle: random.random() < 0.8
    scene.ends[slow].take = lambda cycle: random.random() < 0.3
    stream = packet(random.randbytes(200)) + CLOSE_ALL
    scene.send(source, stream)
    await scene.drain()
    assert all(scene.data(target) == stream for target in targets)
    assert len({scene.ends[target].got[-1][0] // 40 for target in targets}) <= 2, "no copy is far ahead of another"
    await scene.finish()


@claim()
async def a_reply_steals_cycles_between_the_symbols_of_a_stream(scene):
    """H12: it goes to the input connected to the output at whose port it arrived, within a bound, while data stream
    in both directions."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN_RETRY, target)
    scene.order(target, Op.OPEN_RETRY, source)
    await scene.drain()
    there, back = packet(random.randbytes(900)), packet(random.randbytes(900))
    scene.send(source, there)
    sent = 0
    for place in range(0, len(back), 90):
        if place:
            scene.send(target, reply(1, neighbour_hub(target), sent))
            sent += 1
        scene.send(target, back[place : place + 90])
    start = scene.agents.now
    await scene.drain()
    assert scene.data(target) == there and scene.data(source) == back
    assert scene.replies(source) == [[1, neighbour_hub(target), n] for n in range(sent)]
    came = [at for at, symbol in scene.agents.recording.rx[target] if at >= start and symbol == Control.REPLY]
    for at, (_, item) in zip(came, scene.sent(source).replies):
        assert item.offered - (at + 3) <= REPLY_CYCLES, "nobody else has a reply, so it waits for no turn"
    offered = [item.offered for item in scene.sent(source).data if item.offered >= start]
    assert offered[-1] - offered[0] <= len(back) + 5 * sent + 20, "each steals its own four cycles, and ready one"
    scene.send(source, CLOSE_ALL)
    scene.send(target, CLOSE_ALL)
    await scene.finish()


@claim(ports=4)
async def neither_data_nor_connections_block_a_reply(scene):
    """H12: replies pass an input queue whose head waits, and come out of a port whose data are held up by another
    branch."""
    source, target, feeder, slow = scene.some(4)
    scene.order(source, Op.OPEN_RETRY, target)
    for output in (source, slow):
        scene.order(feeder, Op.OPEN_RETRY, output)
    await scene.drain()
    scene.ends[slow].take = lambda cycle: False
    scene.order(target, Op.OPEN_RETRY, slow)
    scene.send(feeder, packet(bytes(50)))
    await scene.run(100)
    begin = scene.agents.now
    scene.send(target, reply(1, neighbour_hub(target), 5))
    await scene.run(4 + REPLY_CYCLES + 4)
    frame, item = scene.sent(source).replies[0]
    assert frame == (1, neighbour_hub(target), 5) and item.offered - begin - 3 <= REPLY_CYCLES
    scene.ends[slow].take = lambda cycle: True
    scene.send(feeder, CLOSE_ALL)
    await scene.run(100)
    scene.send(target, CLOSE_ALL)
    scene.send(source, CLOSE_ALL)
    await scene.finish()


@claim()
async def all_ports_may_ask_at_once(scene):
    """docs/hub.md, replies: four questions of each port, while no fiber takes anything, are answered in their order
    when they do."""
    for _ in range(3):
        orders = [random.choice([Op.STATUS_ERRORS, Op.STATUS_OUTPUT, *UNKNOWN]) for _ in range(4)]
        before, errors = len(scene.replies(0)), sum(op in UNKNOWN for op in orders)
        times = [40 + (SUPERVISOR_CYCLES if op & SUPERVISOR else 4) * scene.ports for op in orders]
        for port in range(scene.ports):
            scene.ends[port].take = lambda cycle: False
            for op in orders:
                scene.order(port, op, port)
        await scene.run(20 + times[0])
        for port in range(scene.ports):
            scene.ends[port].take = lambda cycle: True
        await scene.run(sum(times))
        for port in range(scene.ports):
            got = scene.replies(port)[before:]
            assert [reply_op | 1 for reply_op, _, _ in got] == orders and all(hub == HUB for _, hub, _ in got)
            assert sum(reply_op | 1 in UNKNOWN and not reply_op & 1 for reply_op, _, _ in got) == errors
    await scene.finish()


@claim(ports=3)
async def close_all_does_not_overtake_data(scene):
    """H13: with the output's fiber stopped, close all waits behind the data; the connection stands until it has
    left."""
    source, target, waiting = scene.some(3)
    scene.order(source, Op.OPEN_RETRY, target)
    await scene.drain()
    scene.ends[target].take = lambda cycle: False
    first, second = packet([1, *random.randbytes(30)]), packet([2, *random.randbytes(30)])
    scene.send(source, first, CLOSE_ALL)
    scene.send(waiting, command(Op.OPEN_RETRY, HUB, target), second, CLOSE_ALL)
    await scene.run(150)
    taken = scene.agents.now
    scene.ends[target].take = lambda cycle: cycle < taken + len(first) + 2 or cycle > taken + 200
    await scene.run(150)
    assert len(scene.data(target)) == len(first) + 2, (
        "the last but one symbol of close all stands in the output register"
    )
    assert not scene.readies(waiting), "so the last one has not entered it, and the connection stands"
    await scene.run(200)
    await scene.drain()
    assert scene.data(target) == first + CLOSE_ALL + second + CLOSE_ALL
    await scene.finish()


@claim(ports=3)
async def nothing_slips_through_behind_a_close_all(scene):
    """docs/hub.md, input side: what follows a close all at once is not sent over the connections that it closes."""
    source, first, second = scene.some(3)
    for stalls in (0, 1, 2, 3, 5, 20):
        before = len(scene.data(first)), len(scene.data(second))
        begin = scene.agents.now
        scene.ends[first].take = lambda cycle, end=begin + 30 + stalls: not end - stalls <= cycle < end
        scene.order(source, Op.OPEN_RETRY, first)
        scene.send(source, [None] * 18, CLOSE_ALL, packet([0xBB]))
        scene.send(source, command(Op.OPEN_RETRY, HUB, second), packet([stalls]), CLOSE_ALL, [0xAA])
        await scene.drain()
        assert scene.data(first)[before[0] :] == CLOSE_ALL
        assert scene.data(second)[before[1] :] == packet([stalls]) + CLOSE_ALL
    assert await scene.errors(source) == 12
    await scene.finish()


@claim()
async def the_ready_bit_lives_as_the_paper_says(scene):
    """H15: 1 at start; 0 when a start leaves; 1 on the signal; a signal that comes together with a start does not
    count."""
    source, target = scene.some(2)
    scene.ends[target].answer = None
    stream = [*packet([3]), *CLOSE_ALL]
    successes = []
    delay = None
    for offset in (None, *range(-10, 11)):
        # Before: the bit is 1. The ready signal arrives ``offset`` cycles after the start is offered at the output.
        begin, count = scene.agents.now, len(scene.data(target))
        scene.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), stream)
        if offset is not None:
            scene.send(target, [None] * (delay + offset), [int(Control.READY)])
        await scene.drain()
        start = scene.sent(target).data[count]
        if delay is None:
            delay = start.offered - begin
        else:
            assert start.offered - begin == delay
            scene.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), stream)
            await scene.run(60)
            successes.append(len(scene.data(target)) > count + len(stream))
            if successes[-1]:
                scene.send(target, [int(Control.READY)])
                await scene.drain()
                continue
        scene.send(target, [int(Control.READY)])
        await scene.drain()
        if offset is not None:
            scene.send(target, [int(Control.READY)])
            await scene.drain()
    assert successes == sorted(successes), "a signal that comes later cannot count less"
    assert not successes[0] and all(successes[10:]), (
        "a neighbour answers a start that it has been offered, never an earlier one"
    )
    scene.ends[target].answer = 1
    await scene.finish()


@claim()
async def a_start_on_its_way_to_a_slow_fiber_makes_the_output_not_ready(scene):
    """docs/hub.md, output side: a test open does not pass while a start waits for the output register, nor until its
    ready signal."""
    source, target = scene.some(2)
    scene.ends[target].answer = None
    for before in range(4):
        count = len(scene.data(target))
        scene.ends[target].take = lambda cycle: False
        first = [*range(before), int(Control.START)]
        scene.send(source, command(Op.OPEN_RETRY, HUB, target), first)
        scene.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), [0x55], CLOSE_ALL)
        await scene.run(100)
        scene.ends[target].take = lambda cycle: True
        await scene.run(100)
        assert scene.data(target)[count:] == first
        scene.send(target, [int(Control.READY)])
        await scene.drain()
        assert scene.data(target)[count:] == first + [0x55] + CLOSE_ALL
    await scene.finish()


@claim()
async def each_start_that_leaves_a_queue_is_answered_with_ready(scene):
    """H15: passed on to one output or many, or dropped; also many in a row, while the fiber of the port is slow."""
    source = random.randrange(scene.ports)
    scene.send(source, packet([1]), packet([]))
    for target in others(scene, source):
        scene.order(source, Op.OPEN_RETRY, target)
    scene.send(source, packet([2]), packet([]), CLOSE_ALL, packet([3]), [int(Control.START)] * 3)
    await scene.drain()
    assert scene.readies(source) == 8
    scene.ends[source].take = lambda cycle: cycle % 8 == 0
    scene.send(source, [int(Control.START)] * 15)
    await scene.drain()
    assert scene.readies(source) == 23
    await scene.finish()


@claim()
async def a_flood_of_starts_leaves_the_far_end_ready(scene):
    """docs/hub.md, output side: more than 15 waiting ready signals are not kept, but some come behind the last
    start."""
    for port in range(scene.ports):
        scene.ends[port].take = lambda cycle: cycle % 8 == 0
        scene.send(port, [int(Control.START)] * 300)
    await scene.drain()
    for port in range(scene.ports):
        last = scene.agents.recording.rx[port][-1][0]
        assert sum(item.offered > last + 3 for item in scene.sent(port).readies) >= 15
        assert scene.readies(port) <= 300
    await scene.finish(judged=False)


@claim()
async def packets_are_passed_on_with_their_frame_and_nothing_is_added(scene):
    """H16: start, data and end come out as they went in, whatever the bytes; so do frames that are not whole."""
    source, target = scene.some(2)
    start, end = int(Control.START), int(Control.END)
    streams = [
        packet(bytes(range(256))),
        packet([]),
        [start, 1, 2],
        [start, start],
        [end, 3],
        [4, 5, 6],
        [end, end],
        packet(random.randbytes(50)),
    ]
    scene.order(source, Op.OPEN_RETRY, target)
    scene.send(source, *streams, CLOSE_ALL)
    await scene.drain()
    assert scene.data(target) == sum(streams, []) + CLOSE_ALL
    await scene.finish()


@claim()
async def circuit_switching_carries_a_packet_of_any_length(scene):
    """Section 4.2.1, H14: open with reply, data longer than any queue without a gap, close all behind them."""
    source, target = scene.some(2)
    assert await scene.ask(source, Op.OPEN_RETRY_REPLY, target) == (True, target)
    stream = packet(random.randbytes(3 * MAX_PACKET)) + CLOSE_ALL
    scene.send(source, stream)
    await scene.drain()
    assert scene.data(target) == stream
    offered = [item.offered for item in scene.sent(target).data][: -len(CLOSE_ALL)]
    assert offered == list(range(offered[0], offered[0] + len(offered)))
    await scene.finish()


@claim()
async def a_route_goes_on_behind_the_hub(scene):
    """Section 4.2.1: the command for the next HUB is forwarded over the connection, and its reply comes back the
    other way."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN_RETRY, target)
    scene.send(source, scene.foreign(target, Op.OPEN_RETRY_REPLY, 8))
    await scene.drain()
    assert scene.data(target) == scene.foreign(target, Op.OPEN_RETRY_REPLY, 8)
    scene.send(target, reply(Op.OPEN_RETRY_REPLY, neighbour_hub(target), 8))
    await scene.drain()
    assert scene.replies(source) == [[Op.OPEN_RETRY_REPLY, neighbour_hub(target), 8]]
    scene.send(source, packet(b"data"), CLOSE_ALL)
    await scene.drain()
    assert scene.data(target)[4:] == packet(b"data") + CLOSE_ALL
    await scene.finish()


@claim(ports=3)
async def circuit_switching_reaches_several_at_once(scene):
    """Section 4.2.2: opens with reply for each branch, then the data, then one close all for the tree."""
    source = random.randrange(scene.ports)
    targets = others(scene, source)
    for target in targets:
        assert await scene.ask(source, Op.OPEN_RETRY_REPLY, target) == (True, target)
    stream = packet(random.randbytes(2 * MAX_PACKET)) + CLOSE_ALL
    scene.send(source, stream)
    await scene.drain()
    assert all(scene.data(target) == stream for target in targets)
    await scene.finish()


@claim()
async def packet_switching_moves_a_packet_only_where_there_is_room(scene):
    """Section 4.2.3, H14, H15: test open, the largest packet, close all in one go; the next waits in the queue for
    the ready signal."""
    source, target = scene.some(2)
    scene.ends[target].answer = 2000
    streams = [packet([n, *random.randbytes(scene.longest - 1)]) + CLOSE_ALL for n in range(2)]
    scene.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), streams[0])
    await scene.run(scene.longest)
    assert scene.readies(source) == 1, "the source has room again"
    scene.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), streams[1])
    await scene.drain(10000)
    assert scene.data(target) == streams[0] + streams[1]
    starts = [item for item in scene.sent(target).data if item.symbol == Control.START]
    assert starts[1].offered > starts[0].taken + 2000
    scene.ends[target].answer = 1
    assert await scene.errors(source) == 0
    await scene.finish()


@claim(ports=3)
async def packet_switching_reaches_several_at_once(scene):
    """Section 4.2.4: a packet goes out when there is room behind every branch."""
    source = random.randrange(scene.ports)
    targets = others(scene, source)
    last = random.choice(targets)
    for target in targets:
        scene.ends[target].answer = 1000 if target == last else 50
    streams = [packet([n, *random.randbytes(40)]) + CLOSE_ALL for n in range(2)]
    for stream in streams:
        for target in targets:
            scene.order(source, Op.TEST_OPEN_RETRY, target)
        scene.send(source, stream)
    await scene.drain()
    assert all(scene.data(target) == streams[0] + streams[1] for target in targets)
    first, second = [item.offered for item in scene.sent(last).data if item.symbol == Control.START]
    assert second > first + 1000
    await scene.finish()


@claim(ports=3)
async def what_happens_does_not_depend_on_how_long_the_hub_was_idle(scene):
    """docs/hub.md, pins: while idle the clock may stop; so the same traffic meets the same state after any number of
    idle cycles."""
    target = random.randrange(scene.ports)
    sources = others(scene, target)
    seen = []
    for pause in [*range(0, 2 * scene.ports + 3, 3), 1, 2, 97]:
        await scene.start()
        scene.send(sources[0], command(Op.OPEN_RETRY_REPLY, HUB, target), packet([1]), CLOSE_ALL)
        scene.send(sources[1], command(Op.OPEN_RETRY_REPLY, HUB, target), packet([2]), CLOSE_ALL)
        await scene.rest()
        await scene.run(pause)
        assert not pause or all(scene.agents.recording.idle[-pause:])
        begin = scene.agents.now
        for source in sources:
            scene.send(
                source,
                command(Op.OPEN_RETRY_REPLY, HUB, target),
                packet([source]),
                CLOSE_ALL,
                command(Op.STATUS_OUTPUT, HUB, target),
            )
        await scene.drain()
        seen.append(
            [
                [(item.symbol, item.offered - begin) for item in tx if item.offered >= begin]
                for tx in scene.agents.recording.tx
            ]
        )
    assert all(one == seen[0] for one in seen)
    await scene.finish()


@claim()
async def a_reset_in_the_middle_leaves_nothing_behind(scene):
    """docs/hub.md: at reset no connection stands, all ready bits are 1, all queues are empty, no error is counted."""
    for port in range(scene.ports):
        scene.ends[port].answer = None
        scene.send(
            port,
            command(Op.OPEN_RETRY_REPLY, HUB, (port + 1) % scene.ports),
            packet(bytes(200)),
            reply(1, 2, 3),
            [0x101],
        )
    await scene.run(random.randrange(20, 200))
    await scene.start()
    await scene.rest()
    assert not any(scene.agents.recording.tx)
    verdict = await scene.finish()
    assert not any(verdict.errors)

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
#: Pauses that are tried at most: each takes as many cycles as all ports of a HUB need to send in turn.
_PAUSES = 12
#: Opcodes of no command, of either kind, that ask for a reply.
UNKNOWN = [0x7F, 0xFF]


def others(tb, *ports):
    """All other ports."""
    return [port for port in range(tb.ports) if port not in ports]


@claim(ports=3)
async def an_output_takes_one_input_only_and_the_inputs_in_turns(tb):
    """H10: all inputs want one output; packets come out whole, one input at a time; nobody waits for more than all
    others once."""
    target = random.randrange(tb.ports)
    sources = others(tb, target)
    rounds = 6
    sent = {
        source: [packet([source, n, *random.randbytes(4)]) + CLOSE_ALL for n in range(rounds)] for source in sources
    }
    for source in sources:
        for stream in sent[source]:
            tb.send(source, command(Op.OPEN_RETRY, HUB, target), stream)
    await tb.drain()
    got = tb.data(target)
    order = []
    while got:
        source = got[1]
        assert got[:12] == sent[source].pop(0)
        order.append(source)
        got = got[12:]
    for place in range(0, len(order), len(sources)):
        assert sorted(order[place : place + len(sources)]) == sources
    await tb.finish()


@claim(ports=3)
async def a_multicast_gives_every_output_the_same_at_the_pace_of_the_slowest(tb):
    """H10: an input feeds several outputs; one slow fiber holds all, and nothing is lost or sent twice."""
    source = random.randrange(tb.ports)
    targets = others(tb, source)
    slow = random.choice(targets)
    for target in targets:
        tb.order(source, Op.OPEN_RETRY, target)
        tb.ends[target].take = lambda cycle: random.random() < 0.8
    tb.ends[slow].take = lambda cycle: random.random() < 0.3
    stream = packet(random.randbytes(200)) + CLOSE_ALL
    tb.send(source, stream)
    await tb.drain()
    assert all(tb.data(target) == stream for target in targets)
    assert len({tb.ends[target].got[-1][0] // 40 for target in targets}) <= 2, "no copy is far ahead of another"
    await tb.finish()


@claim()
async def a_reply_steals_cycles_between_the_symbols_of_a_stream(tb):
    """H12: it goes to the input connected to the output at whose port it arrived, within a bound, while data stream
    in both directions."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN_RETRY, target)
    tb.order(target, Op.OPEN_RETRY, source)
    await tb.drain()
    there, back = packet(random.randbytes(900)), packet(random.randbytes(900))
    tb.send(source, there)
    sent = 0
    for place in range(0, len(back), 90):
        if place:
            tb.send(target, reply(1, neighbour_hub(target), sent))
            sent += 1
        tb.send(target, back[place : place + 90])
    start = tb.agents.now
    await tb.drain()
    assert tb.data(target) == there and tb.data(source) == back
    assert tb.replies(source) == [[1, neighbour_hub(target), n] for n in range(sent)]
    came = [at for at, symbol in tb.agents.recording.rx[target] if at >= start and symbol == Control.REPLY]
    for at, (_, item) in zip(came, tb.sent(source).replies):
        assert item.offered - (at + 3) <= REPLY_CYCLES, "nobody else has a reply, so it waits for no turn"
    offered = [item.offered for item in tb.sent(source).data if item.offered >= start]
    assert offered[-1] - offered[0] <= len(back) + 5 * sent + 20, "each steals its own four cycles, and ready one"
    tb.send(source, CLOSE_ALL)
    tb.send(target, CLOSE_ALL)
    await tb.finish()


@claim(ports=4)
async def neither_data_nor_connections_block_a_reply(tb):
    """H12: replies pass an input queue whose head waits, and come out of a port whose data are held up by another
    branch."""
    source, target, feeder, slow = tb.some(4)
    tb.order(source, Op.OPEN_RETRY, target)
    for output in (source, slow):
        tb.order(feeder, Op.OPEN_RETRY, output)
    await tb.drain()
    tb.ends[slow].take = lambda cycle: False
    tb.order(target, Op.OPEN_RETRY, slow)
    tb.send(feeder, packet(bytes(50)))
    await tb.run(100)
    begin = tb.agents.now
    tb.send(target, reply(1, neighbour_hub(target), 5))
    await tb.run(4 + REPLY_CYCLES + 4)
    frame, item = tb.sent(source).replies[0]
    assert frame == (1, neighbour_hub(target), 5) and item.offered - begin - 3 <= REPLY_CYCLES
    tb.ends[slow].take = lambda cycle: True
    tb.send(feeder, CLOSE_ALL)
    await tb.run(100)
    tb.send(target, CLOSE_ALL)
    tb.send(source, CLOSE_ALL)
    await tb.finish()


@claim()
async def all_ports_may_ask_at_once(tb):
    """docs/hub.md, replies: four questions of each port, while no fiber takes anything, are answered in their order
    when they do."""
    for _ in range(3):
        orders = [random.choice([Op.STATUS_ERRORS, Op.STATUS_OUTPUT, *UNKNOWN]) for _ in range(4)]
        before, errors = len(tb.replies(0)), sum(op in UNKNOWN for op in orders)
        times = [40 + (SUPERVISOR_CYCLES if op & SUPERVISOR else 4) * tb.ports for op in orders]
        for port in range(tb.ports):
            tb.ends[port].take = lambda cycle: False
            for op in orders:
                tb.order(port, op, port)
        await tb.run(20 + times[0])
        for port in range(tb.ports):
            tb.ends[port].take = lambda cycle: True
        await tb.run(sum(times))
        for port in range(tb.ports):
            got = tb.replies(port)[before:]
            assert [reply_op | 1 for reply_op, _, _ in got] == orders and all(hub == HUB for _, hub, _ in got)
            assert sum(reply_op | 1 in UNKNOWN and not reply_op & 1 for reply_op, _, _ in got) == errors
    await tb.finish()


@claim(ports=3)
async def close_all_does_not_overtake_data(tb):
    """H13: with the output's fiber stopped, close all waits behind the data; the connection stands until it has
    left."""
    source, target, waiting = tb.some(3)
    tb.order(source, Op.OPEN_RETRY, target)
    await tb.drain()
    tb.ends[target].take = lambda cycle: False
    first, second = packet([1, *random.randbytes(30)]), packet([2, *random.randbytes(30)])
    tb.send(source, first, CLOSE_ALL)
    tb.send(waiting, command(Op.OPEN_RETRY, HUB, target), second, CLOSE_ALL)
    await tb.run(150)
    taken = tb.agents.now
    tb.ends[target].take = lambda cycle: cycle < taken + len(first) + 2 or cycle > taken + 200
    await tb.run(150)
    assert len(tb.data(target)) == len(first) + 2, "the last but one symbol of close all stands in the output register"
    assert not tb.readies(waiting), "so the last one has not entered it, and the connection stands"
    await tb.run(200)
    await tb.drain()
    assert tb.data(target) == first + CLOSE_ALL + second + CLOSE_ALL
    await tb.finish()


@claim(ports=3)
async def nothing_slips_through_behind_a_close_all(tb):
    """docs/hub.md, input side: what follows a close all at once is not sent over the connections that it closes."""
    source, first, second = tb.some(3)
    for stalls in (0, 1, 2, 3, 5, 20):
        before = len(tb.data(first)), len(tb.data(second))
        begin = tb.agents.now
        tb.ends[first].take = lambda cycle, end=begin + 30 + stalls: not end - stalls <= cycle < end
        tb.order(source, Op.OPEN_RETRY, first)
        tb.send(source, [None] * 18, CLOSE_ALL, packet([0xBB]))
        tb.send(source, command(Op.OPEN_RETRY, HUB, second), packet([stalls]), CLOSE_ALL, [0xAA])
        await tb.drain()
        assert tb.data(first)[before[0] :] == CLOSE_ALL
        assert tb.data(second)[before[1] :] == packet([stalls]) + CLOSE_ALL
    assert await tb.errors(source) == 12
    await tb.finish()


@claim()
async def the_ready_bit_lives_as_the_paper_says(tb):
    """H15: 1 at start; 0 when a start leaves; 1 on the signal; a signal that comes together with a start does not
    count."""
    source, target = tb.some(2)
    tb.ends[target].answer = None
    stream = [*packet([3]), *CLOSE_ALL]
    successes = []
    delay = None
    for offset in (None, *range(-10, 11)):
        # Before: the bit is 1. The ready signal arrives ``offset`` cycles after the start is offered at the output.
        begin, count = tb.agents.now, len(tb.data(target))
        tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), stream)
        if offset is not None:
            tb.send(target, [None] * (delay + offset), [int(Control.READY)])
        await tb.drain()
        start = tb.sent(target).data[count]
        if delay is None:
            delay = start.offered - begin
        else:
            assert start.offered - begin == delay
            tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), stream)
            await tb.run(60)
            successes.append(len(tb.data(target)) > count + len(stream))
            if successes[-1]:
                tb.send(target, [int(Control.READY)])
                await tb.drain()
                continue
        tb.send(target, [int(Control.READY)])
        await tb.drain()
        if offset is not None:
            tb.send(target, [int(Control.READY)])
            await tb.drain()
    assert successes == sorted(successes), "a signal that comes later cannot count less"
    assert not successes[0] and all(successes[10:]), (
        "a neighbour answers a start that it has been offered, never an earlier one"
    )
    tb.ends[target].answer = 1
    await tb.finish()


@claim()
async def a_start_on_its_way_to_a_slow_fiber_makes_the_output_not_ready(tb):
    """docs/hub.md, output side: a test open does not pass while a start waits for the output register, nor until its
    ready signal."""
    source, target = tb.some(2)
    tb.ends[target].answer = None
    for before in range(4):
        count = len(tb.data(target))
        tb.ends[target].take = lambda cycle: False
        first = [*range(before), int(Control.START)]
        tb.send(source, command(Op.OPEN_RETRY, HUB, target), first)
        tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), [0x55], CLOSE_ALL)
        await tb.run(100)
        tb.ends[target].take = lambda cycle: True
        await tb.run(100)
        assert tb.data(target)[count:] == first
        tb.send(target, [int(Control.READY)])
        await tb.drain()
        assert tb.data(target)[count:] == first + [0x55] + CLOSE_ALL
    await tb.finish()


@claim()
async def each_start_that_leaves_a_queue_is_answered_with_ready(tb):
    """H15: passed on to one output or many, or dropped; also many in a row, while the fiber of the port is slow."""
    source = random.randrange(tb.ports)
    tb.send(source, packet([1]), packet([]))
    for target in others(tb, source):
        tb.order(source, Op.OPEN_RETRY, target)
    tb.send(source, packet([2]), packet([]), CLOSE_ALL, packet([3]), [int(Control.START)] * 3)
    await tb.drain()
    assert tb.readies(source) == 8
    tb.ends[source].take = lambda cycle: cycle % 8 == 0
    tb.send(source, [int(Control.START)] * 15)
    await tb.drain()
    assert tb.readies(source) == 23
    await tb.finish()


@claim()
async def a_flood_of_starts_leaves_the_far_end_ready(tb):
    """docs/hub.md, output side: more than 15 waiting ready signals are not kept, but some come behind the last
    start."""
    for port in range(tb.ports):
        tb.ends[port].take = lambda cycle: cycle % 8 == 0
        tb.send(port, [int(Control.START)] * 300)
    await tb.drain()
    for port in range(tb.ports):
        last = tb.agents.recording.rx[port][-1][0]
        assert sum(item.offered > last + 3 for item in tb.sent(port).readies) >= 15
        assert tb.readies(port) <= 300
    await tb.finish(judged=False)


@claim()
async def packets_are_passed_on_with_their_frame_and_nothing_is_added(tb):
    """H16: start, data and end come out as they went in, whatever the bytes; so do frames that are not whole."""
    source, target = tb.some(2)
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
    tb.order(source, Op.OPEN_RETRY, target)
    tb.send(source, *streams, CLOSE_ALL)
    await tb.drain()
    assert tb.data(target) == sum(streams, []) + CLOSE_ALL
    await tb.finish()


@claim()
async def circuit_switching_carries_a_packet_of_any_length(tb):
    """Section 4.2.1, H14: open with reply, data longer than any queue without a gap, close all behind them."""
    source, target = tb.some(2)
    assert await tb.ask(source, Op.OPEN_RETRY_REPLY, target) == (True, target)
    stream = packet(random.randbytes(3 * MAX_PACKET)) + CLOSE_ALL
    tb.send(source, stream)
    await tb.drain()
    assert tb.data(target) == stream
    offered = [item.offered for item in tb.sent(target).data][: -len(CLOSE_ALL)]
    assert offered == list(range(offered[0], offered[0] + len(offered)))
    await tb.finish()


@claim()
async def a_route_goes_on_behind_the_hub(tb):
    """Section 4.2.1: the command for the next HUB is forwarded over the connection, and its reply comes back the
    other way."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN_RETRY, target)
    tb.send(source, tb.foreign(target, Op.OPEN_RETRY_REPLY, 8))
    await tb.drain()
    assert tb.data(target) == tb.foreign(target, Op.OPEN_RETRY_REPLY, 8)
    tb.send(target, reply(Op.OPEN_RETRY_REPLY, neighbour_hub(target), 8))
    await tb.drain()
    assert tb.replies(source) == [[Op.OPEN_RETRY_REPLY, neighbour_hub(target), 8]]
    tb.send(source, packet(b"data"), CLOSE_ALL)
    await tb.drain()
    assert tb.data(target)[4:] == packet(b"data") + CLOSE_ALL
    await tb.finish()


@claim(ports=3)
async def circuit_switching_reaches_several_at_once(tb):
    """Section 4.2.2: opens with reply for each branch, then the data, then one close all for the tree."""
    source = random.randrange(tb.ports)
    targets = others(tb, source)
    for target in targets:
        assert await tb.ask(source, Op.OPEN_RETRY_REPLY, target) == (True, target)
    stream = packet(random.randbytes(2 * MAX_PACKET)) + CLOSE_ALL
    tb.send(source, stream)
    await tb.drain()
    assert all(tb.data(target) == stream for target in targets)
    await tb.finish()


@claim()
async def packet_switching_moves_a_packet_only_where_there_is_room(tb):
    """Section 4.2.3, H14, H15: test open, the largest packet, close all in one go; the next waits in the queue for
    the ready signal."""
    source, target = tb.some(2)
    tb.ends[target].answer = 2000
    streams = [packet([n, *random.randbytes(tb.longest - 1)]) + CLOSE_ALL for n in range(2)]
    tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), streams[0])
    await tb.run(tb.longest)
    assert tb.readies(source) == 1, "the source has room again"
    tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), streams[1])
    await tb.drain(10000)
    assert tb.data(target) == streams[0] + streams[1]
    starts = [item for item in tb.sent(target).data if item.symbol == Control.START]
    assert starts[1].offered > starts[0].taken + 2000
    tb.ends[target].answer = 1
    assert await tb.errors(source) == 0
    await tb.finish()


@claim(ports=3)
async def packet_switching_reaches_several_at_once(tb):
    """Section 4.2.4: a packet goes out when there is room behind every branch."""
    source = random.randrange(tb.ports)
    targets = others(tb, source)
    last = random.choice(targets)
    for target in targets:
        tb.ends[target].answer = 1000 if target == last else 50
    streams = [packet([n, *random.randbytes(40)]) + CLOSE_ALL for n in range(2)]
    for stream in streams:
        for target in targets:
            tb.order(source, Op.TEST_OPEN_RETRY, target)
        tb.send(source, stream)
    await tb.drain()
    assert all(tb.data(target) == streams[0] + streams[1] for target in targets)
    first, second = [item.offered for item in tb.sent(last).data if item.symbol == Control.START]
    assert second > first + 1000
    await tb.finish()


@claim(ports=3)
async def what_happens_does_not_depend_on_how_long_the_hub_was_idle(tb):
    """docs/hub.md, pins: while idle the clock may stop; so the same traffic meets the same state after any number of
    idle cycles."""
    target = random.randrange(tb.ports)
    sources = others(tb, target)
    seen = []
    pauses = range(3, 2 * tb.ports + 3, 3)
    for pause in [0, *random.sample(pauses, min(_PAUSES, len(pauses))), 1, 2, 97]:
        await tb.start()
        tb.send(sources[0], command(Op.OPEN_RETRY_REPLY, HUB, target), packet([1]), CLOSE_ALL)
        tb.send(sources[1], command(Op.OPEN_RETRY_REPLY, HUB, target), packet([2]), CLOSE_ALL)
        await tb.rest()
        await tb.run(pause)
        assert not pause or all(tb.agents.recording.idle[-pause:])
        begin = tb.agents.now
        for source in sources:
            tb.send(
                source,
                command(Op.OPEN_RETRY_REPLY, HUB, target),
                packet([source]),
                CLOSE_ALL,
                command(Op.STATUS_OUTPUT, HUB, target),
            )
        await tb.drain()
        seen.append(
            [
                [(item.symbol, item.offered - begin) for item in tx if item.offered >= begin]
                for tx in tb.agents.recording.tx
            ]
        )
    assert all(one == seen[0] for one in seen)
    await tb.finish()


@claim()
async def a_reset_in_the_middle_leaves_nothing_behind(tb):
    """docs/hub.md: at reset no connection stands, all ready bits are 1, all queues are empty, no error is counted."""
    for port in range(tb.ports):
        tb.ends[port].answer = None
        tb.send(
            port,
            command(Op.OPEN_RETRY_REPLY, HUB, (port + 1) % tb.ports),
            packet(bytes(200)),
            reply(1, 2, 3),
            [0x101],
        )
    await tb.run(random.randrange(20, 200))
    await tb.start()
    await tb.rest()
    assert not any(tb.agents.recording.tx)
    verdict = await tb.finish()
    assert not any(verdict.errors)

"""The reference model shown to be able to fail: it accepts an imitation of the HUB, and objects to faulty streams
and to faulty HUBs."""

import pytest

from nectar.hdl.hub.commands import BY_OPCODE, Group, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.link.symbol import ANY_HUB, CONTROL_BIT, REPLY_BIT, Control, command, packet, reply
from nectar.verification import seeds
from nectar.verification.hub.cycle_model import CycleModel
from nectar.verification.hub.faulty import FAULTY
from nectar.verification.hub.monitors import Agents, Endpoint, always, randomly, seven_of_eight
from nectar.verification.hub.reference import Violation, judge
from nectar.verification.hub.streams import Fault, Order, Pass, Sent, actions, arrivals, departures
from nectar.verification.hub.traffic import Neighbour, audit, neighbour_hub, transactions

HUB = 9
#: What answers a command that takes an output or a lock if it can: done and refused.
_TRIES = [
    op ^ bit for op in (Op.OPEN_REPLY, Op.TEST_OPEN_REPLY, Op.LOCK_REPLY, Op.TEST_LOCK_REPLY) for bit in (0, REPLY_BIT)
]


def record(seed, ports=5, count=15, make=CycleModel, limit=20000, **options):
    """Recording of random traffic through a HUB in Python, and of the error counters afterwards."""
    rng = seeds.rng(seed)
    agents = Agents(
        [
            Neighbour(port, rng, transactions(port, ports, HUB, rng, count, longest=200), **options)
            for port in range(ports)
        ]
    )
    device = make(ports, HUB)
    agents.simulate(device, limit)
    agents.endpoints[seed % ports].then(audit(ports, HUB))
    agents.simulate(device, limit + 2000)
    return agents.recording


@pytest.fixture(scope="module")
def legal():
    """A legal recording."""
    recording = record(1)
    judge(recording, HUB)
    return recording


# What it accepts


@pytest.mark.parametrize("ports", [2, 3, 5, 16])
@pytest.mark.parametrize(
    "gap, take", [(0, always), (0.3, always), (0, seven_of_eight), (0.2, randomly(seeds.rng(3), 0.6))]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_the_imitation_is_legal(ports, gap, take, seed):
    """Random traffic through a HUB made from the same specification is accepted; all packets, replies and errors are
    explained."""
    verdict = judge(record(seed, ports, count=75 // ports, gap=gap, take=take), HUB)
    assert verdict.packets and verdict.grants and verdict.replies


def test_all_kinds_of_traffic_occur():
    """The random traffic reaches what it is for: refusals, errors of most ports, replies, multicasts."""
    verdict = judge(record(2, ports=16, count=30), HUB)
    assert verdict.refused > 5 and verdict.replies > 100 and verdict.locks > 50
    assert verdict.grants > verdict.refused and sum(map(bool, verdict.errors)) > 8


def test_arrivals_are_taken_apart_at_the_pins():
    """docs/hub.md, input side: replies, ready, idle and reserved codes never see the queue; a cut reply is counted."""
    found = arrivals(list(enumerate([0x100, 0x102, 0x106, 1, 0x104, 2, 3, 0x101, 7, 0x106, 4, 0x103, 0x104])))
    assert found.queue == [(0x102, 1), (7, 8), (0x103, 11)]
    assert found.replies == [((1, 2, 3), 6)] and found.readies == [4, 12]
    assert found.errors == [(7, CounterId.RESERVED), (11, CounterId.REPLY_CUT)]


def test_a_head_sees_commands_and_what_cuts_them_short():
    """docs/wire.md, frames: a control code where a byte must stand cuts a command short, for whichever HUB it is."""
    stream = [
        *command(Op.OPEN, HUB, 1),
        *command(Op.OPEN, HUB, 1)[:2],
        *command(Op.OPEN, 3, 1)[:3],
        0x102,
        *command(Op.CLOSE_ALL, ANY_HUB, 0),
        *command(Op.OPEN, HUB, 1)[:3],
    ]
    found = actions([(symbol, at) for at, symbol in enumerate(stream)], HUB)
    assert found[:4] == [Order(Op.OPEN, 1, 3), Fault(6), Fault(9), Pass(0x102, 9)]
    assert [(p.symbol, p.closing, p.closes) for p in found[4:]] == [
        (0x105, True, False),
        (0x14, True, False),
        (0xFF, True, False),
        (0, True, True),
    ]


@pytest.mark.parametrize("torn", [[0x106, 1, 2], [0x106, 1, 0x102, 2, 3], [0x100], [0x101], [0x1FF]])
def test_a_port_that_sends_torn_replies_or_odd_codes_is_found(torn):
    """docs/wire.md: a reply's symbols stay together, save for ready; idle and reserved codes are not sent."""
    with pytest.raises(Violation):
        departures([Sent(symbol, at, at) for at, symbol in enumerate(torn)], 0)
    assert departures([Sent(symbol, at, at) for at, symbol in enumerate([0x106, 1, 0x104, 2, 3])], 0).replies[0][0] == (
        1,
        2,
        3,
    )


def test_an_offer_that_changes_before_it_is_taken_is_found():
    """docs/wire.md, pins: once valid is 1 both hold until the symbol is taken."""
    for second in (5, None):
        agents = Agents([Endpoint(take=lambda cycle: False), Endpoint()])
        agents.step([4, None], False)
        agents.step([4, None], False)
        with pytest.raises(Violation, match="changed it in cycle 2"):
            agents.step([second, None], False)


# Faults in the streams: each must be found wherever it is made


def data_places(recording):
    """(port, index) of the symbols that came over the crossbar."""
    return [
        (port, index)
        for port, tx in enumerate(recording.tx)
        for index, item in enumerate(tx)
        if any(item is data for data in departures(tx, port).data)
    ]


def drop(rng, recording, port, index):
    """A symbol is lost."""
    del recording.tx[port][index]


def duplicate(rng, recording, port, index):
    """A symbol is sent twice."""
    recording.tx[port].insert(index, recording.tx[port][index])


def corrupt(rng, recording, port, index):
    """A bit of a symbol is changed."""
    item = recording.tx[port][index]
    symbol = (
        item.symbol ^ (1 << rng.randrange(8))
        if item.symbol < CONTROL_BIT
        else int(Control.END)
        if item.symbol != Control.END
        else 0
    )
    recording.tx[port][index] = item._replace(symbol=symbol)


def swap(rng, recording, port, index):
    """Two symbols change places."""
    tx = recording.tx[port]
    data = {id(item) for item in departures(tx, port).data}
    other = next((i for i in range(index + 1, len(tx)) if id(tx[i]) in data and tx[i].symbol != tx[index].symbol), None)
    if other is None:
        return drop(rng, recording, port, index)
    tx[index], tx[other] = (tx[index]._replace(symbol=tx[other].symbol), tx[other]._replace(symbol=tx[index].symbol))
    return None


def misroute(rng, recording, port, index):
    """A symbol comes out of another port."""
    item = recording.tx[port].pop(index)
    other = recording.tx[(port + 1) % recording.ports]
    other.append(item)
    other.sort(key=lambda sent: sent.offered)


def invent(rng, recording, port, index):
    """A symbol that nobody sent."""
    recording.tx[port].insert(index, recording.tx[port][index]._replace(symbol=rng.randrange(256)))


def mutant(rng, recording, fault, places):
    """A copy of ``recording`` with ``fault`` at one of ``places``."""
    broken = recording.copy()
    fault(rng, broken, *rng.choice(places))
    return broken


#: Places in which each fault is made every day, and at night.
PLACES = pytest.mark.parametrize("count", [10, pytest.param(60, marks=pytest.mark.nightly)])


@PLACES
@pytest.mark.parametrize("fault", [drop, duplicate, corrupt, swap, misroute, invent])
def test_every_fault_in_the_data_is_found(legal, fault, count):
    """No symbol lost, invented, duplicated, changed or overtaken goes unseen, wherever it happens."""
    rng = seeds.rng(5)
    places = data_places(legal)
    for _ in range(count):
        broken = mutant(rng, legal, fault, places)
        if [[item.symbol for item in tx] for tx in broken.tx] == [[item.symbol for item in tx] for tx in legal.tx]:
            continue
        with pytest.raises(Violation):
            judge(broken, HUB)


def reply_places(recording, own):
    """(port, index) of the control codes of replies, of this HUB or of others."""
    return [
        (port, index)
        for port, tx in enumerate(recording.tx)
        for index, item in enumerate(tx)
        if item.symbol == Control.REPLY
        and (tx[index + 2].symbol == HUB) == own
        and all(part.symbol < CONTROL_BIT for part in tx[index + 1 : index + 4])
    ]


def lose_reply(rng, recording, port, index):
    """A reply is lost."""
    del recording.tx[port][index : index + 4]


def repeat_reply(rng, recording, port, index):
    """A reply is sent twice."""
    recording.tx[port][index:index] = recording.tx[port][index : index + 4]


def change_reply(rng, recording, port, index):
    """Done is refused or the other way round, or the value differs.

    What the pins do not tell is left alone: how many of the symbols that have arrived are still in a queue, and whether
    an open that does not wait was in time. A status differs so much that it can never be so."""
    op = recording.tx[port][index + 1].symbol
    place = index + (1 if op | REPLY_BIT == Op.STATUS_QUEUE else rng.choice([1, 3]))
    status = BY_OPCODE.get(op | REPLY_BIT, BY_OPCODE[Op.ECHO_REPLY]).group is Group.STATUS
    masks = (
        [0x3F]
        if status and place == index + 3
        else [0x40]
        if op in (*_TRIES, Op.STATUS_QUEUE) and place == index + 1
        else [REPLY_BIT, 0x40]
    )
    item = recording.tx[port][place]
    recording.tx[port][place] = item._replace(symbol=item.symbol ^ rng.choice(masks))


def misroute_reply(rng, recording, port, index):
    """A reply comes out of another port."""
    tx = recording.tx[port]
    frame, tx[index : index + 4] = tx[index : index + 4], []
    recording.tx[(port + rng.randrange(1, recording.ports)) % recording.ports].extend(frame)


def delay_reply(rng, recording, port, index):
    """A reply is held up for a thousand cycles."""
    tx = recording.tx[port]
    frame, tx[index : index + 4] = tx[index : index + 4], []
    tx.extend(item._replace(offered=item.offered + 1000, taken=item.taken + 1000) for item in frame)


@PLACES
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("fault", [lose_reply, repeat_reply, change_reply, misroute_reply, delay_reply])
def test_every_fault_in_the_replies_is_found(legal, fault, own, count):
    """H12: right content, right place, once; those of other HUBs within a bound (this HUB's own may wait for a
    decision).

    A reply that comes while its connection ends may belong to the next one, for as long as it may have waited: one in
    ten may escape."""
    if own and fault is delay_reply:
        fault = lose_reply
    rng = seeds.rng(6)
    places = reply_places(legal, own)[:count]
    escaped = 0
    for place in places:
        try:
            judge(mutant(rng, legal, fault, [place]), HUB)
            escaped += 1
        except Violation:
            pass
    assert escaped <= (len(places) // 10 if fault is misroute_reply and not own else 0)


@PLACES
@pytest.mark.parametrize("fault", [drop, duplicate])
def test_every_fault_in_the_ready_signals_is_found(legal, fault, count):
    """H15: one ready for each start that has left a queue, no more and no fewer."""
    places = [
        (port, index)
        for port, tx in enumerate(legal.tx)
        for index, item in enumerate(tx)
        if item.symbol == Control.READY
    ]
    rng = seeds.rng(7)
    for place in places[:count]:
        with pytest.raises(Violation, match="ready signals"):
            judge(mutant(rng, legal, fault, [place]), HUB)


def test_an_effect_before_its_cause_is_found(legal):
    """H3: nothing comes out before it came in, nor faster than the HUB can be."""
    rng = seeds.rng(8)
    for port, index in rng.sample(data_places(legal), 20):
        broken = legal.copy()
        item = broken.tx[port][index]
        broken.tx[port][index] = item._replace(offered=item.offered - 400)
        with pytest.raises(Violation):
            judge(broken, HUB)


def test_a_hub_that_says_idle_too_early_is_found(legal):
    """docs/hub.md, pins: idle only when nothing but an arriving symbol can change anything."""
    broken = legal.copy()
    offered = legal.tx[0][20].offered
    broken.idle[offered] = 1
    with pytest.raises(Violation, match="idle"):
        judge(broken, HUB)


# Faulty HUBs


@pytest.mark.parametrize("faulty", FAULTY)
def test_a_faulty_hub_is_found(faulty):
    """Each fault is found in one of a few recordings: by the model, or because the traffic comes to a stop."""
    found = 0
    for seed in range(60):
        try:
            judge(record(seed, count=30, take=randomly(seeds.rng(seed), 0.7), make=faulty, limit=6000), HUB)
        except (Violation, AttributeError, KeyError):
            found += 1
            if found == 2:
                return
    raise AssertionError("not found")


def test_replies_that_wander_are_judged_by_the_connection():
    """H12: a reply that arrives at a port goes to the input connected to its output; without one it is counted."""
    agents = Agents([Endpoint() for _ in range(3)])
    agents.endpoints[0].send(command(Op.OPEN, HUB, 2), packet(b"abc"), [None] * 60, command(Op.CLOSE_ALL, ANY_HUB, 0))
    agents.endpoints[2].send(
        [None] * 20, reply(Op.OPEN_RETRY_REPLY, neighbour_hub(2), 1), [None] * 100, reply(1, neighbour_hub(2), 2)
    )
    agents.simulate(CycleModel(3, HUB), 500)
    verdict = judge(agents.recording, HUB)
    assert verdict.replies == 1 and verdict.lost == 1 and verdict.counters(2) == {CounterId.NO_ROUTE: 1}
    agents.recording.rx[2] = [item for item in agents.recording.rx[2] if item[0] > 100]
    with pytest.raises(Violation, match="no business there"):
        judge(agents.recording, HUB)


def test_commands_are_waited_for_while_an_endpoint_has_something_to_send():
    """A ready signal that comes late lets commands go on that came long before it."""
    ports, late = 64, 2000
    agents = Agents([Endpoint(answer=late) for _ in range(ports)])
    for target in range(1, ports):
        agents.endpoints[0].outbox += command(Op.TEST_OPEN_RETRY, HUB, target)
    silence = [None] * ports
    while agents.endpoints[0].outbox:
        agents.step(silence, False)
    agents.step([None, int(Control.START), *silence[2:]], False)
    for _ in range(late + 10 * ports):
        assert not agents.quiet
        agents.step(silence, False)
    for _ in range(200):
        agents.step(silence, False)
    assert agents.quiet

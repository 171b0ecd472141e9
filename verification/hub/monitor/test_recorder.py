"""Bench of hdl/hub/monitor/recorder.py: what is recorded, in which order, with which stamps, and what is lost
(docs/monitor.md, "Record")."""

import random
from itertools import combinations, product

import cocotb
import pytest

from nectar.hdl.hub.monitor.recorder import Recorder
from nectar.hdl.hub.monitor_map import EVENT_DEPTH, TIME_BITS, Event
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep
from nectar.verification.hub.record import REPLACED_BY, Decided, Item, compare

PORTS = {"2 ports": 2, "5 ports": 5, "16 ports": 16}
PULSES = {Event.TIMED_OUT: "expired", Event.CLOSED: "closed", Event.UNLOCKED: "unlocked"}


class Watcher:
    """Drives the recorder as a HUB does, and keeps a list of what it has been told."""

    def __init__(self, dut):
        self.ports = PORTS[inside()]
        self.lockstep = Lockstep(dut, ["start", "stop", "decision", "decision_valid", *PULSES.values(), "pop"])
        self.begin = None
        self.told = []  # decisions and pulses, each with the stamp that is due
        self.owner, self.lock = {}, {}
        self.high = 0

    async def cycle(self, decision=None, pulses=(), pop=False, **more):
        """One cycle; ``decision`` is (kind, input, output), ``pulses`` are (kind, port)."""
        inputs = {"pop": pop, **more}
        if decision:
            kind, source, output = decision
            inputs.update(decision_valid=1, decision=kind << 14 | source << 7 | output)
        for kind, port in pulses:
            inputs[PULSES[kind]] = inputs.get(PULSES[kind], 0) | 1 << port
        now = self.lockstep.cycles
        if self.begin is not None and not more.get("start"):
            due = now - self.begin + 1
            for kind, port in pulses:
                self.told.append(Item(due, kind, *((port, 0) if kind == Event.TIMED_OUT else (0, port))))
            if decision:
                self.told.append(Decided(due, *decision))
        if more.get("start"):
            self.begin, self.told, self.high = now, [], 0
        if more.get("stop"):
            self.begin = None
        return await self.lockstep.step(inputs, outputs=["valid", "oldest"])

    async def oldest(self):
        """The oldest event, as it stands; None if there is none."""
        await self.cycle()
        valid, entry = await self.cycle()
        if not valid:
            return None
        return Item(entry >> 18, Event(entry >> 14 & 15), entry >> 7 & 127, entry & 127)

    async def take(self):
        """Takes the oldest event out."""
        event = await self.oldest()
        if event is not None:
            await self.cycle(pop=True)
        return event

    async def drain(self):
        """All events, with their whole times; WRAP's number is looked at here."""
        events = []
        while (event := await self.take()) is not None:
            if event.kind == Event.WRAP:
                high = event.input << 7 | event.output
                assert high == self.high + 1, "one WRAP when the high part changes"
                self.high = high
            events.append(event._replace(time=event.time | self.high << TIME_BITS))
        return events

    def opposites(self):
        """Two decisions that differ in each bit that a decision may have."""
        source, output = random.randrange(128), random.randrange(128)
        return (Event.REFUSED, source, output), (Event.UNLOCKED, source ^ 127, output ^ 127)

    def traffic(self, rate):
        """What a HUB might do in a cycle: a decision, and what ends."""
        pulses = []
        for output in list(self.owner):
            if random.random() < rate:
                pulses.append((Event.CLOSED, output))
                del self.owner[output]
        for output in list(self.lock):
            if random.random() < rate / 2:
                pulses.append((Event.UNLOCKED, output))
                del self.lock[output]
        pulses += [(Event.TIMED_OUT, port) for port in range(self.ports) if random.random() < rate / 20]
        decision = None
        if random.random() < 2 * rate:
            source, output = random.randrange(128), random.randrange(self.ports)
            kind = random.choice(
                (Event.OPENED, Event.OPENED, Event.LOCKED, Event.UNLOCKED, Event.REFUSED, Event.SUPERVISOR)
            )
            if kind == Event.OPENED:
                if output in self.owner:  # by force
                    pulses.append((Event.CLOSED, output))
                self.owner[output] = source
            elif kind == Event.LOCKED:
                self.lock[output] = source
            elif kind == Event.UNLOCKED:
                if self.lock.pop(output, None) is None or (Event.UNLOCKED, output) in pulses:
                    kind = Event.REFUSED
            if kind in (Event.REFUSED, Event.SUPERVISOR):
                output = random.randrange(128)  # whatever the parameter was
            decision = (kind, source, output)
        return {"decision": decision, "pulses": pulses}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def records_what_happens_in_order(dut):
    """docs/monitor.md: connections, locks, refusals and time-outs of a random HUB, quiet and busy."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    longest = 0
    for rate in (0.01, 0.05, 0.2):
        await watcher.cycle(start=1)
        for _ in range(random.randrange(10)):
            await watcher.cycle()
        while len(watcher.told) < 300:
            await watcher.cycle(**watcher.traffic(rate))
        for _ in range(4 * watcher.ports):
            await watcher.cycle()
        told = list(watcher.told)
        events = await watcher.drain()
        assert not [event for event in events if event.kind == Event.LOST]
        longest = max(longest, compare(told, events))
    assert longest > 0, "nothing ever waited"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def all_at_once_is_written_one_after_the_other(dut):
    """docs/monitor.md: the decision first, then TIMED_OUT, CLOSED and UNLOCKED in the order of the ports, one a
    cycle."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.cycle(start=1)
    pulses = [(kind, port) for kind in PULSES for port in range(watcher.ports)]
    await watcher.cycle((Event.REFUSED, 1, 0), pulses)
    for _ in range(4 * watcher.ports):
        await watcher.cycle()
    events = await watcher.drain()
    ports = range(watcher.ports)
    assert [event[1:] for event in events] == [
        (Event.REFUSED, 1, 0),
        *((Event.TIMED_OUT, port, 0) for port in ports),
        *((Event.CLOSED, 0, port) for port in ports),
        *((Event.UNLOCKED, 0, port) for port in ports),
    ]
    assert [event.time for event in events] == list(range(2, 3 * watcher.ports + 3))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def of_any_two_ports_at_once_the_first_comes_first(dut):
    """docs/monitor.md: in the order of the ports, whichever they are and however far apart."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    pairs = list(combinations(range(watcher.ports), 2))
    for first, second in random.sample(pairs, min(len(pairs), 40)):
        await watcher.cycle(start=1)
        await watcher.cycle(pulses=[(kind, port) for kind in PULSES for port in (second, first)])
        for _ in range(9):
            await watcher.cycle()
        assert [(event.kind, event.input + event.output) for event in await watcher.drain()] == [
            (kind, port) for kind in PULSES for port in (first, second)
        ]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_end_that_still_waits_is_left_out_when_a_new_connection_begins(dut):
    """docs/monitor.md: nobody reads OPENED, CLOSED of one output when it was CLOSED, OPENED; the same for locks."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for ended, begun in REPLACED_BY.items():
        for gap in range(5):
            for busy in (False, True):
                await watcher.cycle(start=1)
                output = random.randrange(watcher.ports)
                steps = {0: ended, gap: begun}
                for step in range(8):
                    pulses = [(ended, output)] if step == 0 else []
                    decision = (begun, 1, output) if step == gap else (Event.SUPERVISOR, 1, 1) if busy else None
                    await watcher.cycle(decision, pulses)
                for _ in range(4):
                    await watcher.cycle()
                told = list(watcher.told)
                events = await watcher.drain()
                compare(told, events)
                kinds = [event.kind for event in events if event.kind in steps.values()]
                assert kinds in ([begun], [ended, begun]) and (kinds == [begun] or gap and not busy), (gap, busy, kinds)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_is_left_out_is_the_end_at_that_output_alone(dut):
    """docs/monitor.md: while TIMED_OUT or decisions are written before it, each CLOSED and UNLOCKED waits; then its
    output, or another, is taken anew."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for ended, begun in REPLACED_BY.items():
        pairs = [(output, taken) for output in range(watcher.ports) for taken in range(watcher.ports)]
        for output, taken in random.sample(pairs, min(len(pairs), 40)):
            for gap, other in product(range(5), (None, Event.TIMED_OUT, Event.SUPERVISOR)):
                await watcher.cycle(start=1)
                pulses = [(other, port) for port in range(watcher.ports)] if other == Event.TIMED_OUT else []
                for step in range(6):
                    decision = (other, 1, 1) if other == Event.SUPERVISOR and step < gap else None
                    await watcher.cycle(
                        (begun, 1, taken) if step == gap else decision,
                        [*pulses, (ended, output)] if step == 0 else [],
                    )
                for _ in range(watcher.ports):
                    await watcher.cycle()
                kinds = [event.kind for event in await watcher.drain() if event.kind != other]
                if taken != output:
                    assert sorted(kinds) == sorted([begun, ended])
                else:
                    assert kinds == [begun] or gap and not other and kinds == [ended, begun], (gap, other, kinds)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_full_record_keeps_what_it_has_and_tells_that_events_are_missing(dut):
    """docs/monitor.md: 512 events; LOST stands before the first event behind the gap."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.cycle(start=1)
    pairs = [(Event.REFUSED, random.randrange(128) if n else 127, n % 128) for n in range(EVENT_DEPTH + 40)]
    for pair in pairs:
        await watcher.cycle(pair)
    for port in range(watcher.ports):
        await watcher.cycle(pulses=[(Event.CLOSED, port)])
    for _ in range(4 * watcher.ports):  # what still waits when there is room again is not lost
        await watcher.cycle()
    first = []
    for _ in range(random.randrange(5, 20)):
        first.append(await watcher.take())
    for _ in range(3):
        await watcher.cycle()
    await watcher.cycle((Event.LOCKED, 1, 0))
    await watcher.cycle()
    rest = await watcher.drain()
    assert [event[1:] for event in first + rest[:-2]] == pairs[:EVENT_DEPTH]
    assert [event[1:] for event in rest[-2:]] == [(Event.LOST, 0, 0), (Event.LOCKED, 1, 0)]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_decision_waits_until_the_loss_is_told(dut):
    """docs/monitor.md: one that comes just when there is room again stands behind LOST as it was given; one that
    came earlier is lost. A decision is written three cycles after it was given, and room shows a cycle late."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    decisions = watcher.opposites()
    for turn, early in enumerate((*range(-3, 5), 2, 2)):  # cycles before the first that is taken out
        await watcher.cycle(start=1)
        for n in range(EVENT_DEPTH + 3):
            await watcher.cycle((Event.REFUSED, n % 128, 5))
        for _ in range(4):
            await watcher.cycle()
        decision = decisions[turn % 2]
        for step in range(-4, 6):
            await watcher.cycle(decision if step == -early else None, pop=0 <= step < 5)
        for _ in range(4):
            await watcher.cycle()
        tail = [event[1:] for event in await watcher.drain()][EVENT_DEPTH - 5 :]
        assert tail == [(Event.LOST, 0, 0)] + [decision] * (early < 3), early


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def losing_again_and_again_under_reading_is_told_each_time(dut):
    """docs/monitor.md: between two events of the record nothing is missing unless LOST stands between them."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.cycle(start=1)
    events, count, popped = [], 0, -3
    shown = 0, 0
    for step in range(6000):
        decision = None
        if random.random() < 0.6:
            decision = (Event.REFUSED, count & 127 ^ 0x55, count & 127)
            count += 1
        pop = shown[0] and step - popped > 2 and random.random() < 0.5  # room comes in the midst of decisions
        if pop:
            events.append(Item(shown[1] >> 18, Event(shown[1] >> 14 & 15), shown[1] >> 7 & 127, shown[1] & 127))
            popped = step
        shown = await watcher.cycle(decision, pop=pop)
    for _ in range(4):
        await watcher.cycle()
    events += await watcher.drain()
    expected, missing = 0, False
    for event in events:
        if event.kind == Event.LOST:
            assert event[2:] == (0, 0)
            missing = True
            continue
        number = event.output
        while missing and expected & 127 != number:
            expected += 1
        assert expected & 127 == number == event.input ^ 0x55, f"{event}, expected number {expected & 127}"
        expected, missing = expected + 1, False
    assert missing or expected == count
    assert any(event.kind == Event.LOST for event in events)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def nothing_is_recorded_before_the_start_or_behind_the_end(dut):
    """docs/monitor.md: RECORD begins with an empty record at any moment, STOP leaves it to be read."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for _ in range(20):
        for _ in range(random.randrange(30)):
            await watcher.cycle(**watcher.traffic(0.3))
        await watcher.cycle(start=1, **watcher.traffic(0.3))
        for _ in range(random.randrange(20)):
            await watcher.cycle(**watcher.traffic(0.1))
        for _ in range(4 * watcher.ports):
            await watcher.cycle()
        told = list(watcher.told)
        await watcher.cycle(stop=1, pulses=[(Event.CLOSED, 1)])
        for _ in range(random.randrange(2, 30)):
            await watcher.cycle(**watcher.traffic(0.3))
        assert not watcher.lockstep.pin("running")
        compare(
            told,
            [event for event in await watcher.drain() if event.time <= told[-1].time + 3 * watcher.ports]
            if told
            else [],
        )
        for _ in range(3):
            assert await watcher.take() is None


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_ends_the_recording_and_empties_the_record(dut):
    """docs/hub.md, "Reset hub": at any moment; what was under way is in no record that is begun afterwards."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for _ in range(30):
        await watcher.cycle(start=1)
        for _ in range(random.randrange(3, 40)):
            await watcher.cycle(**watcher.traffic(0.3))
        await watcher.lockstep.reset(
            {"decision_valid": 1, "decision": random.getrandbits(18), "closed": 1, "expired": 2}
        )
        watcher.begin = None
        if random.random() < 0.5:
            for _ in range(random.randrange(3)):
                await watcher.cycle(**watcher.traffic(0.3))
            for _ in range(4 * watcher.ports):
                await watcher.cycle()
                assert not watcher.lockstep.pin("running")
            assert await watcher.oldest() is None
        await watcher.cycle(start=1)
        await watcher.cycle((Event.LOCKED, 1, 0))
        for _ in range(4 * watcher.ports):
            await watcher.cycle()
        assert await watcher.drain() == [Item(2, Event.LOCKED, 1, 0)]


@cocotb.test(timeout_time=80, timeout_unit="ms")
async def time_goes_on_behind_its_18_bits(dut):
    """docs/monitor.md: WRAP is written before the first event behind, and not for silence; nothing is lost over it."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.cycle(start=1)
    end = 1 << TIME_BITS
    await watcher.cycle((Event.REFUSED, 1, 2))
    await watcher.lockstep.rest(end - 60)
    watched = random.choice((0.3, 0.1))
    for _ in range(120):
        await watcher.cycle(**watcher.traffic(watched))
    for _ in range(4 * watcher.ports):
        await watcher.cycle()
    told = list(watcher.told)
    assert told[0].time < end - 60 and told[-1].time > end
    events = await watcher.drain()
    compare(told, events)
    assert events[-1].time > end and watcher.high == 1
    for late in (
        end - 40,
        end - 41,
        101,
    ):  # WRAP is written in an even and in an odd cycle, with all bits of the time set and with few
        cycle = watcher.begin + (watcher.high + 1) * end + late
        await watcher.lockstep.rest(cycle - watcher.lockstep.cycles)
        await watcher.cycle((Event.LOCKED, 3, 1))
        for _ in range(4):
            await watcher.cycle()
        events = await watcher.drain()
        assert [event.kind for event in events] == [Event.WRAP, Event.LOCKED]
        due = cycle - watcher.begin + 1
        assert due <= events[0].time < events[1].time <= due + 2
    assert watcher.high == 4


@cocotb.test(timeout_time=80, timeout_unit="ms")
async def that_the_time_wrapped_and_that_events_are_missing_is_told_before_the_next(dut):
    """docs/monitor.md: WRAP, then LOST, then the decision that waited for both, as it was given."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for decision in watcher.opposites():
        await watcher.cycle(start=1)
        for n in range(EVENT_DEPTH + 10):
            await watcher.cycle((Event.REFUSED, n % 128, 5))
        await watcher.lockstep.rest(1 << TIME_BITS)
        for step in range(-4, 6):  # it comes just when there is room again
            await watcher.cycle(decision if step == -2 else None, pop=0 <= step < 5)
        for _ in range(4):
            await watcher.cycle()
        events = await watcher.drain()
        assert len(events) == EVENT_DEPTH - 5 + 3
        assert [event[1:] for event in events[-3:]] == [(Event.WRAP, 0, 1), (Event.LOST, 0, 0), decision]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def taking_out_of_an_empty_record_does_nothing(dut):
    """docs/monitor.md: also in the cycle in which the first event is written."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.cycle(start=1)
    for gap in range(6):
        await watcher.cycle((Event.LOCKED, 1, gap), pop=True)
        for step in range(6):
            await watcher.cycle(pop=step < gap)
        seen = await watcher.drain()
        assert [event.output for event in seen] == ([gap] if gap < 3 else []) or gap == 3, (gap, seen)


bench = Bench(__name__, {name: lambda ports=ports: Recorder(ports) for name, ports in PORTS.items()}, ports_only=True)


@pytest.mark.parametrize(
    "configuration, claim", bench.cases(nightly=("2 ports", "16 ports", "time_goes_on_behind_its_18_bits"))
)
def test_recorder(configuration, claim):
    bench.check(configuration, claim)


def test_parameters():
    """H1: a HUB has 2 to 128 ports."""
    for ports in (1, 129):
        with pytest.raises(ValueError, match="2 to 128 ports"):
            Recorder(ports)
    with pytest.raises(TypeError, match="must be an int"):
        Recorder("4")

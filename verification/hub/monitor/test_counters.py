"""Bench of hdl/hub/monitor/counters.py: what is counted, what is shown, and when (docs/monitor.md, "PortCounters")."""

import random

import cocotb
import pytest

from nectar.hdl.hub.monitor.counters import PortCounters
from nectar.hdl.hub.monitor_map import CounterId
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

PORTS = {"2 ports": 2, "3 ports": 3, "16 ports": 16}
MOST = 65535
#: Cycles from one event to the next of the same name at a port, from which on all are counted.
APART = {CounterId.OPENED: 4, CounterId.PACKETS: 4}


class Watcher:
    """Drives events, and knows what has happened at each port under each name since its last clearing."""

    def __init__(self, dut):
        self.ports = PORTS[inside()]
        self.lockstep = Lockstep(
            dut, [*(f"events__{n}" for n in range(self.ports)), "awake", "clear", "port", "counter"]
        )
        self.happened = {(n, kind): 0 for n in range(self.ports) for kind in CounterId}
        #: A round of the walker in which every port has something of every name to count, or is cleared.
        self.longest_round = 40 * self.ports

    async def cycle(self, events=(), clear=(), awake=None, look=(0, 0)):
        """One cycle in which ``events``, (port, counter) pairs, happen. Returns what is shown."""
        inputs = {
            "awake": bool(events) or bool(clear) if awake is None else awake,
            "clear": sum(1 << n for n in clear),
            "port": look[0],
            "counter": look[1],
        }
        for n, kind in events:
            inputs[f"events__{n}"] = inputs.get(f"events__{n}", 0) | 1 << kind
        for n, kind in events:
            self.happened[n, kind] += 1
        for n in clear:
            for kind in CounterId:
                self.happened[n, kind] = 0
        return (await self.lockstep.step(inputs, outputs=["value"]))[0]

    async def read(self, n, kind):
        """What a counter shows."""
        await self.cycle(look=(n, kind))
        await self.cycle()
        await self.cycle()
        return await self.cycle()

    async def settle(self):
        """Waits until all is counted; that must come to an end."""
        for _ in range(2 * self.longest_round):
            await self.cycle()
            if not self.lockstep.pin("busy"):
                return
        raise AssertionError("busy for ever")

    async def check(self, exact=lambda n, kind: True):
        """All counters show what has happened, or, where that is not exact, no more and at least 1."""
        await self.settle()
        for (n, kind), count in self.happened.items():
            shown = await self.read(n, kind)
            if exact(n, kind):
                assert shown == min(count, MOST), f"port {n} {kind.name}: {shown} shown, {count} happened"
            else:
                assert min(count, 1) <= shown <= count, f"port {n} {kind.name}: {shown} shown, {count} happened"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def all_is_0_after_a_reset_and_events_from_the_first_cycle_count(dut):
    """docs/monitor.md: the RAM is cleared behind the scenes; nobody sees what was in it, and nothing is missed
    meanwhile."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    pairs = list(watcher.happened)
    for n, kind in pairs:
        assert await watcher.read(n, kind) == 0
    await watcher.settle()
    dut.rst.value = 1
    await watcher.cycle()
    dut.rst.value = 0
    for n, kind in pairs:
        assert watcher.lockstep.pin("value") == 0
        await watcher.cycle([(n, kind)] if kind != CounterId.TIMED_OUT else ())
    await watcher.check()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_event_at_once_counts_once_under_its_own_name(dut):
    """docs/monitor.md: all events of all ports in one cycle, again and again, a round apart."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for _ in range(5):
        await watcher.cycle(watcher.happened)
        for _ in range(watcher.longest_round):
            await watcher.cycle(awake=1)
    await watcher.check()
    assert set(watcher.happened.values()) == {5}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def packets_and_connections_are_exact_errors_at_least_once(dut):
    """docs/monitor.md: OPENED and PACKETS may come as fast as the wire lets them, at all ports at once."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.settle()
    for rate in (0.0, 0.002, 0.3):
        since = {}
        for cycle in range(1500):
            events = []
            for n, kind in watcher.happened:
                if kind in APART:
                    due = cycle - since.get((n, kind), -10) >= APART[kind] and random.random() < 0.97
                else:
                    due = random.random() < rate
                if due and (kind in APART or rate < 0.3 or random.random() < 0.5):
                    events.append((n, kind))
                    since[n, kind] = cycle
            await watcher.cycle(events, awake=1)
        # While errors come thick, at all ports under all names, rounds take longer than the sums of packets last.
        await watcher.check(lambda n, kind: rate == 0.0 and kind in APART)
        if rate == 0.0:
            assert all(watcher.happened[n, kind] > 1400 / APART[kind] for n in range(watcher.ports) for kind in APART)
        await watcher.cycle(clear=range(watcher.ports))
    await watcher.check()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def errors_a_round_apart_are_exact(dut):
    """docs/monitor.md: under one name at one port, one error a round; different names and ports do not disturb each
    other."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    last = {}
    for cycle in range(6 * watcher.longest_round):
        events = [
            pair
            for pair in watcher.happened
            if random.random() < 0.02 and cycle - last.get(pair, -10000) > watcher.longest_round
        ]
        last.update(dict.fromkeys(events, cycle))
        await watcher.cycle(events, awake=1)
    assert sum(watcher.happened.values()) > 3 * len(watcher.happened)
    await watcher.check()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def clearing_at_any_moment_leaves_what_happens_afterwards(dut):
    """docs/monitor.md: cleared counters show 0 from the next cycle on, and count on, wherever the walker is; others
    are left alone."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for gap in range(0, 3 * watcher.longest_round, 7 if watcher.ports > 4 else 1):
        target = random.randrange(watcher.ports)
        await watcher.cycle([(target, kind) for kind in CounterId])
        for _ in range(gap % 61):
            await watcher.cycle(awake=random.random() < 0.5)
        await watcher.cycle(clear=[target], events=[((target + 1) % watcher.ports, CounterId.OVERRUN)])
        after = random.sample(list(CounterId), 3)
        await watcher.cycle([(target, kind) for kind in after])
        seen = random.choice([kind for kind in CounterId if kind not in after])
        assert await watcher.read(target, seen) == 0
        if gap % 5 == 0:
            await watcher.check()
        else:
            for cycle in range(watcher.longest_round):
                shown = await watcher.cycle(look=(target, seen))
                assert cycle < 3 or shown == 0, f"cleared, and {shown} in {seen.name}"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def clearing_during_a_clearing_is_not_forgotten(dut):
    """docs/monitor.md: the counters of all other ports are cleared while those of one port are being cleared."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.settle()
    for first in range(watcher.ports):
        others = [n for n in range(watcher.ports) if n != first]
        for gap in range(4, 24) if watcher.ports < 16 else random.sample(range(4, 24), 2):
            kind = random.choice(list(CounterId))
            await watcher.cycle([(n, kind) for n in range(watcher.ports)])
            await watcher.settle()
            await watcher.cycle(clear=[first])
            # From its rest the walker goes to port 0, and stays at each port for 3 cycles.
            for _ in range(3 * first + gap):
                await watcher.cycle()
            await watcher.cycle(clear=others)
            await watcher.settle()
            for n in range(watcher.ports):
                assert await watcher.read(n, kind) == 0, f"port {n} {kind.name}, {gap} cycles behind port {first}"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def clearing_after_a_rest_of_any_length_is_not_forgotten(dut):
    """docs/monitor.md: wherever the walker's count of cycles stands when the counters of a port are to be cleared."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for target in (0, watcher.ports - 1):
        for gap in range(18):
            await watcher.cycle([(target, CounterId.OVERRUN), (1, CounterId.PACKETS)])
            await watcher.settle()
            for _ in range(gap):
                await watcher.cycle()
            await watcher.cycle(clear=[target])
            await watcher.settle()
            assert await watcher.read(target, CounterId.OVERRUN) == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def two_ports_may_be_cleared_while_the_walker_clears_a_third(dut):
    """docs/monitor.md: no clearing is forgotten, the same port's again included."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    for _ in range(30):
        await watcher.cycle(watcher.happened)
        await watcher.settle()
        for _ in range(random.randrange(1, 6)):
            cleared = random.sample(range(watcher.ports), random.randrange(1, watcher.ports + 1))
            await watcher.cycle(clear=cleared)
            for _ in range(random.choice((0, 1, 15, 16, 17, random.randrange(60)))):
                await watcher.cycle(awake=1)
        await watcher.check()
        for n in range(watcher.ports):
            await watcher.cycle(clear=[n])


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_counter_stops_at_its_end(dut):
    """docs/monitor.md: 65535, from which no event leads back to 0; on the way there every bit counts. It takes so
    long that only small HUBs do it."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.settle()
    if watcher.ports > 3:
        return
    n, kind = random.randrange(watcher.ports), CounterId.PACKETS
    for cycles in (*(random.randrange(10_000, 35_000) for _ in range(6)), 200_000):
        before = watcher.happened[n, kind]
        await watcher.lockstep.rest(cycles, {f"events__{n}": 1 << kind, "awake": 1})
        await watcher.settle()
        watcher.happened[n, kind] = await watcher.read(n, kind)
        # With some seeds (3862210) the end is reached before the last and longest turn.
        assert min(before + 1, MOST) <= watcher.happened[n, kind] <= MOST
        for _ in range(12):
            await watcher.cycle([(n, kind)], awake=1)
            for _ in range(3):
                await watcher.cycle(awake=1)
        await watcher.check()
    assert watcher.happened[n, kind] > MOST
    # Not for a moment does it show less.
    for cycle in range(100):
        shown = await watcher.cycle([(n, kind)] if cycle % 8 == 0 else (), awake=1, look=(n, kind))
        assert cycle < 3 or shown == MOST, f"{shown} shown"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_new_value_shows_from_one_cycle_on(dut):
    """docs/monitor.md: a reading may begin in any cycle, that in which the counter is written among them. From rest the
    walker comes to port 0 at once, and to one counter after the other."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.settle()
    for kind in CounterId:
        for wait in range(len(CounterId) + 4):
            await watcher.settle()
            before = watcher.happened[0, kind]
            await watcher.cycle([(0, kind)])
            for _ in range(wait):
                await watcher.cycle()
            assert await watcher.read(0, kind) == before + (wait >= 2 + kind), f"{kind.name}, {wait} cycles later"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_sum_stops_at_its_room(dut):
    """docs/monitor.md: OPENED and PACKETS between two visits count as often as they happened, at least up to 3 N /
    4, and to 3."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    await watcher.settle()
    room = max(3, 3 * watcher.ports // 4)
    for kind in APART:
        for n, more in [
            (n, more) for n in random.sample(range(watcher.ports), min(watcher.ports, 3)) for more in range(1, 5)
        ]:
            happened = more + room - 1
            await watcher.cycle(clear=range(watcher.ports))  # the next round is a long one
            for _ in range(happened):
                await watcher.cycle([(n, kind)])
            await watcher.settle()
            assert min(happened, room) <= await watcher.read(n, kind) <= happened
            await watcher.cycle(clear=range(watcher.ports))
            await watcher.settle()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_it_counts_does_not_depend_on_how_long_there_was_nothing(dut):
    """docs/engine.md, Sleep: the clock may stand still while busy is 0, so silence of any length must give the same
    counts."""
    watcher = Watcher(dut)
    await watcher.lockstep.start()
    script = [[pair for pair in watcher.happened if random.random() < 0.05] for _ in range(300)]
    found = set()
    for silence in (0, 1, random.randrange(2, 400), random.randrange(2, 400)):
        await watcher.settle()
        await watcher.cycle(clear=range(watcher.ports))
        await watcher.settle()
        for _ in range(silence):
            await watcher.cycle()
            assert not watcher.lockstep.pin("busy")
        for events in script:
            await watcher.cycle(events, awake=1)
        await watcher.settle()
        found.add(tuple([await watcher.read(*pair) for pair in watcher.happened]))
    assert len(found) == 1


bench = Bench(
    __name__, {name: lambda ports=ports: PortCounters(ports) for name, ports in PORTS.items()}, ports_only=True
)


@pytest.mark.parametrize(
    "configuration, claim", bench.cases(nightly=("2 ports", "16 ports", "a_counter_stops_at_its_end"))
)
def test_counters(configuration, claim):
    bench.check(configuration, claim)


def test_parameters():
    """H1: a HUB has 2 to 128 ports."""
    for ports in (1, 129):
        with pytest.raises(ValueError, match="2 to 128 ports"):
            PortCounters(ports)
    with pytest.raises(TypeError, match="must be an int"):
        PortCounters("4")

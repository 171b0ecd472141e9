"""Sleep changes nothing but the speed: the same run with and without it, every symbol at the same picosecond.

The boards say themselves when they may sleep; this is what shows that they say it rightly.
"""

import pytest

from nectar.hdl.cab.addresses import REG, Irq
from nectar.hdl.host.events import EventGroup
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.verification import seeds
from nectar.verification.sim.test_fiber import varied
from nectar.verification.sim.traffic import Station, routes_to_others, run


class Alarms(Station):
    """Sends packets as a Station, each at an alarm of the timer, with the CPU asleep in between."""

    async def _main(self):
        door = self.door
        timer, now, enable = REG["TIMER_COMPARE"].address, REG["TIMER_NOW"].address, REG["IRQ_ENABLE"].address
        door.attach(self._interrupt)
        self.times = []
        door.write(enable, 1 << Irq.PACKET | 1 << Irq.RECEIVED | 1 << Irq.SENT | 1 << Irq.TIMER)
        for number, data in enumerate(self.packets):
            start = await door.read(now)
            self._rung = False
            door.write(timer, start + self.pause())
            while not self._rung:
                await door.wait()
            self.times.append((start, await door.read(now), await door.now()))
            self._send(data)
            while self._sent <= number:
                await door.wait()
        while True:
            await door.wait()

    async def _interrupt(self):
        pending = await self.door.read(REG["IRQ_PENDING"].address)
        if pending >> Irq.TIMER & 1:
            self.door.write(REG["IRQ_PENDING"].address, 1 << Irq.TIMER)
            self._rung = True
        await super()._interrupt()


def record(topology, seed, **options):
    """All that can be seen of a run: why and when it ended, every symbol, every packet, every reading of a clock."""
    rng = seeds.rng(seed)
    recorder = Recorder(groups=EventGroup.SYMBOLS)
    machine = EngineMachine(topology, recorder=recorder, **options)
    stations = []
    for name, route in routes_to_others(topology, rng):
        packets = [rng.randbytes(rng.randrange(64, 200)) for _ in range(rng.randrange(1, 4))]
        pause = seeds.rng(rng.random())
        stations.append(
            Alarms(machine, name, route, packets, lambda pause=pause: pause.choice((1, 7, 40, 5000, 60_000)))
        )
    ended = run(machine, 20_000_000_000)
    engine = machine.engine
    cycles = {board: engine.cycles(board) for board in engine.boards}
    seen = (
        ended,
        machine.time_ps,
        list(recorder.recording().events()),
        [(station.received, station.times) for station in stations],
    )
    machine.close()
    recorder.close()
    return seen, cycles


@pytest.mark.parametrize(
    "make, seed",
    [
        (lambda seed: load("hub:4"), 1),
        (lambda seed: load("figure7"), 2),
        (lambda seed: load("mesh:2x2"), 3),
        (varied, 4),
        (varied, 5),
    ],
    ids=["hub:4", "figure7", "mesh:2x2", "varied 4", "varied 5"],
)
def test_with_and_without_sleep_everything_is_the_same(make, seed):
    asleep, some = record(make(seed), seed)
    awake, every = record(make(seed), seed, sleep=False)
    assert asleep == awake
    ended, _, log, stations = asleep
    assert ended == "quiet" and len(log) > 200
    assert any(received for received, _ in stations) and all(
        good for received, _ in stations for _, good, _ in received
    )
    for board in every:
        assert every[board][1] == 0
        assert sum(some[board]) == every[board][0]
        assert some[board][0] < every[board][0]
    assert sum(evaluated for evaluated, _ in some.values()) < sum(evaluated for evaluated, _ in every.values()) * 0.9


def test_recording_waveforms_changes_nothing(tmp_path):
    """Boards that are recorded do not sleep; half of them are, for a part of the time."""
    topology = load("figure7")
    plain, _ = record(topology, 6)
    _, end, *_ = plain
    begin, length = end // 10, min(end // 2, 250_000_000)
    recorded, cycles = record(
        topology, 6, waves=tmp_path / "some.vcd", wave_boards=["HUB1", "CAB3"], wave_window=(begin, begin + length)
    )
    assert recorded == plain
    assert cycles["HUB1"][0] >= length // PROTOTYPE.hub_period_ps - 1


def test_a_timer_wakes_a_board_that_slept_longer_than_its_counter_holds():
    """TIMER_NOW has 32 bits: 268 s. A CPU that computes for 300 s, with everything asleep, reads it modulo that."""
    machine = EngineMachine(load("hub:1"))
    seen = []

    async def main():
        door = machine.doors["CAB1"]
        before = await door.read(REG["TIMER_NOW"].address)
        door.spend(4_800_000_000)
        after = await door.read(REG["TIMER_NOW"].address)
        seen.append((after - before) % 2**32)

    machine.start("CAB1", main())
    assert run(machine) == "quiet"
    # A read is taken one edge after it is driven, and answered three later (docs/cab.md).
    assert seen == [(4_800_000_000 + 1 + 3) % 2**32]
    assert machine.time_ps > 300e12
    assert machine.engine.cycles("CAB1")[0] < 100
    machine.close()

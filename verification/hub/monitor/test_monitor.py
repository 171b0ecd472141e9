"""Bench of hdl/hub/monitor/monitor.py: what is shown, byte by byte (docs/monitor.md, "Reading")."""

import random

import cocotb
import pytest

from nectar.hdl.hub.monitor.monitor import Monitor
from nectar.hdl.hub.monitor_map import EVENT_DEPTH, POP, VERSION, Clear, CounterId, Event, Select
from nectar.hdl.hub.profile import PROTOTYPE
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

PORTS = {"3 ports": 3, "16 ports": 16}
LATENCY = 4


class Watcher:
    """Drives the monitor and reads it; a question may be asked in every cycle."""

    def __init__(self, dut):
        self.ports = PORTS[inside()]
        numbers = range(self.ports)
        self.lockstep = Lockstep(
            dut,
            [
                *(f"events__{n}" for n in numbers),
                *(f"flags__{n}" for n in numbers),
                "awake",
                "decision",
                "decision_valid",
                "closed",
                "unlocked",
                "expired",
                "watchdog_log",
                "select",
                "offset",
                "pop",
                "clear",
                "clear_valid",
            ],
        )
        self.levels = {}

    async def start(self, **levels):
        """Resets; ``levels`` are inputs that stay."""
        self.levels = levels
        await self.lockstep.start()

    async def cycle(self, **inputs):
        """One cycle; returns the byte that is shown in it."""
        return (
            await self.lockstep.step(
                {**self.levels, "awake": any(name.startswith("events") for name in inputs), **inputs}, outputs=["byte"]
            )
        )[0]

    async def settle(self):
        """Waits until all is counted."""
        for _ in range(100 * self.ports):
            await self.cycle()
            if not self.lockstep.pin("active"):
                return
        raise AssertionError("active for ever")

    async def read(self, select, *offsets, **inputs):
        """Bytes: one question in each cycle, answered after ``LATENCY``."""
        shown = []
        for cycle in range(len(offsets) + LATENCY):
            asked = (
                {"select": select, "offset": offsets[cycle]}
                if cycle < len(offsets)
                else {"select": random.getrandbits(8), "offset": random.getrandbits(8)}
            )
            shown.append(await self.cycle(**asked, **(inputs if cycle == 0 else {})))
        return shown[LATENCY:]

    async def clear(self, what):
        """A MONITOR_CLEAR."""
        await self.cycle(clear=what, clear_valid=1)

    async def record(self):
        """Begins a record; behind it events are recorded."""
        await self.clear(Clear.RECORD)
        for _ in range(4):
            await self.cycle()


async def recording(dut):
    """A Watcher of a monitor that has been reset and records."""
    watcher = Watcher(dut)
    await watcher.start()
    await watcher.record()
    return watcher


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def counters_are_shown_high_byte_first(dut):
    """docs/monitor.md: two bytes of each of 16 counters of the selected port, 0 behind them."""
    watcher = Watcher(dut)
    await watcher.start()
    await watcher.settle()
    counts = {(n, kind): random.randrange(3) for n in range(watcher.ports) for kind in CounterId}
    counts[1, CounterId.PACKETS] = 300
    for cycle in range(7200):
        inputs = {}
        for n in range(watcher.ports):
            mask = sum(1 << kind for kind in CounterId if cycle % 3000 == 0 and counts[n, kind] > cycle // 3000)
            if n == 1:
                mask = mask & ~(1 << CounterId.PACKETS) | (cycle % 24 == 0) << CounterId.PACKETS
            inputs[f"events__{n}"] = mask
        await watcher.cycle(**inputs)
    await watcher.settle()
    for n in range(watcher.ports):
        shown = await watcher.read(n, *range(256))
        expected = [byte for kind in CounterId for byte in counts[n, kind].to_bytes(2, "big")]
        assert shown == expected + [0] * (256 - len(expected))
    await watcher.clear(1)
    await watcher.cycle()
    assert await watcher.read(1, *range(32)) == [0] * 32
    assert any(await watcher.read(0, *range(32))) or not any(counts[0, kind] for kind in CounterId)
    await watcher.settle()
    assert await watcher.read(1, *range(32)) == [0] * 32


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def events_are_shown_and_taken_out(dut):
    """docs/monitor.md: five bytes; reading again tells the same; POP takes the event out behind the byte."""
    watcher = Watcher(dut)
    await watcher.start()
    assert await watcher.read(Select.EVENTS, *range(8)) == [0] * 8
    await watcher.record()
    assert watcher.lockstep.pin("active")
    told = []
    for turn in range(40):
        for _ in range(random.choice((3, 3, 4, 300))):
            await watcher.cycle()
        if turn >= 20 and turn < 25:  # all bits of the time
            await watcher.lockstep.rest(1 << turn - 7)
        source, output = random.randrange(128), random.randrange(128)
        kind = random.choice((Event.OPENED, Event.REFUSED, Event.LOCKED, Event.UNLOCKED, Event.SUPERVISOR))
        told.append((watcher.lockstep.cycles, kind, source, output))
        await watcher.cycle(decision=kind << 14 | source << 7 | output, decision_valid=1)
    for _ in range(5):
        await watcher.cycle()
    begin = None
    for cycle, kind, source, output in told:
        if cycle == told[30][0]:  # an event with a long time shows at its offsets, and where events are selected
            shown = await watcher.read(Select.EVENTS, *range(POP))
            assert shown[0] and shown[1] and not any(shown[5:])
            for select in {Select.EVENTS ^ 1 << bit for bit in range(8)} - {*range(watcher.ports), *Select}:
                assert not any(await watcher.read(select, *range(5)))
            assert not any(await watcher.read(Select.FLAGS, *range(5)))
            assert await watcher.read(Select.IDENTITY, 0, 1, 4) == [VERSION, watcher.ports, 0]
        for _ in range(random.randrange(1, 4)):
            shown = await watcher.read(Select.EVENTS, *range(6))
        stamp = int.from_bytes(bytes(shown[:3]), "big") >> 2 & 0x3FFFF
        begin = cycle - stamp if begin is None else begin
        assert (
            shown[0] >> 4 == kind and shown[2] & 3 == 0 and shown[3:] == [source, output, 0] and stamp == cycle - begin
        )
        # Neither without POP, nor while something else is selected, nor at another time than its pulse.
        await watcher.read(Select.EVENTS, 0, pop=1)
        await watcher.read(random.choice((1, Select.FLAGS)), POP, pop=1)
        await watcher.read(Select.EVENTS, POP | 4)
        assert await watcher.read(Select.EVENTS, *range(5)) == shown[:5]
        assert await watcher.read(Select.EVENTS, POP | 4, 0, pop=1) == [
            output,
            0
            if (cycle, kind, source, output) == told[-1]
            else told[told.index((cycle, kind, source, output)) + 1][1] << 4
            | (told[told.index((cycle, kind, source, output)) + 1][0] - begin) >> 14,
        ]
    assert await watcher.read(Select.EVENTS, *range(5)) == [0] * 5


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_ends_is_recorded_with_its_port(dut):
    """docs/monitor.md: CLOSED and UNLOCKED tell the output, TIMED_OUT the input; nothing is recorded behind STOP."""
    watcher = await recording(dut)
    for what in (Clear.STOP, Clear.RECORD):
        await watcher.cycle(clear=what)  # it is no command to clear
    near = {one ^ 1 << bit for one in (Clear.STOP, Clear.RECORD) for bit in range(8)} - {*Clear}
    for pin in ("closed", "unlocked", "expired"):
        for what in near:  # neither stops the record nor begins another
            await watcher.clear(what)
        for port in range(watcher.ports):
            await watcher.cycle(**{pin: 1 << port})
            for _ in range(3):
                await watcher.cycle()
    await watcher.clear(Clear.STOP)
    for _ in range(4):
        await watcher.cycle()
    await watcher.cycle(closed=2, decision=Event.OPENED << 14, decision_valid=1)
    await watcher.settle()
    for expected in (
        *((Event.CLOSED, 0, port) for port in range(watcher.ports)),
        *((Event.UNLOCKED, 0, port) for port in range(watcher.ports)),
        *((Event.TIMED_OUT, port, 0) for port in range(watcher.ports)),
        (Event.NOTHING, 0, 0),
    ):
        shown = await watcher.read(Select.EVENTS, 0, 3, 4)
        assert (shown[0] >> 4, *shown[1:]) == expected
        await watcher.read(Select.EVENTS, POP, pop=1)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_gap_in_the_record_is_shown(dut):
    """docs/monitor.md, "Record": LOST stands before the first event behind the gap, and when it was written, in
    between."""
    watcher = await recording(dut)
    for n in range(EVENT_DEPTH + 2):
        await watcher.cycle(decision=Event.REFUSED << 14 | n % 128, decision_valid=1)
    for _ in range(4):
        await watcher.cycle()
    pop = {"select": Select.EVENTS, "offset": POP, "pop": 1}
    for _ in range(2):
        await watcher.cycle(**pop)
    for _ in range(random.randrange(4, 12)):
        await watcher.cycle()
    await watcher.cycle(decision=Event.LOCKED << 14 | 5 << 7 | 6, decision_valid=1)
    for _ in range(4):
        await watcher.cycle()
    for _ in range(EVENT_DEPTH - 3):
        await watcher.cycle(**pop)
    shown = []
    for _ in range(3):
        await watcher.cycle()
        shown.append(await watcher.read(Select.EVENTS, *range(5)))
        await watcher.cycle(**pop)
    assert [(event[0] >> 4, *event[3:]) for event in shown] == [
        (Event.REFUSED, 0, (EVENT_DEPTH - 1) % 128),
        (Event.LOST, 0, 0),
        (Event.LOCKED, 5, 6),
    ]
    before, lost, behind = (int.from_bytes(bytes(event[:3]), "big") >> 2 & 0x3FFFF for event in shown)
    assert before < lost < behind < before + 32


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def flags_and_identity_are_shown(dut):
    """docs/monitor.md: the ports' state as it is when asked; version, ports, latencies and watchdog; 0 for all that
    there is not."""
    watcher = Watcher(dut)
    for _ in range(10):
        flags = [random.getrandbits(6) for _ in range(watcher.ports)]
        watchdog = random.randrange(32)
        levels = {f"flags__{n}": value for n, value in enumerate(flags)}
        if not watcher.levels:
            await watcher.start(**levels, watchdog_log=watchdog)
        watcher.levels = {**levels, "watchdog_log": watchdog}
        await watcher.cycle()
        assert await watcher.read(Select.FLAGS, *range(256)) == flags + [0] * (256 - watcher.ports)
        identity = [VERSION, watcher.ports, PROTOTYPE.transfer, PROTOTYPE.setup_and_transfer, watchdog]
        assert await watcher.read(Select.IDENTITY, *range(256)) == identity + [0] * 251
        near = {select ^ 1 << bit for select in (Select.FLAGS, Select.IDENTITY) for bit in range(8)} - {
            *range(watcher.ports),
            *Select,
        }
        for select in (watcher.ports, 127, 255, *random.sample(sorted(near), 4)):
            assert not any(await watcher.read(select, *range(256)))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def flags_are_those_of_the_cycle_of_the_question(dut):
    """docs/monitor.md: the ports' state as it is when asked, though it changes in every cycle."""
    watcher = Watcher(dut)
    await watcher.start()
    asked = []
    for _ in range(300):
        flags, offset = [random.getrandbits(6) for _ in range(watcher.ports)], random.randrange(watcher.ports)
        asked.append(flags[offset])
        shown = await watcher.cycle(
            select=Select.FLAGS, offset=offset, **{f"flags__{n}": value for n, value in enumerate(flags)}
        )
        assert len(asked) <= LATENCY or shown == asked[-1 - LATENCY]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_counter_shows_all_its_bits(dut):
    """docs/monitor.md: 16 bits, 65535 in the end; that takes so long that only small HUBs have it."""
    watcher = Watcher(dut)
    await watcher.start()
    if watcher.ports > 3:
        return
    await watcher.lockstep.rest(220_000, {"events__1": 1 << CounterId.PACKETS, "awake": 1})
    await watcher.settle()
    assert await watcher.read(1, *range(32)) == [
        255 * (kind == CounterId.PACKETS) for kind in CounterId for _ in range(2)
    ]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_of_one_cycle_ends_the_record(dut):
    """docs/hub.md, "Reset hub": afterwards nothing is recorded, and all counters are 0, whatever was under way."""
    watcher = Watcher(dut)
    await watcher.start()
    for wait in range(6):
        await watcher.settle()
        await watcher.cycle(events__0=0xFFFF)
        await watcher.clear(Clear.RECORD)
        for _ in range(wait):
            await watcher.cycle(decision=Event.OPENED << 14, decision_valid=1)
        await watcher.lockstep.reset({"clear": Clear.RECORD, "clear_valid": 1, "events__0": 0xFFFF})
        await watcher.settle()
        assert not any(await watcher.read(0, *range(32))) and not any(await watcher.read(Select.EVENTS, *range(5)))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def clearing_what_there_is_not_does_nothing(dut):
    """docs/monitor.md: no port beyond the last is cleared, and none in its stead."""
    watcher = Watcher(dut)
    await watcher.start()
    await watcher.cycle(**{f"events__{n}": 0xFFFF for n in range(watcher.ports)})
    await watcher.settle()
    for what in (watcher.ports, watcher.ports + 16, 127, 130, 255):
        await watcher.clear(what)
    await watcher.cycle(clear=1)
    await watcher.settle()
    for n in range(watcher.ports):
        assert await watcher.read(n, *range(32)) == [0, 1] * 16
    for n in range(watcher.ports):  # what is cleared is under way from the next cycle on
        await watcher.lockstep.step(watcher.levels, {"active": 0})
        await watcher.clear(n)
        await watcher.lockstep.step(watcher.levels, {"active": 1})
        await watcher.settle()
    for order in ([*range(watcher.ports)], [*reversed(range(watcher.ports))]):
        for n in order:
            await watcher.clear(n)
        await watcher.cycle()
        await watcher.cycle(**{f"events__{n}": 0xFFFF for n in range(watcher.ports)})
        await watcher.settle()
        for place, cleared in enumerate(order):
            await watcher.clear(cleared)
            await watcher.settle()
            for n in order:
                assert await watcher.read(n, *range(32)) == ([0, 1] if n in order[place + 1 :] else [0, 0]) * 16


bench = Bench(
    __name__, {name: lambda ports=ports: Monitor(ports, PROTOTYPE) for name, ports in PORTS.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("16 ports",)))
def test_monitor(configuration, claim):
    bench.check(configuration, claim)


def test_parameters():
    """H1: a HUB has 2 to 128 ports; a profile is a HubProfile."""
    for ports in (1, 129):
        with pytest.raises(ValueError, match="2 to 128 ports"):
            Monitor(ports, PROTOTYPE)
    with pytest.raises(TypeError, match="must be an int"):
        Monitor("4", PROTOTYPE)
    with pytest.raises(TypeError, match="must be a HubProfile"):
        Monitor(4, "prototype")

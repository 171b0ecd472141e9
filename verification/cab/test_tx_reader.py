"""Bench of hdl/cab/tx_reader.py: what each entry becomes, and how often it reads the memory."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.cab.tx_reader import Entry, EntryKind, Item, TxReader
from nectar.hdl.link.symbol import SYMBOL_BITS, Control
from nectar.verification.bench import Bench
from nectar.verification.cab.structures import pack, unpack
from nectar.verification.harness import StepClock, StreamSink, StreamSource

SIZE = 4 << 10
ROOM = 4


def random_entry():
    """An entry as the registers make them."""
    kind = random.choice([EntryKind.COMMAND, EntryKind.SYMBOL, EntryKind.AREA, EntryKind.AREA, EntryKind.AREA])
    flags = {name: random.getrandbits(1) for name in ("start", "crc", "internet", "end", "notify")}
    if kind == EntryKind.COMMAND:
        return {
            "kind": kind.value,
            # Its last bits may look like an idle symbol, which a command sends all the same.
            "value": random.choice([random.getrandbits(24), random.getrandbits(15) << SYMBOL_BITS | Control.IDLE]),
            "notify": flags["notify"],
            "wait_ready": random.getrandbits(1),
        }
    if kind == EntryKind.SYMBOL:
        return {
            "kind": kind.value,
            "value": random.choice([random.getrandbits(9), int(Control.IDLE), int(Control.START)]),
        }
    length = random.choice([0, 1, 2, 3, 4, 5, 8, random.randrange(40)])
    address = random.choice([random.randrange(SIZE - 40), SIZE - length]) % SIZE
    return {"kind": kind.value, "value": length, "bytes": length > 0, "address": address, **flags}


def meaning(entry, memory):
    """What an entry must put on the fiber, part by part, as docs/cab.md says."""
    notify = [("notify",)] if entry.get("notify") else []
    if entry["kind"] == EntryKind.COMMAND.value:
        wait = [("wait",)] if entry["wait_ready"] else []
        bytes_ = [("command", byte) for byte in entry["value"].to_bytes(3, "big")]
        return [*wait, ("command", int(Control.COMMAND)), *bytes_, *notify]
    if entry["kind"] == EntryKind.SYMBOL.value:
        return [("symbol", entry["value"])] if entry["value"] != Control.IDLE else []
    area = memory[entry["address"] : entry["address"] + entry["value"]]
    return [
        *([("symbol", int(Control.START))] if entry["start"] else []),
        *(("symbol", byte) for byte in area),
        *([("crc", entry["internet"])] if entry["crc"] else []),
        *([("end",)] if entry["end"] else []),
        *notify,
    ]


def parts(item):
    """The same of an item."""
    kind = "command" if item["command"] else "symbol"
    word = item["word"].to_bytes(4, "big")
    return [
        *([("wait",)] if item["wait_ready"] else []),
        *([(kind, item["symbol"])] if item["prefix"] else []),
        *((kind, byte) for byte in (word[item["first"] : item["last"] + 1] if item["lanes"] else b"")),
        *([("crc", item["internet"])] if item["crc"] else []),
        *([("end",)] if item["end"] else []),
        *([("notify",)] if item["notify"] else []),
    ]


class Surroundings:
    """The list before it, room for some items behind it, the memory beside it."""

    def __init__(self, dut, memory):
        self.clock = StepClock(dut)
        self.memory = memory
        self.items = deque()
        self.out, self.expected = [], []  # parts that have come of items, and those that must
        self.reads = []  # cycles
        self.busy = False  # after the last cycle
        self._word = None
        self._taker = StreamSink(
            self.clock,
            "items",
            pause=lambda: len(self.items) >= ROOM,
            counts=lambda item: parts(unpack(Item, item)),
        )
        self._entries = StreamSource(self.clock, "entries", fill=lambda: random.getrandbits(20))

    def give(self, entries):
        """Appends entries to the list."""
        self._entries.send(pack(Entry, **entry) for entry in entries)

    async def start(self):
        """Resets."""
        await self.clock.start("entries__valid", "entries__payload", "items__ready", "memory__ready", "memory_data")

    async def cycle(self, grant, drain):
        """One cycle; the memory may be ready, an item may leave."""
        clock, pin = self.clock, self.clock.pin
        self._entries.drive()
        self._taker.drive()
        clock.drive(
            memory__ready=grant,
            memory_data=random.getrandbits(32) if self._word is None else self._word,
        )
        await clock.settle()
        self._word = None
        self._entries.sample()
        self._taker.sample()
        self.items.extend(unpack(Item, item) for item in self._taker.items)
        self._taker.items.clear()
        if pin("memory__valid") and grant:
            at = 4 * pin("memory__address")
            self._word = int.from_bytes(self.memory[at : at + 4], "big")
            self.reads.append(clock.cycles)
        if self.items and drain:
            made = parts(self.items.popleft())
            assert made == self.expected[len(self.out) :][: len(made)]
            self.out += made
        await clock.edge()
        self.busy = bool(not self._entries.idle or self.items or pin("busy"))

    async def finish(self, grant, drain):
        """Goes on, with these probabilities, until everything is done; returns the number of cycles."""
        began = self.clock.cycles
        while self.busy:
            await self.cycle(random.random() < grant, random.random() < drain)
        return self.clock.cycles - began


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def entries_become_what_the_specification_says(dut):
    """docs/cab.md, fiber out: areas at any byte and of any length, the flags at the right ends; each word is read
    once."""
    memory = random.randbytes(SIZE)
    around = Surroundings(dut, memory)
    await around.start()
    for grant, drain in ((1, 1), (0.5, 1), (1, 0.2), (0.3, 0.3)):
        entries = [random_entry() for _ in range(300)]
        around.give(entries)
        around.out.clear(), around.reads.clear()
        around.expected = [part for entry in entries for part in meaning(entry, memory)]
        around.busy = True
        await around.finish(grant, drain)
        assert around.out == around.expected
        areas = [entry for entry in entries if entry["kind"] == EntryKind.AREA.value and entry["value"]]
        assert len(around.reads) == sum((e["address"] + e["value"] - 1) // 4 - e["address"] // 4 + 1 for e in areas)
        assert all(b - a >= 2 for a, b in zip(around.reads, around.reads[1:])), (
            "the memory is asked in two cycles in a row"
        )


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def an_area_may_be_the_whole_memory(dut):
    """docs/cab.md, fiber out: any length; no byte too many or too few."""
    memory = random.randbytes(SIZE)
    around = Surroundings(dut, memory)
    await around.start()
    for address, length in (
        (0, SIZE),
        (3, SIZE - 3),
        *((random.randrange(9), random.randrange(least, 2 * least - 9)) for least in (256, 512, 1024, 2048)),
    ):
        entry = {
            "kind": EntryKind.AREA.value,
            "value": length,
            "bytes": 1,
            "address": address,
            "start": 0,
            "crc": 0,
            "end": 1,
        }
        around.give([entry])
        around.out, around.expected, around.busy = [], meaning(entry, memory), True
        await around.finish(0.9, 0.9)
        assert around.out == around.expected


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def a_long_area_takes_two_cycles_a_word(dut):
    """C1: twice the rate that the fiber needs."""
    around = Surroundings(dut, bytes(SIZE))
    await around.start()
    around.give([{"kind": EntryKind.AREA.value, "value": 400, "bytes": 1, "address": 0}])
    around.expected = [("symbol", 0)] * 400
    around.busy = True
    cycles = await around.finish(1, 1)
    assert len(around.out) == 400 and cycles <= 200 + 3


bench = Bench(__name__, {"reader": lambda: TxReader(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_tx_reader(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)

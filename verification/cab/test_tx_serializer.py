"""Bench of hdl/cab/tx_serializer.py: what each item puts on the fiber, with CRC, waits, ready signals and resets."""

import random
import zlib
from collections import deque

import cocotb
import pytest

from nectar.hdl.cab.output import Outgoing
from nectar.hdl.cab.tx_reader import Item
from nectar.hdl.cab.tx_serializer import READY_LIMIT, TxSerializer
from nectar.hdl.link.symbol import Control, is_control
from nectar.verification.bench import Bench
from nectar.verification.cab.reference_fiber import internet_checksum
from nectar.verification.cab.structures import pack, unpack
from nectar.verification.harness import StepClock

START, END, READY = int(Control.START), int(Control.END), int(Control.READY)


class Reference:
    """Symbols of items, in order."""

    def __init__(self):
        self.covered = b""
        self.packet_open = False

    def _symbol(self, symbol, is_command=False):
        if symbol == START:
            self.covered, self.packet_open = b"", True
        elif symbol == END:
            self.packet_open = False
        elif not is_control(symbol) and not is_command:
            self.covered += bytes([symbol])
        return symbol

    def symbols(self, item):
        """What an item (dict) puts on the fiber, one by one, as the CRC depends on what has left."""
        is_command = item.get("command")
        if item.get("prefix"):
            yield self._symbol(item["symbol"], is_command)
        if item.get("lanes"):
            for byte in item["word"].to_bytes(4, "big")[item["first"] : item["last"] + 1]:
                yield self._symbol(byte, is_command)
        if item.get("crc"):
            internet = item.get("internet")
            for byte in (
                internet_checksum(self.covered).to_bytes(2, "big")
                if internet
                else zlib.crc32(self.covered).to_bytes(4, "big")
            ):
                yield self._symbol(byte)
        if item.get("end"):
            yield self._symbol(END)


def command_item(wait=0, notify=0):
    """A command's item."""
    return {
        "wait_ready": wait,
        "prefix": 1,
        "symbol": int(Control.COMMAND),
        "lanes": 1,
        "word": random.getrandbits(24),
        "first": 1,
        "last": 3,
        "notify": notify,
        "command": 1,
    }


def random_item():
    """An item as ``Gather`` makes them."""
    kind = random.random()
    flags = {name: random.getrandbits(1) for name in ("crc", "internet", "end", "notify")}
    if kind < 0.2:
        return command_item(random.getrandbits(1), random.getrandbits(1))
    if kind < 0.3:
        return {"prefix": 1, "symbol": random.choice([START, END, READY, random.getrandbits(8), 0x1FF])}
    if kind < 0.4:
        return {"prefix": random.getrandbits(1), "symbol": START, **flags}
    if kind < 0.45:
        return {"notify": 1}
    first = random.randrange(4)
    return {
        "prefix": random.random() < 0.2,
        "symbol": START,
        "lanes": 1,
        "word": random.getrandbits(32),
        "first": first,
        "last": random.randrange(first, 4),
        **(flags if random.random() < 0.4 else {}),
    }


class Surroundings:
    """Items before it, the output register behind it."""

    def __init__(self, dut):
        self.clock = StepClock(dut)
        self.items = deque()
        self.out = []  # (cycle, symbol, notify)
        self.empties = 0  # notices of items without symbols
        self.ready = 1
        self.busy = False

    async def start(self):
        """Resets."""
        await self.clock.start("items__valid", "items__payload", "room", "empty", "ready", "send_ready", "reset")

    def pin(self, name):
        """A pin's value."""
        return self.clock.pin(name)

    async def cycle(self, room=1, empty=1, send_ready=0, reset=0, offer=1):
        """One cycle."""
        offered = bool(self.items) and offer
        payload = pack(Item, **self.items[0]) if offered else random.getrandbits(51)
        self.clock.drive(
            items__valid=offered,
            items__payload=payload,
            room=room,
            empty=empty,
            ready=self.ready,
            send_ready=send_ready,
            reset=reset,
        )
        await self.clock.settle()
        assert not (self.pin("push__valid") and reset)
        if self.pin("push__valid") and room:
            outgoing = unpack(Outgoing, self.pin("push__payload"))
            assert outgoing["start"] == (outgoing["symbol"] == START)
            self.out.append((self.clock.cycles, outgoing["symbol"], outgoing["notify"]))
        if self.pin("nothing_left"):
            assert empty, "told before all before it had left"
            self.empties += 1
        if offered and self.pin("items__ready"):
            assert not reset
            self.items.popleft()
        await self.clock.edge()
        self.busy = bool(self.items or self.pin("busy") or self.pin("unsent"))

    def symbols(self):
        """What has been sent, ready signals that were asked for included."""
        return [symbol for _, symbol, _ in self.out]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def items_become_symbols_in_order(dut):
    """docs/cab.md, fiber out: parts of an item in order, CRC over the packet's bytes, notices at the last symbol."""
    around, reference, covered = Surroundings(dut), Reference(), 0
    await around.start()
    for room, offer in ((1, 1), (0.5, 1), (1, 0.3), (0.4, 0.5)):
        items = [random_item() for _ in range(300)]
        expected, empties = [], 0  # (symbol, notify, bytes of the packet so far)
        for item in items:
            symbols = [(symbol, 0, len(reference.covered) & 0xFFFFF) for symbol in reference.symbols(item)]
            expected += symbols
            if item.get("notify"):
                if symbols:
                    expected[-1] = symbols[-1][0], 1, symbols[-1][2]
                else:
                    empties += 1
        around.items.extend(items)
        around.out.clear()
        around.empties, around.busy, limit, progress = 0, True, around.clock.cycles + 30_000, around.pin("progress")
        assert progress == covered
        while around.busy:
            assert around.clock.cycles < limit
            around.ready = random.random() < 0.3
            done = len(around.out)
            await around.cycle(room=random.random() < room, empty=random.random() < 0.5, offer=random.random() < offer)
            for (_, symbol, notify), due in zip(around.out[done:], expected[done:], strict=False):
                assert (symbol, notify) == due[:2]
                progress = due[2]
            assert around.pin("progress") == progress
        assert len(around.out) == len(expected)
        assert around.empties == empties > 0
        covered = len(reference.covered) & 0xFFFFF


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_stream_of_items_has_no_gaps(dut):
    """C1: a symbol in every cycle, also from one item to the next and through the CRC."""
    around = Surroundings(dut)
    await around.start()
    words = [{"lanes": 1, "word": random.getrandbits(32), "last": random.randrange(4)} for _ in range(200)]
    words[0] |= {"prefix": 1, "symbol": START}
    words[-1] |= {"crc": 1, "end": 1}
    around.items.extend([command_item(), *words, command_item()])
    around.busy = True
    while around.busy:
        await around.cycle()
    cycles = [cycle for cycle, _, _ in around.out]
    assert cycles == list(range(cycles[0], cycles[0] + len(cycles))) and cycles[0] <= 2


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_command_waits_for_the_ready_bit_and_all_behind_it(dut):
    """docs/cab.md, fiber out: a command with wait_ready holds the list until the ready bit is 1; once begun it does
    not stop."""
    around = Surroundings(dut)
    await around.start()
    for _ in range(20):
        around.ready = 0
        around.items.extend([command_item(wait=1), {"prefix": 1, "symbol": 0x55}])
        around.out.clear()
        for _ in range(random.randrange(5, 20)):
            await around.cycle()
            assert not around.out and around.pin("waiting")
        around.ready = 1
        await around.cycle()
        around.ready = 0
        for _ in range(8):
            await around.cycle()
        assert around.symbols()[0] == Control.COMMAND and around.symbols()[-1] == 0x55 and len(around.out) == 5


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def ready_signals_go_between_any_two_symbols(dut):
    """docs/cab.md, fiber out: TX_READY; as many as asked for, up to 255 wait; nothing else is disturbed, the CRC
    neither."""
    around, reference = Surroundings(dut), Reference()
    await around.start()
    items = [item for item in (random_item() for _ in range(400)) if item.get("symbol") != READY]
    around.items.extend(items)
    asked = 0
    around.busy, inserted = True, set()
    while around.busy:
        send = random.random() < 0.3 and bool(around.items)
        asked += send
        await around.cycle(room=random.random() < 0.8, send_ready=send)
    symbols = around.symbols()
    assert symbols.count(READY) == asked > 200
    assert not any(notify for _, symbol, notify in around.out if symbol == READY)
    expected = [symbol for item in items for symbol in reference.symbols(item)]
    assert [symbol for symbol in symbols if symbol != READY] == expected
    for before, symbol in zip(symbols, symbols[1:]):
        inserted |= {before} if symbol == READY else set()
    assert {int(Control.COMMAND), START} & inserted and len(inserted) > 20, (
        "between the symbols of commands and of packets too"
    )
    for asked in (READY_LIMIT + 20, READY_LIMIT, 100, random.randrange(READY_LIMIT)):
        around.out.clear()
        for _ in range(asked):
            await around.cycle(room=0, send_ready=1)
        around.busy = True
        while around.busy:
            await around.cycle()
        assert around.symbols() == [READY] * min(asked, READY_LIMIT)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def a_reset_leaves_neither_half_a_command_nor_an_open_packet(dut):
    """docs/cab.md, TX_CONTROL.reset: a command that has begun is completed, a packet that is open ended, all else
    forgotten."""
    around = Surroundings(dut)
    await around.start()
    seen = {"command": 0, "packet": 0, "both": 0, "nothing": 0, "waiting": 0}
    for _ in range(600):
        around.items.extend(random_item() for _ in range(random.randrange(12)))
        if random.random() < 0.2:
            around.items.append(command_item(wait=1))
        around.out.clear()
        around.ready = random.random() < 0.7
        for _ in range(random.randrange(40)):
            await around.cycle(room=random.random() < 0.8)
        before = around.symbols()
        waiting = around.pin("waiting")
        await around.cycle(room=random.random() < 0.8, reset=1, offer=random.random() < 0.5)
        around.items.clear()
        around.out, told = [], around.empties
        for _ in range(random.choice([0, 0, 1, 2])):  # once more, perhaps before the first is done
            for _ in range(random.randrange(4)):
                await around.cycle(room=random.random() < 0.5)
            await around.cycle(room=random.random() < 0.8, reset=1)
        around.busy = True
        while around.busy:
            await around.cycle(room=random.random() < 0.5)
        after = around.symbols()
        # How many bytes a command at the end of what was sent still lacks.
        bytes_since = next((at for at, symbol in enumerate(reversed(before)) if is_control(symbol)), len(before))
        cut = before[-1 - bytes_since :][:1] == [Control.COMMAND] and bytes_since < 3
        lacks = 3 - bytes_since if cut else 0
        is_open = next((symbol == START for symbol in reversed(before) if symbol in (START, END)), False)
        assert len(after) == lacks + is_open and not any(map(is_control, after[:lacks])), (before, after)
        assert after[lacks:] == [END] * is_open
        assert not any(notify for _, _, notify in around.out) and around.empties == told
        seen["both" if lacks and is_open else "command" if lacks else "packet" if is_open else "nothing"] += 1
        seen["waiting"] += waiting
    assert min(seen.values()) > 5, seen


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def progress_counts_the_bytes_of_a_long_packet(dut):
    """docs/cab.md, TX_PROGRESS: data bytes since the last start of packet; the count stands while nothing leaves."""
    around, sent = Surroundings(dut), 0
    await around.start()
    around.items.append({"prefix": 1, "symbol": START})
    around.busy = True
    while around.busy:
        await around.cycle()
    around.clock.drive(items__valid=1, items__payload=pack(Item, lanes=1, last=3))
    await around.clock.settle()
    await around.clock.edge()
    for bits in range(4, 19):
        length = random.randrange(1 << bits, 2 << bits)
        # A byte of the same item in each cycle.
        around.clock.drive(room=1)
        await around.clock.run(length)
        sent += length
        around.clock.drive(room=0)
        for _ in range(3):
            await around.clock.settle()
            assert around.pin("progress") == sent & 0xFFFFF and not around.pin("counts")
            await around.clock.edge()


bench = Bench(__name__, {"serializer": TxSerializer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("progress_counts_the_bytes_of_a_long_packet",)))
def test_tx_serializer(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)

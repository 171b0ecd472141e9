"""Bench of hdl/host/deframer.py: frames among noise, damaged ones, too long ones, and such as come when the buffer
is in use."""

import random

import cocotb
import pytest

from nectar.hdl.host.deframer import Deframer
from nectar.hdl.host.numbers import ESCAPE, FLAG, FRAME_WORDS
from nectar.software.backends.cable.words import Deframer as Reference
from nectar.software.backends.cable.words import frame
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock


class Reader:
    """Hands bytes to the deframer and keeps its buffer."""

    def __init__(self, dut):
        self.clock = StepClock(dut)
        self.buffer = {}
        self.frames = []
        self.hold = 0
        self.held = None  # the length, while the buffer is in use

    async def start(self):
        await self.clock.start("data", "valid", "hold", "wrong")

    async def cycle(self, **pins):
        clock = self.clock
        clock.drive(**{"valid": 0, "wrong": 0, "hold": self.hold, **pins})
        await clock.settle()
        length = clock.pin("length")
        assert not self.hold or self.held in (None, length), "the length of a frame that is in use has changed"
        self.held = length if self.hold else None
        if clock.pin("write"):
            assert not self.hold, "it writes into a buffer that is in use"
            self.buffer[clock.pin("address")] = clock.pin("word")
        if clock.pin("frame"):
            self.frames.append([self.buffer[n] for n in range(clock.pin("length") - 1)])
        await clock.edge()

    async def take(self, data, pauses=0.0):
        for byte in data:
            await self.cycle(valid=1, data=byte)
            while random.random() < pauses:
                await self.cycle(data=random.getrandbits(8))
        await self.cycle()
        await self.cycle()


def _words(most=12):
    return [random.choice((0x7E7D7E7D, 0x5E5D7D20, random.getrandbits(32))) for _ in range(random.randint(1, most))]


def _damaged(data):
    """``data`` with something that happens on a line."""
    at = random.randrange(len(data))
    kind = random.randrange(4)
    if kind == 0:
        return data[:at] + data[at + 1 :]  # a byte lost
    if kind == 1:
        return data[: at + 1] + data[at : at + 1] + data[at + 1 :]  # doubled
    if kind == 2:
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
    return data[:at] + random.choice((b"\x7e", b"\x7d", random.randbytes(3))) + data[at:]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_is_whole_is_found_and_nothing_else(dut):
    """docs/cable.md: whole frames are delivered, others are not, whatever noise is between them; as the host's own
    deframer has it."""
    reader, reference = Reader(dut), Reference()
    await reader.start()
    # Before the first flag the board keeps nothing, and the host lets the checksum decide.
    assert reference.take(bytes([FLAG])) == []
    await reader.take([FLAG])
    whole = 0
    for _ in range(150):
        data = frame(_words())
        kind = random.randrange(4)
        if kind == 0:
            data = _damaged(data)
        elif kind == 1:
            data = random.randbytes(random.randrange(20)) + data
        elif kind == 2:
            data = data[:-1]  # the next one's flag ends it
        whole += kind == 3
        before = len(reader.frames)
        await reader.take(data, random.choice((0, 0.5)))
        assert reader.frames[before:] == reference.take(data)
    assert len(reader.frames) >= whole > 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_that_can_be_no_request_are_left_out(dut):
    """docs/cable.md: empty ones, a checksum alone, half words, an escape before the flag or before an escape, more
    words than the buffer has."""
    reader = Reader(dut)
    await reader.start()
    longest = [random.getrandbits(32) for _ in range(FRAME_WORDS - 1)]
    await reader.take(
        bytes([FLAG]) * 5
        + frame([])
        + frame([1])[:-1]
        + bytes([ESCAPE, FLAG])
        + frame([*longest, 7])
        + frame([2])[:3]
        + bytes([ESCAPE])
        + bytes([ESCAPE])
        + frame([2])[3:]
    )
    assert reader.frames == []
    import zlib

    for odd in (b"\1\2\3", b"\1\2\3\4\5"):
        await reader.take(b"\x7e" + odd + zlib.crc32(odd).to_bytes(4, "little") + b"\x7e")
    assert reader.frames == []
    await reader.take(frame(longest))
    await reader.take(frame([3]))
    assert reader.frames == [longest, [3]]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_length_is_told(dut):
    """docs/cable.md: a request has at most 512 words with its checksum; each bit of the number counts."""
    reader = Reader(dut)
    await reader.start()
    lengths = [
        *(1 << n for n in range(9)),
        *((1 << n) - 1 for n in range(1, 10)),
        *(random.randrange(1, FRAME_WORDS) for _ in range(5)),
    ]
    for length in lengths:
        words = [random.getrandbits(32) for _ in range(length)]
        await reader.take(frame(words))
        assert reader.frames.pop() == words and not reader.frames


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def nothing_moves_while_the_buffer_is_in_use(dut):
    """docs/cable.md: a frame of which any part comes meanwhile is lost, as is one in which the line has lost a byte;
    the next is found."""
    reader = Reader(dut)
    await reader.start()
    for _ in range(150):
        data = frame(_words())
        begin = random.randrange(len(data))
        end = random.randint(begin + 1, len(data))
        if random.random() < 0.2:
            begin, end = len(data) - 1, len(data)  # the flag that ends it, and nothing else
        before = len(reader.frames)
        await reader.take(data[:begin])
        if random.random() < 0.5:
            reader.hold = 1
            await reader.take(data[begin:end])
            reader.hold = 0
        else:
            await reader.cycle(wrong=1)
        await reader.take(data[end:])
        words = _words()
        await reader.take(frame(words))
        assert reader.frames[before:] == [words]
        reader.frames.clear()


bench = Bench(__name__, {"deframer": Deframer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_deframer(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)

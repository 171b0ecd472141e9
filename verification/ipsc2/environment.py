"""The bench of a node's board as the neighbours on its channels, and as its CPU.

A neighbour is written from docs/ipsc2.md, "Formats": it sends nibbles and frames, and finds the frames that come. The
probe that it gets is the source's, which has 16 bits.
"""

import random
from collections import deque

from ...hdl.ipsc2.formats import DATA_START, NIBBLE_PAIRS, NIBBLE_START, WORD_PAIRS, nibble
from ...hdl.ipsc2.node.registers import REG
from ..harness import StepClock

__all__ = ["CHANNELS", "Environment", "Neighbour", "checksum", "halves", "message"]

CHANNELS = 0, 1, 7
PINS = "valid", "address", "write", "select", "write_data"


def checksum(probe, halves):
    """docs/ipsc2-node.md, "Checksum": the remainder of the polynomial division, bit by bit as they are sent."""
    rest = 0xFFFF
    for value in (probe, *halves):
        for place in range(16):
            top = rest >> 15 ^ value >> place & 1
            rest = rest << 1 & 0xFFFF ^ (0x1021 if top else 0)
    return int(f"{rest:016b}"[::-1], 2)


class Neighbour:
    """The other end of a channel. ``ready``: the RDY that it sends; ``frames``: (probe or data, EOM) that came."""

    def __init__(self):
        self.ready = 0
        self.sends = deque()  # functions that give the pairs of a frame, when it begins
        self.pairs = deque()
        self.frame = []
        self.frames = []
        self.nibbles = []  # their RDY
        self.in_message = False
        self.skipped = 0  # pairs that begin no frame

    def take(self, strobe, data):
        """What comes in this tick."""
        if strobe:
            self.frame.append(data)
            if len(self.frame) == 1 and data not in (NIBBLE_START, DATA_START):
                self.skipped += 1
                self.frame = []
        if self.frame and strobe:
            length = NIBBLE_PAIRS if self.frame[0] == NIBBLE_START else WORD_PAIRS
            if len(self.frame) == length:
                self._whole(*self.frame)
                self.frame = []

    def give(self):
        """The next pair that is sent."""
        if not self.pairs:
            self.pairs = deque(self.sends.popleft()() if self.sends else nibble(self.ready))
        return self.pairs.popleft()

    def _whole(self, start, marks, *data):
        if start == NIBBLE_START:
            self.nibbles.append(marks & 1)
            return
        value = sum(pair << 2 * place for place, pair in enumerate(data))
        self.frames.append((value, marks >> 1 & self.in_message))
        self.in_message = not self.frames[-1][1]
        self.ready = int(self.in_message)


class Environment:
    """The board: its CPU bus, and the neighbours in each tick. ``ticks``: whether the lines move; ``pause``: share of
    ticks in which a neighbour's strobe stops. No line of docs/ipsc2.md does that; a nibble begins then behind the RDY
    that comes back, before the first word."""

    def __init__(self, dut, pause=0.0):
        self.clock = StepClock(dut)
        self.neighbours = {n: Neighbour() for n in CHANNELS}
        self.neighbour = self.neighbours[0]
        self.ticks, self.pause = True, pause
        self.cycle = 0

    async def start(self):
        """Reset."""
        inputs = (f"channel_{n}__rx__{name}" for n in CHANNELS for name in ("data", "strobe"))
        await self.clock.start(*(f"bus__{pin}" for pin in PINS), *inputs, "tick", "slept")

    async def step(self):
        """A cycle; 7 of 8 have a tick."""
        self.cycle += 1
        tick = self.ticks and self.cycle % 8 != 7
        self.clock.drive(tick=int(tick))
        await self.clock.settle()
        if tick:
            for n, neighbour in self.neighbours.items():
                strobe, data = (self.clock.pin(f"channel_{n}__tx__{name}") for name in ("strobe", "data"))
                neighbour.take(strobe, data)
                gives = random.random() >= self.pause
                pair = neighbour.give() if gives else random.getrandbits(2)
                self.clock.drive(**{f"channel_{n}__rx__strobe": gives, f"channel_{n}__rx__data": pair})
            await self.clock.settle()
        await self.clock.edge()

    async def access(self, address, write=0, data=0, select=15, error=0):
        """An access; what was read."""
        values = {"valid": 1, "address": address, "write": write, "select": select, "write_data": data}
        self.clock.drive(**{f"bus__{pin}": value for pin, value in values.items()})
        for _ in range(40):
            await self.clock.settle()
            taken = self.clock.pin("bus__ready")
            await self.step()
            if taken:
                break
        assert taken, "the access is not taken"
        self.clock.drive(bus__valid=0)
        for _ in range(8):
            await self.clock.settle()
            done, value, failed = (self.clock.pin(f"bus__{pin}") for pin in ("done", "read_data", "error"))
            await self.step()
            if done:
                assert failed == error, f"{address:#x}"
                return value
            assert not value and not failed
        raise AssertionError("the access is not done")

    async def write(self, name, value):
        """A register."""
        await self.access(REG[name].address, 1, value)

    async def until(self, pin, value, limit=3000):
        """Steps until a pin has a value."""
        for _ in range(limit):
            await self.clock.settle()
            if self.clock.pin(pin) == value:
                return
            await self.step()
        raise AssertionError(f"{pin} does not become {value}")

    async def send(self, words):
        """A message from memory."""
        for place, value in enumerate(words):
            await self.access(0x100 + 4 * place, 1, value)
        await self.write("OUT_ADDRESS", 0x100)
        await self.write("OUT_AREA", len(words) | 1 << 31)


def message(count, probe=1):
    """Words with a probe, that for the neighbour on channel 0."""
    return [random.getrandbits(16) << 16 | probe, *(random.getrandbits(32) for _ in range(count - 1))]


def halves(words):
    """The data words of a message of words of 32 bits."""
    return [half for value in words for half in (value & 0xFFFF, value >> 16)][1:]

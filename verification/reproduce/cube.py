"""The iPSC/2's own figures, measured on nodes and routers of the RTL in the engine.

Terms: docs/ipsc2.md and docs/ipsc2-node.md. A byte is in memory at both ends: software of the nodes does no more than
to name areas and to look at what the node tells.
"""

import asyncio
from functools import cache
from itertools import groupby

from ...hdl.ipsc2.formats import PAIR_BITS, nibble, short_probe, word
from ...hdl.ipsc2.node.node import FIFO_WORDS
from ...hdl.ipsc2.node.registers import REG, Irq
from ...sim.machines import machine
from ...software.backends.engine.machine import EngineMachine
from ...software.machine import QUIET, STOPPED
from .facts import Found

__all__ = ["burst", "hop", "nibble_bits", "nodes", "probe_bits", "rate", "transit", "turns", "word_bits"]

_MACHINE = "ipsc2"
WORD_BYTES = 4
_SEND, _HEAD = 0x1000, 0x40000
#: Words of the messages whose times are compared.
_SHORT, _LONG = 1000, 9000
#: Cycles after which the words are counted that DMA has brought.
_EARLY, _LATE = 60, 180
#: Pauses in cycles before a message; the places of the status nibbles have a period of two ticks, and 8 cycles have 7.
_PAUSES = range(16)
#: Words of each message, and messages of each of the nodes, that want the same channel.
_TURN_WORDS, _TURNS = 20, 12


class _Node:
    """A node that takes one message, or sends ``words`` words to the node at ``probe`` from its own address.

    ``at``: the cycle in which it has taken its message. ``pause``: cycles before it begins. ``count_after``: cycles
    behind the start of DMA after which it counts the words in the FIFO, ``counted``. ``hears``: the sender
    looks at SENT, and ``at`` is its cycle.
    """

    def __init__(self, door, words=0, probe=0, pause=0, count_after=None, hears=False):
        self.door, self.words, self.probe = door, words, probe
        self.pause, self.count_after, self.hears = pause, count_after, hears
        self.at = self.counted = None

    def write(self, name, value):
        """A register."""
        self.door.write(REG[name].address, value)

    async def told(self):
        """The interrupt of a message that has arrived."""
        self.at = await self.door.now()
        self.write("IRQ_ENABLE", 0)

    async def main(self):
        """To the end of the message."""
        if not self.words:
            self.door.attach(self.told)
            self.write("IN_HEAD_ADDRESS", _HEAD)
            self.write("IN_HEAD", _LONG)
            self.write("IRQ_ENABLE", 1 << Irq.ARRIVED)
            while self.at is None:
                await self.door.wait()
            return
        self.door.spend(self.pause)
        if self.hears:
            self.door.attach(self.told)
            self.write("IRQ_ENABLE", 1 << Irq.SENT)
        self.door.write(_SEND, self.probe, WORD_BYTES)
        self.write("OUT_ADDRESS", _SEND)
        self.write("OUT_AREA", self.words | 1 << 31)
        if self.count_after is not None:
            self.door.spend(self.count_after)
            self.counted = await self.door.read(REG["STATUS"].address) >> 24
        while self.hears and self.at is None:
            await self.door.wait()


def _run(topology, nodes, stop):
    """Runs ``nodes``, {name: parameters of a _Node}, until ``stop`` of them holds, or all is quiet; {name: _Node}."""
    system = EngineMachine(machine(_MACHINE).topology(topology))
    try:
        there = {name: _Node(system.doors[name], **given) for name, given in nodes.items()}
        for name, node in there.items():
            system.start(name, node.main())
        ends = asyncio.run(system.run(lambda: stop(there), until_ps=10**11))
        assert ends in (QUIET, STOPPED), ends
        return there
    finally:
        system.close()


def _message(topology, words, receiver):
    """The cycle in which a message from NODE0 has arrived."""
    sends = {"words": words, "probe": int(receiver.removeprefix("NODE"))}
    return _run(topology, {"NODE0": sends, receiver: {}}, lambda there: False)[receiver].at


def _single(receiver):
    """(cycle in which the source hears that it has sent a message of one word, cycle in which it has arrived), both
    less the pause before: means of all pauses."""
    sent = arrived = 0
    for pause in _PAUSES:
        sends = {"words": 1, "probe": int(receiver.removeprefix("NODE")), "pause": pause, "hears": True}
        there = _run("hypercube:2", {"NODE0": sends, receiver: {}}, lambda there: False)
        sent += there["NODE0"].at - pause
        arrived += there[receiver].at - pause
    return sent / len(_PAUSES), arrived / len(_PAUSES)


@cache
def _growth():
    """What a hop more takes, in microseconds: until the source hears that all is sent, and until all has arrived."""
    one, two = _single("NODE1"), _single("NODE3")
    return [(far - near) * _cycle_s() * 1e6 for near, far in zip(one, two, strict=True)]


def _taken():
    """Numbers of the nodes, in the order in which their messages arrive, that want channel 1 of NODE1 all the time:
    NODE1, and NODE0, whose messages come in by channel 0."""
    system = EngineMachine(machine(_MACHINE).topology("hypercube:2"))
    came = []

    async def send(door, number):
        door.write(_SEND, number << 16 | number ^ 3, WORD_BYTES)
        for _ in range(_TURNS):
            door.write(REG["OUT_ADDRESS"].address, _SEND)
            door.write(REG["OUT_AREA"].address, _TURN_WORDS | 1 << 31)
            while await door.read(REG["STATUS"].address) & REG["STATUS"].field("out_areas").mask > 1:
                door.spend(10)

    async def take(door):
        while len(came) < 2 * _TURNS:
            door.write(REG["IN_HEAD_ADDRESS"].address, _HEAD)
            door.write(REG["IN_HEAD"].address, _TURN_WORDS)
            while not await door.read(REG["IN_RESULT"].address):
                door.spend(10)
            came.append(await door.read(_HEAD, WORD_BYTES) >> 16)

    try:
        for name, main in ("NODE0", send), ("NODE1", send):
            system.start(name, main(system.doors[name], int(name[-1])))
        system.start("NODE3", take(system.doors["NODE3"]))
        assert asyncio.run(system.run(lambda: False, until_ps=10**11)) == QUIET
        return came
    finally:
        system.close()


def _brought(cycles):
    """Words that DMA has brought ``cycles`` after its start, while the sink that the message asks for has another's."""
    first = {"words": _SHORT, "probe": 2}
    second = {"words": _SHORT, "probe": 1, "pause": 2000, "count_after": cycles}
    there = _run("hypercube:2", {"NODE3": first, "NODE0": second}, lambda there: there["NODE0"].counted is not None)
    return there["NODE0"].counted


def _cycle_s():
    return machine(_MACHINE).profile.cpu_period_ps / 1e12


def nodes():
    """D1: the largest cube."""
    count = len(machine(_MACHINE).topology("hypercube:7").computers)
    return Found(count, "boards of the topology hypercube:7")


@cache
def rate():
    """D1: a channel, from memory to memory."""
    short, long = (_message("hypercube:2", words, "NODE1") for words in (_SHORT, _LONG))
    mbyte = (_LONG - _SHORT) * WORD_BYTES / ((long - short) * _cycle_s()) / 1e6
    how = f"messages of {_SHORT * WORD_BYTES} and {_LONG * WORD_BYTES} bytes to a neighbour, from memory to memory: "
    return Found(round(mbyte, 3), f"{how}the difference of their bytes by that of their times")


def word_bits():
    """D2: a data word with what goes with it."""
    return Found(PAIR_BITS * len(word(0)), "the format's pairs; the benches hold the RTL to them")


def nibble_bits():
    """D2: status."""
    return Found(PAIR_BITS * len(nibble(0)), "the format's pairs; the benches hold the RTL to them")


def probe_bits():
    """D2: the probe between routers, without the two pairs that begin its frame."""
    return Found(PAIR_BITS * (len(short_probe(0)) - 2), "the format's pairs; the benches hold the RTL to them")


def hop():
    """D3: the circuit is built when RDY is back at the source; the rest of a message takes the same time then."""
    how = "message of one word to a neighbour and over two hops: the difference until the source has sent it, which is "
    return Found(round(_growth()[0], 3), f"{how}the way of the probe and of RDY; mean of {len(_PAUSES)} beginnings")


def transit():
    """D3: the same until the message has arrived."""
    return Found(round(_growth()[1], 3), "the same messages: the difference until they are in memory")


def turns():
    """D3: round robin."""
    came = _taken()
    assert set(came) == {0, 1} and len(came) == 2 * _TURNS
    both = came[: 1 + max(place for place in range(len(came)) if len(set(came[place:])) == 2)]
    runs = [len(list(run)) for _, run in groupby(both)]
    how = "NODE0 and NODE1 send to NODE3 all the time, both by channel 1 of NODE1: the longest row of messages of one"
    return Found(max(runs[1:]), how)


@cache
def burst():
    """D4: DMA that nothing holds up."""
    early, late = _brought(_EARLY), _brought(_LATE)
    assert 0 < early < late < FIFO_WORDS
    mbyte = (late - early) * WORD_BYTES / ((_LATE - _EARLY) * _cycle_s()) / 1e6
    return Found(round(mbyte, 2), f"words that DMA has brought {_EARLY} and {_LATE} cycles after its start")

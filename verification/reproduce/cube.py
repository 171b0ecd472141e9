"""The iPSC/2's own figures, measured on nodes and routers of the RTL in the engine.

Terms: docs/ipsc2.md and docs/ipsc2-node.md. A byte is in memory at both ends: software of the nodes does no more than
to name areas and to look at what the node tells.
"""

import asyncio
from functools import cache

from ...hdl.ipsc2.formats import PAIR_BITS, nibble, short_probe, word
from ...hdl.ipsc2.node.node import FIFO_WORDS
from ...hdl.ipsc2.node.registers import REG, Irq
from ...sim.machines import machine
from ...software.backends.engine.machine import EngineMachine
from ...software.machine import QUIET, STOPPED
from .facts import Found

__all__ = ["burst", "nibble_bits", "nodes", "probe_bits", "rate", "word_bits"]

_MACHINE = "ipsc2"
WORD_BYTES = 4
_SEND, _HEAD = 0x1000, 0x40000
#: Words of the messages whose times are compared.
_SHORT, _LONG = 1000, 9000
#: Cycles after which the words are counted that DMA has brought.
_EARLY, _LATE = 60, 180


class _Node:
    """A node that takes one message, or sends ``words`` words to the node at ``probe`` from its own address.

    ``at``: the cycle in which it has taken its message. ``pause``: cycles before it begins. ``count_after``: cycles
    behind the start of DMA after which it counts the words in the FIFO, ``counted``.
    """

    def __init__(self, door, words=0, probe=0, pause=0, count_after=None):
        self.door, self.words, self.probe = door, words, probe
        self.pause, self.count_after = pause, count_after
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
        self.door.write(_SEND, self.probe, WORD_BYTES)
        self.write("OUT_ADDRESS", _SEND)
        self.write("OUT_AREA", self.words | 1 << 31)
        if self.count_after is not None:
            self.door.spend(self.count_after)
            self.counted = await self.door.read(REG["STATUS"].address) >> 24


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
    short, long = (_message("hypercube:1", words, "NODE1") for words in (_SHORT, _LONG))
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


@cache
def burst():
    """D4: DMA that nothing holds up."""
    early, late = _brought(_EARLY), _brought(_LATE)
    assert 0 < early < late < FIFO_WORDS
    mbyte = (late - early) * WORD_BYTES / ((_LATE - _EARLY) * _cycle_s()) / 1e6
    return Found(round(mbyte, 2), f"words that DMA has brought {_EARLY} and {_LATE} cycles after its start")

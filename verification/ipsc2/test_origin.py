"""Bench of hdl/ipsc2/origin.py: requests of the node source, and what is refused."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.formats import CHANNELS, channels, nibble, word
from nectar.hdl.ipsc2.origin import Origin
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.ipsc2.model import OriginModel

#: Name → dimensions, remote.
SIZES = {"3 dimensions": (3, False), "7 dimensions": (7, False), "remote": (4, True)}


class Serializer:
    """Requests and their messages at random; grants come some time later. ``bad``: share of probes that may be
    refused; if it is not 0, each one is until the first has been. ``wrong``: share of pairs that are none of a
    frame."""

    def __init__(self, bad=0.2, wrong=0.0):
        self.bad, self.wrong = bad, wrong
        self.pairs, self.granted, self.request, self.words = [], False, False, None
        self.probe = 0
        self.seen = dict.fromkeys(("messages", "refused"), 0)

    def _next(self, dimensions):
        good = sum(random.getrandbits(1) << n for n in channels(dimensions)) or 1
        if self.bad and not self.seen["refused"]:
            self.probe = 1 << 15  # no dimension's
        else:
            self.probe = good if random.random() >= self.bad else random.choice([0, 1 << random.randrange(16) | good])
        self.pairs = word(self.probe, ready=random.getrandbits(1), end=random.getrandbits(1))
        self.words = random.randrange(4)

    def _more(self):
        if random.random() < 0.4:
            return nibble(random.getrandbits(1))
        self.words -= 1
        return word(random.getrandbits(16), ready=random.getrandbits(1), end=self.words < 0)

    def __call__(self, model):
        shown = getattr(model, "shown", {"asks": 0, "lane__last": 0, "source__refused": 0})
        if self.granted and shown["lane__last"]:
            self.granted = self.request = False
            self.seen["messages"] += 1
        elif self.granted:
            self.pairs.pop(0)
            self.pairs = self.pairs or self._more()
        elif shown["asks"] and random.random() < 0.3:
            self.granted = True
        elif shown["source__refused"] and random.random() < 0.5:
            self.seen["refused"] += 1
            self.request = False
        if not self.granted and not self.request:
            self.request = random.random() < 0.5
            self._next(model.dimensions)
        elif self.granted and random.random() < 0.1:
            self.request = not self.request
        return {
            "source__request": self.request,
            "source__probe": self.probe,
            "source__data": random.getrandbits(2) if random.random() < self.wrong else self.pairs[0],
            "granted": self.granted,
            "allow": random.getrandbits(1),
        }


def following(model):
    """``step`` of the model, which keeps what it has shown."""

    def step(inputs):
        model.shown = model.step(inputs)
        return model.shown

    return step


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def messages_of_the_node_are_asked_for_and_passed(dut):
    """docs/ipsc2.md, "Node source": the channel of the lowest bit; a probe that leads nowhere is refused; the message
    ends with its word with EOM, which a probe's is not."""
    lockstep = Lockstep(dut, ["source__request", "source__probe", "source__data", "granted", "allow"])
    await lockstep.start()
    for bad, wrong in ((0, 0), (0.3, 0), (0.8, 0), (0.1, 0.1)):
        await lockstep.reset({"granted": 1, "source__data": 0})
        model, serializer = OriginModel(*SIZES[inside()]), Serializer(bad, wrong)
        await lockstep.follow(following(model), in_each_cycle(serializer, model, 800))
        assert serializer.seen["messages"] > 3 and (serializer.seen["refused"] > 0) == (bad > 0)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_probe_asks_for_its_channel_or_is_refused(dut):
    """D1; docs/ipsc2.md, "Routes": all probes of 8 bits, and each of the upper bits."""
    lockstep = Lockstep(dut, ["source__request", "source__probe", "source__data", "granted", "allow"])
    await lockstep.start()
    model = OriginModel(*SIZES[inside()])
    probes = [*range(1 << CHANNELS), *(1 << n | random.getrandbits(8) for n in range(CHANNELS, 16))]
    stimuli = [{"source__request": 1, "source__probe": probe} for probe in probes]
    await lockstep.follow(model.step, stimuli)


bench = Bench(__name__, {name: lambda size=size: Origin(*size) for name, size in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("7 dimensions",)))
def test_origin(configuration, claim):
    bench.check(configuration, claim)


def test_a_cube_of_no_dimensions_is_refused():
    with pytest.raises(ValueError, match="dimensions must be 1 to 7, not 0"):
        Origin(0)

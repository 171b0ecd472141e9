"""What arrives on a channel, at random: pairs of messages, with pauses, and with what the formats do not allow."""

import random
from collections import deque

from ...hdl.ipsc2.formats import CHANNELS, channels, nibble, short_probe, word

__all__ = ["ElementStimulus", "EndStimulus", "LaneStimulus", "lanes", "random_nibble", "random_word"]


def random_nibble():
    """A nibble, with any bit in the place of the don't-care."""
    first, second = nibble(random.getrandbits(1))
    return [first, second & 1 | random.getrandbits(1) << 1]


def random_word(end=False):
    """A word, with any RDY."""
    return word(random.getrandbits(16), ready=random.getrandbits(1), end=end)


def _probe(address, long):
    ready = random.getrandbits(1)
    pairs = word(address, ready=ready) if long else short_probe(address, ready=ready)
    pairs[1] |= random.getrandbits(1) << 1  # EOM of a probe means nothing
    return pairs


class ElementStimulus:
    """Inputs of a routing element; ``granted`` as an owner is granted, some time behind ``asks``.

    ``pause``: share of cycles without a strobe. ``wrong``: how often something comes that may not. ``patience``:
    cycles that a grant takes at most. ``absent``: share of probes for channels that there are not. ``give_up``: how
    often a message that is not passed on yet ends, at each frame.
    """

    def __init__(self, pause=0.0, wrong=0.0, patience=20, absent=0.0, give_up=0.0):
        self.pause, self.wrong, self.patience, self.absent = pause, wrong, patience, absent
        self.give_up = give_up
        self.pairs, self.granted, self.wait = [], False, None
        self.under_way, self.words = False, 0

    def _address(self, model):
        there = channels(model.dimensions)
        address = sum(random.getrandbits(1) << n for n in there)
        if random.random() < 0.3:
            address &= (1 << max(model.arrived, 0) + 1) - 1  # here is the destination
        if random.random() < self.absent:
            first = random.choice(sorted({*range(CHANNELS)} - {*there}) or [0])
            address = (address | 1 << first) & -1 << first
        return address

    def _more(self, model):
        """The pairs that come next."""
        if random.random() < self.wrong:
            return random.choice([[random.getrandbits(2)], random_word(), [1], [2]])
        if not self.under_way and random.random() < 0.5:
            self.under_way, self.words = True, random.choice([0, 1, 2, 5])
            # No word comes before RDY has gone back, so at least a nibble is between.
            return [*_probe(self._address(model), random.getrandbits(1)), *random_nibble()]
        if self.under_way and not model.joined and random.random() < self.give_up:
            self.under_way = False
            return random_word(end=True)
        if self.under_way and model.joined and random.random() < 0.7:
            self.words -= 1
            self.under_way = self.words >= 0
            return random_word(end=not self.under_way)
        return random_nibble()

    def __call__(self, model):
        shown = getattr(model, "shown", {"asks": 0, "lane__last": 0})
        asked = shown["asks"] and not any(
            shown["asks"] >> n & 1 for n in range(CHANNELS) if n not in channels(model.dimensions)
        )
        if self.granted:
            self.granted = not shown["lane__last"]
        elif asked:
            self.wait = random.randrange(self.patience) if self.wait is None else self.wait - 1
            if self.wait <= 0:
                self.granted, self.wait = True, None
        else:
            self.wait = None
        strobe = random.random() >= self.pause
        if not self.pairs:
            self.pairs = self._more(model)
        data = self.pairs.pop(0) if strobe else random.getrandbits(2)
        return {"rx__data": data, "rx__strobe": strobe, "granted": self.granted}


class EndStimulus:
    """Inputs of a routing element: a message that ends without a word before, ``gap`` pairs that are no frame's, and a
    message that is granted at once. The grant for the first one comes ``wait`` cycles behind its ``asks``, if ever."""

    def __init__(self, wait, gap):
        self.wait, self.waited, self.granted = wait, 0, False
        first = [*_probe(0, False), *(pair for _ in range(6) for pair in random_nibble()), *random_word(end=True)]
        second = [*_probe(0, False), *(pair for _ in range(12) for pair in random_nibble()), *random_word(end=True)]
        self.pairs = deque([*random_nibble(), *first, *[None] * gap, *second])

    def __call__(self, model):
        shown = getattr(model, "shown", {"asks": 0, "lane__last": 0})
        if self.granted:
            self.granted = not shown["lane__last"]
        elif shown["asks"]:
            self.granted = self.waited >= self.wait
            self.waited += 1
        elif self.waited:
            self.wait = 0
        if not self.pairs:
            self.pairs.extend(random_nibble())
        pair = self.pairs.popleft()
        return {"rx__data": 0 if pair is None else pair, "rx__strobe": pair is not None, "granted": self.granted}


def lanes(count, status=True):
    """Names of the pins of ``count`` lanes."""
    names = ("data", "strobe", *(("status",) if status else ()), "last")
    return [f"lanes__{n}__{name}" for n in range(count) for name in names]


class LaneStimulus:
    """Inputs of who selects among ``count``: each asks at random, and once it is the owner sends a message."""

    def __init__(self, count, ask=0.1, pause=0.1, end=0.05):
        self.count, self.ask, self.pause, self.end = count, ask, pause, end
        self.asks = 0

    def __call__(self, selected):
        inputs = {}
        for n in range(self.count):
            owns = selected.owner == n
            if owns:
                self.asks &= ~(1 << n)
            elif random.random() < self.ask:
                self.asks |= 1 << n
            elif random.random() < self.ask / 8:
                self.asks &= ~(1 << n)
            inputs |= {
                f"lanes__{n}__data": random.getrandbits(2),
                f"lanes__{n}__strobe": random.random() >= self.pause,
                f"lanes__{n}__last": random.random() < self.end,
            }
            if selected.status:
                inputs[f"lanes__{n}__status"] = random.getrandbits(1)
        return inputs | {"asks": self.asks}

"""Serializers and deserializers in Python, from docs/ipsc2.md, and what they have sent and received."""

import random
from collections import deque

from ...hdl.ipsc2.formats import SHORT_PROBE_PAIRS, WORD_PAIRS, nibble, word

__all__ = ["Deserializer", "Message", "Serializer"]


class Message:
    """``probe``, ``words`` of 16 bits, the last of which has EOM; and the cycles in which things happened to it.

    ``patience``: it is given up so many cycles behind its request, if it has not begun its last word; None: never.
    ``given_up``: it has been, by the source; or, of one that arrives, it ends with the word 0, as no other does.
    """

    def __init__(self, probe, words, patience=None):
        self.probe, self.words, self.patience = probe, words, patience
        self.given_up = False
        self.times = {}

    def __repr__(self):
        return f"{self.probe:#x}: {' '.join(f'{each:04x}' for each in self.words)}; {self.times}"


class Serializer:
    """docs/ipsc2.md, "Node source". ``starve``: how often it has no word to send though it may."""

    def __init__(self, starve=0.0):
        self.starve = starve
        self.queue = deque()
        self.nibble = False  # the frame under way
        self.left, self.pairs = None, None  # of the message under way
        self.asked, self.waiting, self.late = 0, False, False  # cycles since its request; no grant yet; to be given up
        self.sent = []

    def inputs(self):
        """request, probe, data."""
        if self.left is None and self.queue:
            self.left, self.pairs = deque(self.queue[0].words), word(self.queue[0].probe)
            self.asked, self.waiting = 0, True
        if self.left is None:
            return 0, random.getrandbits(16), random.getrandbits(2)
        self.asked += 1
        self.late = self.queue[0].patience is not None and self.asked > self.queue[0].patience
        return not (self.late and self.waiting), self.queue[0].probe, self.pairs[0]

    def sample(self, cycle, grant, allow, refused):
        """What the router says in this cycle."""
        if not grant:
            assert self.pairs is None or len(self.pairs) == WORD_PAIRS, "grant fell in a message"
            assert not allow
            if refused:
                self.queue[0].times["refused"] = cycle
                self._over()
            elif self.left is not None and self.late:
                self.queue[0].given_up = True
                self._over()
            return
        self.waiting = False
        assert self.left is not None and not refused
        message = self.queue[0]
        message.times.setdefault("grant", cycle)
        if allow:
            message.times.setdefault("allow", cycle)
        is_nibble = self.nibble
        self.pairs.pop(0)
        if self.pairs:
            return
        self.nibble = False
        if message.given_up or not self.left and "last" in message.times:
            message.times["end"] = cycle
            self._over()
        elif self.late and is_nibble:
            message.given_up = True
            self.pairs = word(0, ready=random.getrandbits(1), end=True)
        elif allow and self.left and not self.late and random.random() >= self.starve:
            data = self.left.popleft()
            message.times.setdefault("first", cycle + 1)
            if not self.left:
                message.times["last"] = cycle + 1
            self.pairs = word(data, ready=random.getrandbits(1), end=not self.left)
        else:
            self.pairs, self.nibble = nibble(random.getrandbits(1)), True

    def _over(self):
        self.sent.append(self.queue.popleft())
        self.left = self.pairs = None


class Deserializer:
    """docs/ipsc2.md, "Node sink". Its FIFO has ``depth`` words, and it is ready as long as ``headroom`` of them are
    free. ``drain``: how often the node takes a word."""

    def __init__(self, depth=32, headroom=16, drain=1.0):
        self.depth, self.headroom, self.drain = depth, headroom, drain
        self.message, self.pairs, self.frame = None, [], None
        self.fifo = 0
        self.received = []
        self.after = 0  # words that have come since ready fell
        self.most_after = 0
        self.was_ready = False

    def ready(self):
        """ready; the node takes a word, perhaps."""
        if self.fifo and random.random() < self.drain:
            self.fifo -= 1
        known = self.message is not None
        self.was_ready = known and self.depth - self.fifo > self.headroom
        if self.was_ready:
            self.after = 0
        return self.was_ready

    def sample(self, cycle, opened, data, strobe):
        """What the router says in this cycle."""
        if not opened:
            assert not strobe and self.message is None and not self.pairs, "closed in a message"
            self.frame = "probe"
            return
        if not strobe:
            assert self.frame != "probe" or self.pairs, "open before the probe"
            return
        if not self.pairs:
            assert data in (0, 3) and (self.frame != "probe" or data == 0)
            if self.frame != "probe":
                self.frame = "nibble" if data else "word"
        self.pairs.append(data)
        if len(self.pairs) == {"nibble": 2, "probe": SHORT_PROBE_PAIRS, "word": WORD_PAIRS}[self.frame]:
            self._frame(cycle)
            self.pairs = []

    def _frame(self, cycle):
        value = sum(pair << 2 * place for place, pair in enumerate(self.pairs[2:]))
        if self.frame == "word":
            self.fifo += 1
            self.after += not self.was_ready
            self.most_after = max(self.most_after, self.after)
            assert self.fifo <= self.depth, "the FIFO overflows"
            self.message.words.append(value)
            if self.pairs[1] >> 1:
                self.message.times["end"] = cycle
                self.message.given_up = value == 0
                self.received.append(self.message)
                self.message, self.frame = None, "closed"
                return
        elif self.frame == "probe":
            self.message = Message(value, [])
            self.message.times["probe"] = cycle
        self.frame = "nibble"

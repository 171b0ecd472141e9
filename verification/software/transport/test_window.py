"""The windows of the byte stream against models that keep every single byte.

Specification: docs/transports.md, "Byte stream". Random cases follow the seed of the run.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nectar.software.transport.window import MOST_PARTS, ReceiveWindow, SendWindow, nearest
from nectar.verification.properties import properties

SIZE = 64
MOST = 10
WORD = 1 << 32


@properties
@given(st.integers(0, 1 << 40), st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, WORD - 1))
def test_a_position_is_told_by_its_low_bits_from_any_first_number(position, offset, first):
    """Sequence numbers wrap; what is less than 2**31 away is found again."""
    wire = (first + position + offset) % WORD
    assert nearest(wire - first, position) == position + offset


# -- receiving ---------------------------------------------------------------------------------------
_STRETCH = st.tuples(st.integers(-20, SIZE + 20), st.integers(1, MOST))
_RECEIVING = st.lists(
    st.one_of(
        st.tuples(st.just("came"), _STRETCH),
        st.tuples(st.just("spoilt"), _STRETCH),
        st.tuples(st.just("take"), st.integers(1, SIZE)),
    ),
    max_size=60,
)


@properties
@given(_RECEIVING, st.integers(1, SIZE))
def test_the_receive_window_knows_what_has_come(actions, step):
    """Against a set of positions. Stretches are told from ``next`` on; what has no room is not stored, as the upcall
    would have it."""
    window, good = ReceiveWindow(SIZE, step), set()
    edge = SIZE
    for action, value in actions:
        if action == "take":
            length = min(value, window.available)
            moved = window.take(length)
            assert moved == (window.edge > edge)
            assert window.edge == window.taken + SIZE or window.taken + SIZE - window.edge < min(step, SIZE // 2)
            assert window.edge >= edge
            edge = window.edge
            continue
        begin, length = window.next + value[0], value[1]
        room = window.room(begin)
        assert room == (edge - begin if begin >= window.next else 0)
        length = min(length, room)
        if length <= 0:
            continue
        stretch = set(range(begin, begin + length))
        if action == "came":
            before = window.next
            readable = window.came(begin, length)
            good |= stretch
            assert readable == (window.next > before)
        else:
            window.spoilt(begin, length)
            good -= {position for position in stretch if position >= window.next}
        missing = next(position for position in range(edge + 1) if position not in good)
        assert window.next == missing
        assert window.gap == any(position > missing for position in good)
        assert 0 <= window.available <= SIZE


@properties
@given(st.permutations(range(2 * MOST_PARTS + 6)))
def test_stretches_beyond_a_gap_are_kept_in_bounds(order):
    """More of them than there are places for are forgotten, never taken for what has come."""
    window, count = ReceiveWindow(1 << 10, 1), len(order)
    stored = set()
    for place in order:
        window.came(1 + 2 * place, 1)
        stored.add(1 + 2 * place)
    assert window.next == 0 and window.gap
    for place in range(count + 1):
        before = window.next
        window.came(2 * place, 1)
        assert window.next in (before + 1, before + 2) or place < count
        assert all(position in stored or not position % 2 for position in range(window.next))
        if window.next == 2 * place + 1 and place < count:
            window.came(window.next, 1)
    assert window.next == 2 * count + 1


@properties
@given(st.lists(st.integers(1, MOST), max_size=8), st.randoms(use_true_random=False))
def test_the_end_counts_when_everything_before_it_has_come(lengths, rng):
    stretches, position = [], 0
    for length in lengths:
        stretches.append((position, length))
        position += length
    window = ReceiveWindow(128, 1)
    order = [*stretches, None]
    rng.shuffle(order)
    for item in order:
        if item is None:
            assert window.ends(position)
            assert not window.ends(position + 1), "the stream cannot end twice"
        else:
            assert window.fits(*item)
            window.came(*item)
        assert window.over == (None in order[: order.index(item) + 1] and window.next == position)
    assert window.over and window.acknowledges == position + 1 and not window.gap
    assert not window.fits(position, 1) and window.room(position) == 0


def test_an_end_before_what_has_come_is_none():
    window = ReceiveWindow(SIZE, 1)
    window.came(0, 10)
    window.came(20, 5)
    assert not window.ends(9) and not window.ends(24)
    assert window.ends(25) and not window.over


# -- sending, and both together --------------------------------------------------------------------------------
_SENDING = st.lists(
    st.one_of(
        st.tuples(st.just("give"), st.integers(1, 80)),
        st.tuples(st.just("send"), st.integers(1, 4)),
        st.tuples(st.just("deliver"), st.integers(0, 7)),
        st.tuples(st.just("lose"), st.integers(0, 7)),
        st.tuples(st.just("damage"), st.integers(0, 7)),
        st.tuples(st.just("double"), st.integers(0, 7)),
        st.tuples(st.just("take"), st.integers(1, SIZE)),
        st.tuples(st.just("timer"), st.just(0)),
        st.tuples(st.just("close"), st.just(0)),
    ),
    max_size=120,
)


class Pair:
    """A sender, a receiver, packets and acknowledgments on their way in no order; numbers on the way have 32 bits."""

    def __init__(self, first):
        self.first = first
        self.out, self.into = SendWindow(), ReceiveWindow(SIZE, 8)
        self.out.edge = SIZE
        self.memory = {}  # position -> byte, as the DMA has stored them
        self.data = bytearray()
        self.packets, self.acks = [], []
        self.got = bytearray()

    def wire(self, position):
        return (self.first + position) % WORD

    def give(self, length):
        if not self.out.closing:
            self.data += bytes((len(self.data) + index) * 7 % 251 for index in range(length))
            self.out.give(length)

    def send(self, count):
        for _ in range(count):
            stretch = self.out.ready(MOST)
            if stretch is None:
                return
            position, length, ends = stretch
            assert position == self.out.next and length <= MOST and position + length <= self.out.edge
            assert length or ends
            self.out.sent(*stretch)
            self.emit(stretch)

    def emit(self, stretch):
        position, length, ends = stretch
        assert not ends or self.out.closing and position + length == self.out.end
        self.packets.append((self.wire(position), bytes(self.data[position : position + length]), ends))

    def acknowledge(self):
        self.acks.append((self.wire(self.into.acknowledges), self.into.edge - self.into.acknowledges))

    def deliver(self, index, good=True):
        """A packet arrives, or if there is none an acknowledgment."""
        if self.packets:
            wire, data, ends = self.packets.pop(index % len(self.packets))
            into = self.into
            position = nearest(wire - self.first, into.next)
            room = min(into.room(position), MOST)
            length = min(len(data), room)
            stored = data and length > 0
            if stored:
                for place in range(length):
                    self.memory[(position + place) % SIZE] = data[place] if good else 255
                if not good:
                    into.spoilt(position, room)
            if not good:
                return
            if stored and length == len(data):
                into.came(position, length)
            if ends and (not data or stored and length == len(data)):
                assert into.ends(position + len(data))
            self.acknowledge()
        elif self.acks and good:
            self.hear(*self.acks.pop(index % len(self.acks)))

    def hear(self, wire, window):
        position = nearest(wire - self.first, self.out.acknowledged)
        edge = self.out.edge
        _, again = self.out.arrived(position, position + window, True)
        assert self.out.edge >= edge
        if again and self.out.waiting:
            self.emit(self.out.first(MOST))

    def lose(self, index):
        queue = self.packets or self.acks
        if queue:
            queue.pop(index % len(queue))

    def double(self, index):
        if self.packets:
            self.packets.append(self.packets[index % len(self.packets)])

    def take(self, length):
        length = min(length, self.into.available)
        for place in range(length):
            self.got.append(self.memory[(self.into.taken + place) % SIZE])
        if self.into.take(length):
            self.acknowledge()

    def timer(self, _=0):
        if self.out.waiting:
            self.out.lost()
            self.emit(self.out.first(MOST))
        elif self.out.blocked:
            self.acknowledge()  # the answer to a probe

    def close(self, _=0):
        self.out.closing = True

    def check(self):
        assert self.got == self.data[: len(self.got)]
        assert self.out.acknowledged <= self.into.acknowledges <= self.out.next
        assert self.out.edge <= self.into.edge
        assert self.into.next - self.into.taken <= SIZE


@properties
@given(_SENDING, st.integers(0, WORD - 1))
def test_whatever_is_lost_doubled_damaged_and_overtaken_the_bytes_arrive_in_order(actions, first):
    """Every step keeps the invariants; and once nothing is harmed any more, everything arrives, the end too."""
    pair = Pair(first)
    for action, value in actions:
        if action == "damage":
            pair.deliver(value, good=False)
        else:
            getattr(pair, action)(value)
        pair.check()
    pair.close()
    for _ in range(2000):
        pair.send(4)
        while pair.packets or pair.acks:
            pair.deliver(0)
            pair.check()
        pair.take(SIZE)
        pair.timer()
        if pair.out.finished:
            break
    assert pair.out.finished and pair.into.over
    pair.take(SIZE)
    assert pair.got == pair.data
    assert not pair.out.waiting and not pair.out.blocked and pair.out.ready(MOST) is None


def test_the_first_packets_are_full_and_the_last_holds_the_end():
    out = SendWindow()
    out.edge = 35
    out.give(32)
    out.closing = True
    seen = []
    while (stretch := out.ready(10)) is not None:
        out.sent(*stretch)
        seen.append(stretch)
    assert seen == [(0, 10, False), (10, 10, False), (20, 10, False), (30, 2, True)]
    assert out.arrived(33, 35, True) == (33, False) and out.finished


def test_a_stretch_that_only_the_edge_makes_short_waits_while_an_acknowledgment_is_due():
    """RFC 813: no small packets because the window is nearly full."""
    out = SendWindow()
    out.edge = 15
    out.give(100)
    out.sent(*out.ready(10))
    assert out.ready(10) is None and not out.blocked
    out.arrived(10, 15, True)
    assert out.ready(10) == (10, 5, False)
    out.sent(10, 5, False)
    out.arrived(15, 15, True)
    assert out.blocked and out.ready(10) is None
    out.arrived(15, 40, True)
    assert not out.blocked and out.ready(10) == (15, 10, False)


def test_the_second_repeated_acknowledgment_is_a_loss_and_each_further_gap_too():
    out = SendWindow()
    out.edge = 100
    out.give(50)
    while (stretch := out.ready(10)) is not None:
        out.sent(*stretch)
    assert out.arrived(10, 100, True) == (10, False)
    assert out.arrived(10, 100, True) == (0, False)
    assert out.arrived(10, 100, False) == (0, False), "a packet with data repeats it by the way"
    assert out.arrived(10, 100, True) == (0, True)
    assert out.first(10) == (10, 10, False)
    assert out.arrived(10, 100, True) == (0, False), "once for each loss"
    assert out.arrived(30, 100, True) == (20, True), "the next gap"
    assert out.first(10) == (30, 10, False)
    assert out.arrived(50, 100, True) == (20, False)


def test_what_was_never_sent_cannot_be_acknowledged():
    out = SendWindow()
    out.edge = 100
    out.give(20)
    out.sent(*out.ready(10))
    with pytest.raises(ValueError, match="position 11 was acknowledged and never sent"):
        out.arrived(11, 100, True)
    assert (out.acknowledged, out.edge) == (0, 100)
    assert out.arrived(-1, 500, True) == (0, False) and out.edge == 100

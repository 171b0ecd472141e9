"""What goes over the cable as bytes and words: frames among noise; operations in as many parts as they need."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nectar.hdl.host.numbers import BUFFER_WORDS, SPEND_BITS, Turn
from nectar.software.backends.cable.words import Deframer, encode, frame, turns, value
from nectar.software.door import Operation, OperationKind

WORDS = st.lists(
    st.one_of(st.integers(0, (1 << 32) - 1), st.sampled_from([0x7E7E7E7E, 0x7D5E7D5D, 0x7E7D0000])),
    min_size=1,
    max_size=40,
)
FAST = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FAST
@given(st.lists(st.tuples(WORDS, st.binary(max_size=8)), max_size=5), st.integers(1, 50))
def test_frames_are_found_whatever_is_between_them(items, step):
    """docs/cable.md: noise before a frame takes nothing from it; the bytes come in pieces of any length."""
    data = b"".join(noise + frame(words) for words, noise in items)
    deframer = Deframer()
    found = [words for at in range(0, len(data), step) for words in deframer.take(data[at : at + step])]
    assert found == [words for words, _ in items]
    assert deframer.bytes == len(data)


@FAST
@given(WORDS, st.data())
def test_a_damaged_frame_is_no_frame_and_the_next_is_found(words, data):
    """docs/cable.md: a byte lost, doubled or changed."""
    good = frame(words)
    at = data.draw(st.integers(1, len(good) - 2))
    how = data.draw(st.sampled_from(["lost", "doubled", "changed"]))
    spoilt = {
        "lost": b"",
        "doubled": good[at : at + 1] * 2,
        "changed": bytes([good[at] ^ data.draw(st.integers(1, 255))]),
    }[how]
    deframer = Deframer()
    assert deframer.take(good[:at] + spoilt + good[at + 1 :]) == []
    assert deframer.take(frame([1, 2])) == [[1, 2]]
    assert deframer.damaged >= 1


@FAST
@given(st.binary(max_size=300))
def test_noise_alone_is_no_frame(noise):
    assert Deframer().take(noise) == []


@FAST
@given(
    st.lists(
        st.one_of(
            st.builds(
                lambda a, data: Operation(OperationKind.WRITE_BLOCK, a, len(data), data),
                st.integers(0, 1 << 20),
                st.binary(min_size=1, max_size=3000),
            ),
            st.builds(
                lambda a, v: Operation(OperationKind.WRITE, 4 * a, 4, v),
                st.integers(0, 1 << 20),
                st.integers(0, (1 << 32) - 1),
            ),
            st.builds(lambda n: Operation(OperationKind.SPEND, 0, 0, n), st.integers(0, 1 << SPEND_BITS + 2)),
        ),
        max_size=12,
    )
)
def test_lists_of_any_length_are_cut_where_they_may_be(operations):
    """docs/cable.md: at most BUFFER_WORDS at once, a block's two words together; joined again they are what was
    asked for."""
    loads = encode(operations).loads
    assert loads and all(len(load) <= BUFFER_WORDS for load in loads) and all(loads[1:])
    words = [word for load in loads for word in load]
    starts, at = {0}, 0
    for load in loads:
        at += len(load)
        starts.add(at)
    read, at = [], 0
    while at < len(words):
        kind, select, low = words[at] >> 28, words[at] >> 24 & 0xF, words[at] & 0xFFFFFF
        if kind == OperationKind.SPEND:
            read.append(("spend", words[at] & (1 << SPEND_BITS) - 1))
            at += 1
        elif kind == OperationKind.WRITE:
            assert select == 0xF
            read.append(("store", low, words[at + 1].to_bytes(4, "big")))
            at += 2
        else:
            assert at + 1 not in starts, "a block's two words are apart"
            last, count = words[at + 1] >> 28, words[at + 1] & 0x3FFFFF
            masks = [0xF] * count
            masks[0] &= select
            masks[-1] &= last
            lanes = [
                (word >> 24 - 8 * lane & 0xFF)
                for word, mask in zip(words[at + 2 : at + 2 + count], masks, strict=True)
                for lane in range(4)
                if mask >> 3 - lane & 1
            ]
            read.append(("store", low, bytes(lanes)))
            at += 2 + count
    expected = []
    for kind, address, _, data in operations:
        if kind == OperationKind.SPEND:
            expected += [("spend", data)] * bool(data)
        else:
            expected.append(("store", address, data if kind == OperationKind.WRITE_BLOCK else data.to_bytes(4, "big")))
    assert _joined(read) == _joined(expected)


def _joined(items):
    """Spends behind each other as one."""
    out = []
    for item in items:
        if item[0] == "spend" and out and out[-1][0] == "spend":
            out[-1] = ("spend", out[-1][1] + item[1])
        else:
            out.append(item)
    return out


@pytest.mark.parametrize(
    "size, address, word, expected",
    [(1, 2, 0x11223344, 0x33), (2, 2, 0x11223344, 0x3344), (2, 0, 0x11223344, 0x1122), (4, 0, 0x11223344, 0x11223344)],
)
def test_a_load_takes_its_bytes_from_their_lanes(size, address, word, expected):
    assert value(Operation(OperationKind.READ, address, size, 0), [word], 5) == expected


def test_values_of_the_other_kinds():
    assert value(Operation(OperationKind.NOW), [], 8) == 7
    assert value(Operation(OperationKind.WAIT), [], 8) is None
    assert value(Operation(OperationKind.READ_BLOCK, 0x1001, 5, 0), [0x00112233, 0x44550000], 8) == bytes(
        [0x11, 0x22, 0x33, 0x44, 0x55]
    )


@pytest.mark.parametrize("words", [[1 << 28], [1 << 28 | 2, 0, 5], [9 << 28, 0]])
def test_turns_that_cannot_be_are_refused(words):
    with pytest.raises(ValueError):
        turns(words)


def test_turns_are_read():
    first, second = turns(
        [Turn.RESUME << 28 | 1 << 27 | 1 << 26 | 1 << 25 | 3 << 20 | 2, 0x123456, 7, 8, Turn.MORE << 28, 0]
    )
    assert first == (Turn.RESUME, 3, 1, True, True, 0x123456, [7, 8])
    assert second == (Turn.MORE, 0, 0, False, False, 0, [])

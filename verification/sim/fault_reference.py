"""What docs/faults.md makes of the symbols that were sent on one direction of a fiber: a reference of its own.

It has all symbols before it and takes one fault after the other, where the engine takes one symbol after the other.
"""

import hashlib
from bisect import bisect_left

__all__ = ["Prediction", "predict", "key", "draw"]

_WORD = 2**64 - 1
_CODES = "11110 01001 10100 10101 01010 01011 01110 01111 10010 10011 10110 10111 11010 11011 11100 11101".split()
_CONTROL = {"start": 0x102, "end": 0x103, "ready": 0x104, "command": 0x105, "reply": 0x106}
_FOREVER = 2**80


def key(seed, ends, number):
    """As the page says."""
    return int(hashlib.sha256(f"{seed} {ends[0]}->{ends[1]} {number}".encode()).hexdigest()[:16], 16)


def draw(key, i):
    """As the page says."""
    z = key + (i + 1) * 0x9E3779B97F4A7C15 & _WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
    return z ^ z >> 31


def damaged(symbol, bit):
    """A symbol with one of its code bits inverted."""
    if symbol >= 0x100:
        return 0x1FF
    code = [int(digit) for half in (symbol >> 4, symbol & 0xF) for digit in _CODES[half]]
    code[bit] ^= 1
    text = "".join(map(str, code))
    halves = [_CODES.index(group) if group in _CODES else None for group in (text[:5], text[5:])]
    return 0x1FF if None in halves else halves[0] << 4 | halves[1]


class Prediction:
    """``arrivals``: (time, symbol) in order; ``counts``: (hits, symbols) of each fault; ``taken``: numbers of
    symbols that arrive."""

    def __init__(self, arrivals, counts, taken):
        self.arrivals, self.counts, self.taken = arrivals, counts, taken


def _frames(symbols, first):
    """For each frame of which the control code was sent: numbers of its symbols. Those of the bytes that are in
    none. From number ``first`` on."""
    frames, data = [], []
    reply = command = None
    for n, symbol in enumerate(symbols[first:], first):
        if symbol < 0x100:
            frame = reply if reply else command
            if not frame:
                data.append(n)
                continue
            frame.append(n)
            if len(frame) == 4:
                reply, command = (None, command) if frame is reply else (reply, None)
        elif symbol in (0x105, 0x106):
            frames.append([n])
            reply = frames[-1] if symbol == 0x106 else None
            command = frames[-1] if symbol == 0x105 else command
        elif symbol not in (0x100, 0x104):
            reply = None
            if symbol in (0x102, 0x103):
                command = None
    return {frame[0]: frame for frame in frames}, set(data)


def predict(sent, faults, symbol_ps, delay_ps, shown=None, first=0):
    """What becomes of ``sent``, a list of (start on the wire, symbol).

    ``faults``: (Fault, key, begin, end or None, when it was set) in order. ``shown``: the times at which the receiver's
    inputs are set, needed only for cuts that were set later than at the beginning. ``first``: number of the first
    symbol that was sent when there were faults."""
    symbols = [symbol for _, symbol in sent]
    frames, data = _frames(symbols, first)
    arrival, before = [], 0
    for n, (start, _) in enumerate(sent):
        extra = sum(
            fault.delay_ps
            for fault, _, begin, end, _ in faults
            if n >= first and fault.what == "delay" and begin <= start < (_FOREVER if end is None else end)
        )
        before = max(before, start + symbol_ps + delay_ps + extra)
        arrival.append(before)

    lost, twice, wrong, again, counts = set(), set(), [], set(), []
    for fault, its_key, begin, end, when in faults:
        end = _FOREVER if end is None else end
        inside = [n for n, (start, _) in enumerate(sent) if n >= first and begin <= start < end]
        if fault.what == "delay":
            counts.append((len(inside), len(inside)))
            continue
        if fault.what == "cut":
            found = {n for n, (start, _) in enumerate(sent) if start < end and arrival[n] > begin}
            if when:
                found -= _at_pins(arrival, sent, shown, when)
            lost |= found
            counts.append((len(found), len(found)))
            continue
        if fault.kind == "data":
            inside = [n for n in inside if n in data]
        elif fault.kind is not None:
            inside = [n for n in inside if symbols[n] == _CONTROL[fault.kind]]
        if fault.rate is None:
            struck = inside[fault.nth - 1 : fault.nth - 1 + fault.times]
        else:
            struck = [n for n in inside if draw(its_key, 2 * n) / 2**64 < fault.rate]
        if fault.kind in ("command", "reply"):
            found = set()
            for n in struck:
                number = draw(its_key, 2 * n + 1)
                if fault.what == "errors":
                    place = number // 10 % 4
                    if place < len(frames[n]):
                        found.add(frames[n][place])
                        wrong.append((frames[n][place], number % 10))
                else:
                    found |= set(frames[n])
                    if fault.what == "doubled" and len(frames[n]) == 4:
                        again.add(n)
        else:
            found = {m for n in struck for m in range(n, min(n + fault.length, len(sent))) if sent[m][0] < end}
            if fault.what == "errors":
                wrong += [(n, draw(its_key, 2 * n + 1) % 10) for n in sorted(found)]
            elif fault.what == "doubled":
                twice |= found
        if fault.what == "lost":
            lost |= found
        counts.append((len(struck), len(found)))

    arriving = list(symbols)
    for n, bit in wrong:
        arriving[n] = damaged(arriving[n], bit)
    copies = [0 if n in lost else 2 if n in twice else 1 for n in range(len(sent))]
    arrivals = []
    for n in range(len(sent)):
        arrivals += [(arrival[n], arriving[n])] * copies[n]
        for first in again:
            if frames[first][3] == n:
                arrivals += [(arrival[n], arriving[m]) for m in frames[first] for _ in range(copies[m])]
    return Prediction(arrivals, counts, {n for n in range(len(sent)) if copies[n]})


def _at_pins(arrival, sent, shown, when):
    """Numbers of the symbols that have been given to the receiver before ``when``, if each was as it was sent."""
    given, edge = set(), 0
    for n, time in enumerate(arrival):
        edge = max(edge, bisect_left(shown, time))  # the edge at which it is valid
        if edge and edge - 1 < len(shown) and shown[edge - 1] < when:
            given.add(n)
        edge += 1
    return given

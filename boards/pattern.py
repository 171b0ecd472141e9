"""The bytes of the packets of a self-test: each follows from its packet's source and number.

Source: ours.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LENGTH", "Pattern", "pattern"]

#: Bytes of a packet, of which the first two are its source and its number.
LENGTH = 64
#: x^16 + x^14 + x^13 + x^11 + 1, which has the longest period that 16 bits can have.
_TAPS = (15, 13, 12, 10)
_SALT = 0xACE1


def _step(state):
    """Eight steps of the shift register, on a list of 16 bits."""
    for _ in range(8):
        bit = state[_TAPS[0]]
        for tap in _TAPS[1:]:
            bit = bit ^ state[tap]
        state = [bit, *state[:-1]]
    return state


def pattern(source, number, length=LENGTH):
    """The ``length`` bytes of packet ``number`` from ``source`` (ints, 0 to 255): what ``Pattern`` gives."""
    state = [((source | number << 8) ^ _SALT) >> n & 1 for n in range(16)]
    found = [source, number]
    while len(found) < length:
        state = _step(state) if any(state) else _step([1] + state[1:])
        found.append(sum(bit << n for n, bit in enumerate(state[:8])))
    return found[:length]


class Pattern(wiring.Component):
    """The bytes of one packet behind its first two.

    Members
    -------
    source, number : In(8)
        Whose packet it is, and which.
    start : In(1)
        A packet begins: the next ``byte`` is its third.
    step : In(1)
        The byte has been used.
    byte : Out(8)
        The next byte.

    Timing
    ------
    ``byte`` is there in the cycle behind ``start`` or ``step``. A ``start`` wins over a ``step``.
    """

    source: In(8)
    number: In(8)
    start: In(1)
    step: In(1)
    byte: Out(8)

    def elaborate(self, platform):
        m = Module()
        state = Signal(16)
        first = Cat(self.source, self.number) ^ _SALT
        seed = Signal(16)
        m.d.comb += [seed.eq(first | (first == 0)), self.byte.eq(state[:8])]
        with m.If(self.start):
            m.d.sync += state.eq(Cat(_step(list(seed))))
        with m.Elif(self.step):
            m.d.sync += state.eq(Cat(_step(list(state))))
        return m

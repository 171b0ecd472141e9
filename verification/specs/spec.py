"""What a specification is that a proof and a bench share, and how each of them runs it.

A specification says what a component shows in a cycle and what it remembers for the next one. It is written in
arithmetic that means the same for numbers and for Amaranth's values: + - & | << >> == and comparisons, ``choose``
instead of ``if``, and ``== 0`` instead of ``not``. A bench runs it on numbers (``Follower``). A proof puts it beside
the component as hardware (``beside``) and asserts that both show the same.
"""

from types import SimpleNamespace
from typing import NamedTuple

from amaranth.hdl import Assert, Mux, Signal, Value

__all__ = ["Follower", "Spec", "Where", "agree", "beside", "choose", "column", "number"]


class Where(NamedTuple):
    """An output that means ``value`` where ``condition`` holds, and nothing elsewhere."""

    condition: object
    value: object


class Spec:
    """A specification.

    ``inputs``: names of the inputs. ``state``: name → (bits, value after a reset). Both are given by the subclass, as
    are ``outputs(s, i)`` and ``following(s, i)``: name → value of each output in this cycle, and of each part of the
    state in the next one. ``s`` has the state and ``i`` the inputs as attributes.
    """

    inputs = ()
    state = {}


def choose(condition, one, other):
    """``one`` if the condition is not 0, else ``other``."""
    if isinstance(condition, Value):
        return Mux(condition, one, other)
    return one if condition else other


def column(masks, place):
    """Bit ``place`` of each mask: bit 0 is that of the first."""
    return sum((mask >> place & 1) << n for n, mask in enumerate(masks))


def number(mask, size):
    """The number of the bit that is 1 in a mask of ``size`` bits; one at most is."""
    return sum((mask >> n & 1) * n for n in range(size))


class Follower:
    """A specification in a bench, from a reset on. ``state``: what it remembers."""

    def __init__(self, spec):
        self.spec = spec
        self.state = SimpleNamespace(**{name: init for name, (_, init) in spec.state.items()})

    def _given(self, inputs):
        return SimpleNamespace(**{name: int(inputs.get(name, 0)) for name in self.spec.inputs})

    def show(self, inputs):
        """The outputs in a cycle with these inputs, by name (None: any). An input that is not named is 0."""
        shown = self.spec.outputs(self.state, self._given(inputs))
        return {
            name: (value.value if value.condition else None) if isinstance(value, Where) else value
            for name, value in shown.items()
        }

    def step(self, inputs):
        """As ``show``; then goes on to the next cycle."""
        shown = self.show(inputs)
        following = self.spec.following(self.state, self._given(inputs))
        self.state = SimpleNamespace(
            **{name: int(following[name]) & (1 << bits) - 1 for name, (bits, _) in self.spec.state.items()}
        )
        return shown


def beside(m, spec, inputs):
    """Puts a specification into a proof, ``m``, with these inputs (name → value).

    Returns its state, as registers by name, and its outputs by name.
    """
    state = SimpleNamespace(
        **{name: Signal(bits, init=init, name=f"spec_{name}") for name, (bits, init) in spec.state.items()}
    )
    given = SimpleNamespace(**inputs)
    for name, value in spec.following(state, given).items():
        m.d.sync += getattr(state, name).eq(value)
    return state, SimpleNamespace(**spec.outputs(state, given))


def agree(found, expected, message):
    """The assertion that an output is what the specification says; a ``Where``: where it says so."""
    condition, value = expected if isinstance(expected, Where) else (1, expected)
    return Assert((found == value) | (condition == 0), message)

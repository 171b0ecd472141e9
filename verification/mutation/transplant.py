"""A component with its mutants inside of a larger one: the mutated Verilog in the place of every instance."""

import contextlib
from unittest import mock

from amaranth.hdl import ClockSignal, Fragment, Instance, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ...hdl.verilog import convert
from .mutants import SELECT, SELECT_BITS

__all__ = ["NoPlace", "first", "transplant"]

#: Name that the mutated module gets.
_NAME = "mutated"


class NoPlace(ValueError):
    """There is no such component inside."""


def _parameters(component):
    """What a component was made with."""
    return {
        name: value
        for name, value in vars(component).items()
        if not isinstance(value, (Value, wiring.Signature))
        and not name.startswith("_")
        and name not in component.signature.members
    }


def _flat(component):
    return [
        ("__".join(map(str, path)), member, value) for path, member, value in component.signature.flatten(component)
    ]


class _Selectable(wiring.Component):
    """``inner``, and an input that chooses the mutant."""

    def __init__(self, inner, chosen):
        self._inner = inner
        self._chosen = chosen
        super().__init__({**inner.signature.members, SELECT: In(SELECT_BITS)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self._inner
        own = {name: value for name, _, value in _flat(self)}
        m.d.comb += self._chosen.eq(own[SELECT])
        for name, member, value in _flat(self._inner):
            m.d.comb += Value.cast(value).eq(own[name]) if member.flow == In else Value.cast(own[name]).eq(value)
        return m


@contextlib.contextmanager
def _replaced(component, chosen):
    """Every component of the same kind and with the same parameters becomes an instance of the mutated module."""
    kind, parameters = type(component), _parameters(component)
    original = kind.elaborate
    places = []

    def elaborate(self, platform):
        if _parameters(self) != parameters:
            return original(self, platform)
        places.append(self)
        pins = {f"{'i' if member.flow == In else 'o'}_{name}": value for name, member, value in _flat(self)}
        m = Module()
        m.submodules.mutated = Instance(
            _NAME, i_clk=ClockSignal(), i_rst=ResetSignal(), **{f"i_{SELECT}": chosen}, **pins
        )
        return m

    with mock.patch.object(kind, "elaborate", elaborate):
        yield places


def first(whole, kind):
    """The first component of the class ``kind`` inside of ``whole``, which nobody else may use. Raises NoPlace if
    there is none."""
    found = []

    def elaborate(self, platform):
        found.append(self)
        return original(self, platform)

    original = kind.elaborate
    with mock.patch.object(kind, "elaborate", elaborate):
        Fragment.get(whole, None)
    if not found:
        raise NoPlace(f"there is no {kind.__name__} in {type(whole).__name__}")
    return found[0]


def transplant(whole, component, text):
    """Verilog with the module ``dut``: ``whole`` (a component), with the mutants of ``component`` in ``text`` in it,
    and the input ``mutant``.

    Raises NoPlace if ``whole`` has no such component with the same parameters inside.
    """
    chosen = Signal(SELECT_BITS)
    with _replaced(component, chosen) as places:
        outer = convert(_Selectable(whole, chosen), "dut")
    if not places:
        raise NoPlace(
            f"there is no {type(component).__name__} with the parameters {_parameters(component)} in "
            f"{type(whole).__name__}"
        )
    inner = text.replace("module dut(", f"module {_NAME}(", 1)
    if inner == text:
        raise ValueError("the text of the mutants has no module dut")
    for name in ("clk", "rst"):
        if f"input {name};" not in inner:  # it has no registers
            inner = inner.replace(f"module {_NAME}(", f"module {_NAME}({name}, ", 1).replace(
                ");\n", f");\n  input {name};\n", 1
            )
    return outer + inner

"""Deliberate faults: a component in which one named signal carries something else than it should.

A proof that cannot fail proves nothing. So each proof has a table of faults, and a test that it finds each of them.
"""

import contextlib
from dataclasses import dataclass
from unittest import mock

import pytest
from amaranth.hdl import Fragment, Signal
from amaranth.hdl._ast import Assign
from amaranth.hdl._xfrm import StatementTransformer, ValueTransformer

__all__ = ["Fault", "Signals", "cases"]


class _Values(ValueTransformer):
    """Each signal becomes what ``change`` gives for it."""

    def __init__(self, change):
        self.on_Signal = change


class _Statements(StatementTransformer):
    """The signals that are assigned become what ``driven`` gives for them, those that are read what ``read`` gives."""

    def __init__(self, driven, read):
        self._driven, self.on_value = _Values(driven), _Values(read)

    def on_Assign(self, stmt):
        return Assign(self._driven(stmt.lhs), self.on_value(stmt.rhs))


class Signals:
    """The signals that a component assigns or reads, as attributes by their names.

    AttributeError if there is none of that name, or several. ``all(name)``: a list of those of that name, in the
    order of the text.
    """

    def __init__(self, signals):
        self._signals = signals

    def all(self, name):
        found = [signal for signal in self._signals if signal.name == name]
        if not found:
            names = ", ".join(sorted({signal.name for signal in self._signals}))
            raise AttributeError(f"no signal is named {name}; there are {names}")
        return found

    def __getattr__(self, name):
        found = self.all(name)
        if len(found) > 1:
            raise AttributeError(f"{len(found)} signals are named {name}; choose of all({name!r})")
        return found[0]


@dataclass(frozen=True)
class Fault:
    """In each component of the class ``kind`` the signal named ``signal`` carries what ``value`` gives.

    ``value``: a function of the sound value and of the component's Signals. A signal that the component assigns carries
    it for all who read it; another (an input, an output of a submodule) for the component alone. If several signals have
    that name, all of them are changed. What submodules do inside is not touched.

    Raises AttributeError, when the component is elaborated, if no signal has the name.
    """

    kind: type
    signal: str
    value: object

    @contextlib.contextmanager
    def injected(self):
        """For the time of a ``with``, what is elaborated has the fault. ValueError if there was no such component."""
        sound = self.kind.elaborate
        places = []

        def elaborate(component, platform):
            places.append(component)
            return self._change(Fragment.get(sound(component, platform), platform))

        with mock.patch.object(self.kind, "elaborate", elaborate):
            yield
        if not places:
            raise ValueError(f"no {self.kind.__name__} was elaborated")

    def _change(self, fragment):
        driven, read = {}, {}

        def note(into):
            def on_signal(signal):
                into[id(signal)] = signal
                return signal

            return on_signal

        look = _Statements(note(driven), note(read))
        for statements in fragment.statements.values():
            look(statements)
        signals = Signals(list({**driven, **read}.values()))
        added, lhs, rhs = [], {}, {}
        for number, signal in enumerate(signals.all(self.signal)):
            other = Signal.like(signal, name=f"{self.signal}__{number}")
            if id(signal) in driven:
                lhs[id(signal)] = other
                added.append(signal.eq(self.value(other, signals)))
            else:
                rhs[id(signal)] = other
                added.append(other.eq(self.value(signal, signals)))
        change = _Statements(
            lambda signal: lhs.get(id(signal), signal),
            lambda signal: rhs.get(id(signal), signal),
        )
        for domain, statements in fragment.statements.items():
            fragment.statements[domain] = change(statements)
        fragment.add_statements("comb", added)
        return fragment


def cases(faults, everyday=2):
    """Parameters of a test for each fault in ``faults``, named by it; all but the first ``everyday`` are nightly."""
    return [
        pytest.param(fault, id=fault, marks=() if n < everyday else pytest.mark.nightly) for n, fault in enumerate(faults)
    ]

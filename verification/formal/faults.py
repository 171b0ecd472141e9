"""Deliberate faults: a component in which one named signal carries something else than it should.

A proof that cannot fail proves nothing. So each proof has a table of faults, and a test that it finds each of them.
"""

import contextlib
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from unittest import mock

from amaranth.hdl import Cat, Const, Fragment, Signal, Value
from amaranth.hdl._ast import Assign, Part
from amaranth.hdl._xfrm import StatementTransformer, ValueTransformer
from amaranth.lib import data

__all__ = ["Fault", "Signals", "with_fields"]

#: What Amaranth calls the port of a memory that was made without a name.
_PORT = "$signature__"


class _Values(ValueTransformer):
    """Each signal becomes what ``change`` gives for it; those that tell which part of another is meant, ``index``."""

    def __init__(self, change, index=None):
        self.on_Signal, self._index = change, index or self

    def on_Part(self, value):
        return Part(self.on_value(value.value), self._index(value.offset), value.width, value.stride)


class _Statements(StatementTransformer):
    """The signals that are assigned become what ``driven`` gives for them, those that are read what ``read`` gives."""

    def __init__(self, driven, read):
        self.on_value = _Values(read)
        self._driven = _Values(driven, self.on_value)

    def on_Assign(self, stmt):
        return Assign(self._driven(stmt.lhs), self.on_value(stmt.rhs))


class _Only(_Statements):
    """The assignments to one signal alone, with ``other`` instead of it on the left."""

    def __init__(self, signal, other):
        super().__init__(lambda one: other if one is signal else Signal.like(one, name="unused"), lambda one: one)
        self._signal = signal

    def on_Assign(self, stmt):
        found = []
        _Values(lambda one: found.append(one) or one)(stmt.lhs)
        return super().on_Assign(stmt) if any(one is self._signal for one in found) else []

    def on_Property(self, stmt):
        return []

    on_Print = on_Property


class Signals:
    """The signals of a component by their names: as attributes or, where a name is put together, in brackets.

    They are its members, what it leaves in ``probes``, and what else its own statements assign or read; the first of
    these that has the name. A struct of the first two kinds has its fields. ``local(name)``: the one that is no member.
    A dot stands between a submodule and its port: "bypass.coming". The port of a memory that has no name is "port":
    "port__en".

    Raises
    ------
    AttributeError
        If there is none of that name, with the names that there are; or several.
    """

    def __init__(self, component, used, parts):
        members = [value for _, _, value in component.signature.flatten(component)]
        spied = {
            name: value
            for name, value in vars(getattr(component, "probes", SimpleNamespace())).items()
            if isinstance(value, (Value, data.View))
        }
        self._shapes = {
            id(Value.cast(value)): value.shape()
            for value in [*members, *spied.values()]
            if isinstance(value, data.View)
        }
        self._members = {id(value): value for value in map(Value.cast, members) if type(value) is Signal}
        self._spied = {name: Value.cast(value) for name, value in spied.items()}
        self._used = used
        self._parts = parts
        self._of_parts = {key for part in parts.values() for key in part}

    def _all(self, name, members=True):
        part, dot, port = name.rpartition(".")
        if dot:
            ports = self._parts.get(part, {}).items()
            return [signal for key, signal in ports if key in self._used and signal.name == port]
        found = [signal for signal in self._members.values() if signal.name == name] if members else []
        if not found and type(self._spied.get(name)) is Signal:
            found = [self._spied[name]]
        return found or [
            signal
            for key, signal in self._used.items()
            if key not in self._members and key not in self._of_parts and signal.name.replace(_PORT, "port__") == name
        ]

    def _one(self, name, members=True):
        found = self._all(name, members)
        if not found:
            names = {one.name.replace(_PORT, "port__") for one in [*self._members.values(), *self._used.values()]}
            raise AttributeError(f"no signal is named {name}; there are {', '.join(sorted(names | {*self._spied}))}")
        if len(found) > 1:
            raise AttributeError(f"{len(found)} signals are named {name}")
        return found[0]

    def local(self, name):
        return self._one(name, members=False)

    def __getitem__(self, name):
        signal = self._one(name)
        return self.seen(signal, signal)

    __getattr__ = __getitem__

    def seen(self, signal, other):
        """``other``, of the shape of ``signal``, with its fields if that is known to be a struct."""
        return data.View(self._shapes[id(signal)], other) if id(signal) in self._shapes else other

    def row(self, name):
        """The Signal of that name; or those of a name with "{n}" in it, for n from 0 on: a list, with n."""
        if "{n}" not in name:
            return [(self._one(name), ())]
        found = []
        while not found or self._all(name.format(n=len(found))):
            found.append((self._one(name.format(n=len(found))), (len(found),)))
        return found


@dataclass(frozen=True)
class Fault:
    """In each component of the class ``kind`` the signal named ``signal`` carries what ``value`` gives.

    ``value`` is a function of the sound value and of the component's Signals. A signal that the component assigns in a
    clock domain has that value from the next edge on, and the sound one is what it would have had. One that it assigns
    otherwise carries it for all who read it; an input, or an output of a submodule, for the component alone. What
    submodules do inside is not touched.

    With "{n}" in its name it is a fault of a row of signals, with n from 0 on; ``value`` is told n, too.

    ``at_once``: a signal that is assigned in a clock domain carries the value in the same cycle, and the sound one is
    that of the register. ``resets``: this register goes back to its initial value with a reset, though it should not.

    Raises AttributeError, when the component is elaborated, if no signal has the name.
    """

    kind: type
    signal: str
    value: object
    at_once: bool = False
    resets: bool = False

    @contextlib.contextmanager
    def injected(self):
        """For the time of a ``with``, what is elaborated has the fault. ValueError if there was no such component."""
        sound = self.kind.elaborate
        places = []

        def elaborate(component, platform):
            places.append(component)
            return self._change(component, Fragment.get(sound(component, platform), platform))

        with mock.patch.object(self.kind, "elaborate", elaborate):
            yield
        if not places:
            raise ValueError(f"no {self.kind.__name__} was elaborated")

    def _change(self, component, fragment):
        driven, used = _signals(fragment)
        signals = Signals(component, used, {name: _signals(part)[1] for part, name, _ in fragment.subfragments})
        for signal, number in signals.row(self.signal):
            domain = driven.get(id(signal))
            put = self._replace if domain in (None, "comb") or self.at_once else self._next
            put(fragment, signal, domain, partial(self._wrong, signals, signal, number))
        return fragment

    def _wrong(self, signals, signal, number, was):
        return self.value(signals.seen(signal, was), signals, *number)

    def _replace(self, fragment, signal, domain, value):
        """What is assigned to the signal goes into another; or who reads it reads another."""
        reset = {"reset_less": False} if self.resets else {}
        other = Signal.like(signal, name=f"sound_{signal.name}" if domain else f"wrong_{signal.name}", **reset)

        def swap(one):
            return other if one is signal else one

        change = _Statements(swap, lambda one: one) if domain else _Statements(lambda one: one, swap)
        for name, statements in fragment.statements.items():
            fragment.statements[name] = change(statements)
        fragment.add_statements("comb", signal.eq(value(other)) if domain else other.eq(value(signal)))

    @staticmethod
    def _next(fragment, signal, domain, value):
        """What a register would have after the next edge stands in another signal, a cycle earlier."""
        other, unused = (Signal.like(signal, name=f"{name}_{signal.name}") for name in ("next", "unused"))
        statements = fragment.statements[domain]
        fragment.add_statements("comb", other.eq(signal), _Only(signal, other)(statements))
        change = _Statements(lambda one: unused if one is signal else one, lambda one: one)
        fragment.statements[domain] = change(statements)
        fragment.add_statements(domain, signal.eq(value(other)))


def _signals(fragment):
    """What a fragment assigns, with the domain, and all that it assigns or reads: by the identities of the signals."""
    driven, used = {}, {}
    for domain, statements in fragment.statements.items():

        def assigned(signal, domain=domain):
            driven[id(signal)] = domain
            return read(signal)

        def read(signal):
            used[id(signal)] = signal
            return signal

        _Statements(assigned, read)(statements)
    return driven, used


def with_fields(view, **fields):
    """``view``, a struct, with other values in the ``fields`` that are named: a Value."""
    parts = []
    for name, field in data.Layout.cast(view.shape()):
        other = Value.cast(fields.get(name, view[name]))
        parts.append((other | Const(0, field.width))[: field.width])
    return Cat(parts)

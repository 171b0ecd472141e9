"""Which part of a component drives which: read from its elaborated RTL.

A part is a submodule, with the number at the end of its name taken off (``input_0``, ``input_1`` are ``input``); the
component's own ports are parts, too, as ``.name``. What the component itself computes between two parts, in any number
of steps, is no part: it is looked through.
"""

import re

from amaranth.hdl import Fragment, Value
from amaranth.lib import wiring

__all__ = ["open_component"]


def open_component(component, *inside):
    """(parts, links) of an Amaranth component.

    Parameters
    ----------
    component : wiring.Component
        Not elaborated yet.
    inside : str
        Names of submodules that hold the parts: of the first in it, of the second in that one, and so on.

    Returns
    -------
    tuple
        {name: submodule}, numbered ones once, and {(driver, driven)} of their names and those of ports.
    """
    fragment = Fragment.get(component, None)
    for name in inside:
        fragment = fragment.find_subfragment(name)
    parts = [(_plain(name), _component(part)) for part, name, _ in fragment.subfragments if name is not None]
    return dict(parts), _links(component, fragment, parts)


def _plain(name):
    return re.sub(r"_\d+$", "", name)


def _component(fragment):
    """What a fragment was made of: a component, or something without ports, as a memory."""
    made_of = fragment.origins or (None,)
    return next((each for each in made_of if isinstance(each, wiring.Component)), made_of[0])


def _keys(signals):
    """What stands for signals in sets: they have no hash of their own, and live as long as the fragment."""
    return {id(signal) for signal in signals}


def _ports(component):
    """(name of the port, whether the component drives it, its signals) of each leaf of a component's signature."""
    for path, member, value in component.signature.flatten(component):
        yield path[0], member.flow == wiring.Out, _keys(Value.cast(value)._lhs_signals())


def _assignments(statements):
    """(signals driven, signals read) of each assignment, conditions around it counted as read."""
    for statement in statements:
        if hasattr(statement, "cases"):
            test = _keys(statement.test._rhs_signals())
            for _, inner, *_ in statement.cases:
                yield from ((driven, read | test) for driven, read in _assignments(inner))
        elif hasattr(statement, "lhs"):
            try:
                yield _keys(statement.lhs._lhs_signals()), _keys(statement.rhs._rhs_signals())
            except NotImplementedError:  # the clock or the reset of a domain: no part drives it
                continue


def _links(component, fragment, parts):
    """{(driver, driven)} of the parts and ports of a component."""
    sources, sinks = {}, {}

    def add(name, drives, signals):
        for signal in signals:
            (sources if drives else sinks).setdefault(signal, set()).add(name)

    for name, part in parts:
        if isinstance(part, wiring.Component):
            for _, out, signals in _ports(part):
                add(name, out, signals)
    for name, out, signals in _ports(component):
        add(f".{_plain(name)}", not out, signals)
    drives = {}
    for statements in fragment.statements.values():
        for driven, read in _assignments(statements):
            for signal in driven:
                drives.setdefault(signal, set()).update(read)
    return {
        (driver, driven)
        for signal, names in sinks.items()
        for origin in _origins(signal, drives, sources)
        for driver in origin
        for driven in names
        if driver != driven
    }


def _origins(signal, drives, sources):
    """The sets of parts that ``signal`` comes from, by way of the component's own signals."""
    seen, edge = {signal}, [signal]
    if signal in sources:
        yield sources[signal]
    while edge:
        for read in drives.get(edge.pop(), ()):
            if read in seen:
                continue
            seen.add(read)
            if read in sources:
                yield sources[read]
            else:
                edge.append(read)

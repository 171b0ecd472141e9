"""Levels of logic in front of each register of a synthesised netlist, for work on the clock without place and route."""

from collections import Counter
from dataclasses import dataclass
from graphlib import TopologicalSorter

__all__ = ["Deep", "levels"]

#: Cells whose outputs begin a path: registers and block RAMs.
_STATE = ("TRELLIS_FF", "DP16KD")
#: A carry cell takes as long as a LUT from its other inputs, but next to nothing from the cell before it.
_CARRY = "CCU2C"
_LUT_RAM = "TRELLIS_DPR16X4"


@dataclass(frozen=True)
class Deep:
    """A signal in a register or a memory: the most ``levels`` in front of it, and ``path``, the signals on the way from
    the register where it begins."""

    signal: str
    levels: int
    path: tuple


def _named(module):
    """The name of each bit of a ``module`` of a netlist: of those that it has, one of the source's, else the
    shortest."""
    names = {}
    for name, net in module["netnames"].items():
        for n, bit in enumerate(net["bits"]):
            text = f"{name}[{n}]" if len(net["bits"]) > 1 else name
            names[bit] = min(names.get(bit, (2,)), (net.get("hide_name", 0), len(text), text))
    return {bit: text for bit, (_, _, text) in names.items()}


def _bits(cell, direction):
    """(port, bit) of a ``cell``, of the ports of that direction, without constants."""
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == direction:
            yield from ((port, bit) for bit in bits if isinstance(bit, int))


def _reads(kind, port):
    """Whether a cell's output follows this input port in the same cycle."""
    return kind not in _STATE and (kind != _LUT_RAM or port.startswith("RAD"))


def levels(netlist, top):
    """The Deep of each signal that a register or a memory takes, the deepest first, and a Counter of them by levels.

    ``netlist``: what yosys' ``write_json`` wrote for an ECP5, as an object. ``top``: its module, flattened. LUTs, LUT
    RAMs and carry cells count as a level each; a chain of carry cells counts as one."""
    module = netlist["modules"][top]
    names, cells = _named(module), module["cells"]
    driver = {bit: name for name, cell in cells.items() for _, bit in _bits(cell, "output")}
    needs = {
        name: {driver[bit] for port, bit in _bits(cell, "input") if bit in driver and _reads(cell["type"], port)}
        for name, cell in cells.items()
    }
    depth, before = {}, {}
    for name in TopologicalSorter(needs).static_order():
        cell = cells[name]
        most = 0, None
        for port, bit in _bits(cell, "input"):
            if bit in driver and _reads(cell["type"], port):
                chained = cell["type"] == _CARRY and port == "CIN"
                most = max(most, (depth[driver[bit]] + (not chained), bit), key=lambda one: one[0])
        depth[name], before[name] = most if most[1] is not None or cell["type"] in _STATE else (1, None)
    found = {}
    for cell in cells.values():
        if cell["type"] not in (*_STATE, _LUT_RAM):
            continue
        signals = [names[bit] for _, bit in _bits(cell, "output")]
        for port, bit in _bits(cell, "input"):
            if (
                "CLK" in port
                or port == "WCK"
                or bit not in driver
                or cell["type"] == _LUT_RAM
                and _reads(_LUT_RAM, port)
            ):
                continue
            path, name = [names[bit]], driver[bit]
            while before[name] is not None:
                path.append(names[before[name]])
                name = driver[before[name]]
            signal = signals[0] if signals else names[bit]
            deep = Deep(signal, depth[driver[bit]], tuple(reversed(path)))
            found[signal] = max(found.get(signal, deep), deep, key=lambda one: one.levels)
    deepest = sorted(found.values(), key=lambda one: (-one.levels, one.signal))
    return deepest, Counter(one.levels for one in deepest)

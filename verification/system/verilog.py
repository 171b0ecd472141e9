"""Verilog of a whole system: every board of a topology in one module, its pins at the top.

The fibers are not in it: whoever simulates it carries the symbols from pin to pin, as ``docs/engine.md`` rules.
"""

import re
from pathlib import Path

from ..bench import elaborated

__all__ = ["Board", "TOP", "assemble", "pins", "system"]

#: Name of the module that holds the boards.
TOP = "system"

_PORT = re.compile(r"^  (input|output)(?: \[(\d+):0\])? (\w+) ?;$", re.M)
_FIBER_PIN = re.compile(r"(\w+)__(?:rx|tx)__(payload|valid|ready)")


class Board:
    """One instance of a board in a system.

    Parameters
    ----------
    name : str
        Name of the instance, and what its pins at the top begin with.
    module : str
        Verilog module that it is an instance of.
    ports : iterable of str
        Prefixes of the fiber ports that have fibers (``port_3``, ``fiber``). The others are not brought to the top:
        nothing ever arrives there, and what is sent there is lost.
    constants : dict of str → int
        Input pins that hold a value for ever.
    """

    def __init__(self, name, module, ports=(), constants=None):
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            raise ValueError(f"a board's name is made of letters, digits and _, not {name!r}")
        self.name = name
        self.module = module
        self.ports = frozenset(ports)
        self.constants = dict(constants or {})


def pins(text, module):
    """The pins of ``module`` in the Verilog ``text``, as Amaranth writes it: a list of (name, direction, width)."""
    body = re.search(rf"^module \\?{re.escape(module)} ?\(.*?^endmodule$", text, re.M | re.S)
    if body is None:
        raise ValueError(f"there is no module {module} in this Verilog")
    return [(name, direction, int(high or 0) + 1) for direction, high, name in _PORT.findall(body[0])]


def _connection(board, name, direction, width):
    """What pin ``name`` of ``board`` is connected to, and whether that is a pin of the top."""
    if name in board.constants:
        return f"{width}'d{board.constants[name]}", False
    fiber = _FIBER_PIN.fullmatch(name)
    if fiber is None or fiber[1] in board.ports:
        return f"{board.name}__{name}", True
    if direction == "output":
        return "", False
    return f"{width}'d{1 if fiber[2] == 'ready' else 0}", False


def assemble(boards, modules, top=TOP):
    """Verilog text of a system.

    Parameters
    ----------
    boards : list of Board
    modules : dict of str → str
        For each module's name the Verilog text that holds it (and what it is made of).

    Every pin ``p`` of a board ``B`` is the pin ``B__p`` of the module ``top``, clock and reset among them; a port
    without fibers and a pin with a constant is tied off instead.
    """
    known = {module: pins(text, module) for module, text in modules.items()}
    declarations, instances = [], []
    for board in boards:
        connections = []
        unused = {name for name in board.constants} - {name for name, *_ in known[board.module]}
        if unused:
            raise ValueError(f"module {board.module} has no pin {', '.join(sorted(unused))}")
        for name, direction, width in known[board.module]:
            target, at_top = _connection(board, name, direction, width)
            connections.append(f"    .{name}({target})")
            if at_top:
                declarations.append(f"  {direction} wire {f'[{width - 1}:0] ' if width > 1 else ''}{target}")
        instances.append(f"  {board.module} {board.name} (\n" + ",\n".join(connections) + "\n  );\n")
    text = f"module {top} (\n" + ",\n".join(declarations) + "\n);\n" + "".join(instances) + "endmodule\n"
    return "\n".join([*modules.values(), text])


def _hub(name, ports, profile):
    from ...hdl.hub import hub
    from ...hdl.hub.profile import HUB_PROFILES
    from ...hdl.verilog import convert

    return elaborated(
        (name, ports, profile), Path(hub.__file__), lambda: convert(hub.Hub(ports, HUB_PROFILES[profile]), name)
    )


def _cab(name):
    from ...hdl.cab import cab
    from ...hdl.verilog import convert

    return elaborated((name,), Path(cab.__file__), lambda: convert(cab.Cab(), name))


def system(topology, profile):
    """Verilog text of the boards of ``topology`` (a ``nectar.sim.topology.Topology``) in the RTL of ``profile``; each
    kind of board is elaborated once for all systems."""
    wired = {}
    for fiber in topology.fibers:
        for end in (fiber.a, fiber.b):
            wired.setdefault(end.board, set()).add("fiber" if end.port is None else f"port_{end.port}")
    modules = {
        f"hub{ports}": _hub(f"hub{ports}", ports, profile.hub_profile)
        for ports in sorted({hub.ports for hub in topology.hubs.values()})
    }
    modules["cab"] = _cab("cab")
    boards = [
        Board(hub.name, f"hub{hub.ports}", wired.get(hub.name, ()), {"hub_id": hub.id})
        for hub in topology.hubs.values()
    ]
    boards += [Board(cab.name, "cab", wired.get(cab.name, ()), {"slept": 0}) for cab in topology.cabs.values()]
    return assemble(boards, modules)

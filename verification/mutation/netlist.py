"""Where a cell of a netlist stands, told by what it drives: the same however the text of the component is formatted."""

import json
import re
from collections import Counter

__all__ = ["Netlist"]

#: Outputs of cells. What a memory reads has a wire of its own, and what a submodule gives is not its logic.
_OUTPUTS = ("Y", "Q")
#: Names that Amaranth gives to the ports of each memory.
_OF_MEMORY = ("addr", "data", "en")


class Netlist:
    """The module ``dut`` in the JSON ``text`` of yosys.

    Each cell belongs to a signal: the nearest one with a name that what it gives goes to. What goes to an input of a
    submodule or a memory belongs to that input, as ``queue.w_en``. Cells of one kind that belong to one signal are
    counted in the order in which the expression is read from its result to its operands.
    """

    def __init__(self, text):
        module = json.loads(text)["modules"]["dut"]
        self._cells = module["cells"]
        self._names = self._named(module["netnames"])
        self._drivers = {
            bit: name
            for name, cell in self._cells.items()
            for port in _OUTPUTS
            for bit in cell["connections"].get(port, ())
            if self._is_logic(cell)
        }
        self._places, self._count = {}, Counter()
        for signal, bits in sorted(self._signals().items()):
            for bit in bits:
                self._follow(bit, signal)
        for name in self._cells:
            self._enter(name, "unnamed")

    def _named(self, nets):
        """Bit → the name of the narrowest signal that it is a part of; signals that the source does not name are left
        out.

        A pin of a submodule is named with it. A name that Amaranth has numbered, to tell it from others, counts only
        where there is no other, and so do those that all ports of memories have.
        """
        pins = {}  # plain name and bits → name
        for name, cell in self._cells.items():
            if not self._is_logic(cell):
                for port, bits in cell["connections"].items():
                    pins[self._plain(port), tuple(bits)] = f"{self._title(name, cell)}.{self._plain(port)}"
        candidates = [(name, bits) for (_, bits), name in pins.items()]
        for name, net in nets.items():
            plain, bits = self._plain(name), tuple(net["bits"])
            if plain and (plain, bits) not in pins:
                candidates.append((name, bits))
        named = {}
        for name, bits in candidates:
            vague = name != self._plain(name) or name in _OF_MEMORY
            for bit in bits:
                named[bit] = min(named.get(bit, (vague, len(bits), name)), (vague, len(bits), name))
        return {bit: name for bit, (_, _, name) in named.items()}

    def _signals(self):
        """Name → its bits."""
        signals = {}
        for bit, name in self._names.items():
            signals.setdefault(name, []).append(bit)
        return signals

    @staticmethod
    def _is_logic(cell):
        """Whether it is logic or a register: no memory, no submodule."""
        return cell["type"].startswith("$") and not cell["type"].startswith("$mem")

    @staticmethod
    def _plain(name):
        """A name without the number by which Amaranth tells it from others that are alike; "" for what has none."""
        return re.sub(r"\$\d+$|^\$.*", "", name.lstrip("\\"))

    def _title(self, name, cell):
        """What a submodule or memory is called."""
        return cell["parameters"].get("MEMID", name).lstrip("\\")

    def _enter(self, name, signal):
        """The cell belongs to ``signal``; whether that is news."""
        if name in self._places:
            return False
        kind = self.kind(name)
        self._count[signal, kind] += 1
        self._places[name] = signal, self._count[signal, kind]
        return True

    def _follow(self, bit, signal):
        """All cells from the driver of ``bit`` up to the next signals that have names belong to ``signal``."""
        waiting = [self._drivers.get(bit)]
        while waiting:
            name = waiting.pop()
            if name is None or not self._enter(name, signal):
                continue
            before = [
                self._drivers.get(bit)
                for port, bits in sorted(self._cells[name]["connections"].items())
                if port not in _OUTPUTS
                for bit in bits
                if bit not in self._names
            ]
            waiting += reversed(list(dict.fromkeys(before)))

    def kind(self, cell):
        """What kind of cell it is: "and", "mux", "dff"; of a submodule its name, of a memory "memory"."""
        kind = self._cells[cell]["type"]
        if self._is_logic(self._cells[cell]):
            return kind[1:]
        return "memory" if kind.startswith("$") else "submodule"

    def place(self, cell):
        """What tells a cell from all others: "pick | and", "pick | and 2"; of a submodule "arbiter | submodule"."""
        if not self._is_logic(self._cells[cell]):
            return f"{self._title(cell, self._cells[cell])} | {self.kind(cell)}"
        signal, count = self._places[cell]
        return f"{signal} | {self.kind(cell)}{f' {count}' if count > 1 else ''}"

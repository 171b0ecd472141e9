"""Mutants of a component: one small fault each, all in one Verilog text, chosen by the input ``mutant``.

Yosys's ``mutate`` makes them: in one bit of one port of one cell the value is inverted, held at 0 or 1, or inverted
while a neighbouring bit is 0 or 1. Only cells of the component itself are changed; its submodules have benches of their
own. One compiled model serves all mutants: 0 chooses none.
"""

import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from amaranth.back import rtlil

from ... import hdl
from ...boards.tools import yosys
from ..sources import as_named, in_words
from .netlist import Netlist

__all__ = ["Mutant", "SELECT", "SELECT_BITS", "mutate"]

#: The input that chooses the mutant, and its width.
SELECT, SELECT_BITS = "mutant", 12
#: Ports that are left alone: clocks are no logic, what a register gives out is what it took in, and those of memories
#: are constants in our RTL.
_SPARED = {"CLK", "Q", "RD_CLK", "WR_CLK", "RD_ARST", "RD_SRST", "RD_EN"}
#: Assertions are taken out: a claim has to find a mutant; besides, they fail for an instant where a vector that is
#: changed bit by bit is not settled yet.
_PREPARE = "read_rtlil dut.il; hierarchy -top dut; proc; chformal -remove; memory -nomap; opt_clean"
_MODES = {
    "inv": "inverted",
    "const0": "held at 0",
    "const1": "held at 1",
    "cnot0": "inverted while bit {} is 0",
    "cnot1": "inverted while bit {} is 1",
}


@dataclass(frozen=True)
class Mutant:
    """One fault: ``change`` of bit ``bit`` of the ``port`` of a cell at ``place`` (``Netlist.place``).

    ``copy`` counts those that would else have the same name; ``order`` is yosys's own word for it. ``source``: the line
    that made the cell, "controller.py:128", for those who look for it; "" if that is not known.
    """

    number: int
    order: str
    place: str
    port: str
    bit: int
    change: str
    source: str
    copy: int = 1

    @property
    def name(self):
        """What it is called in tables and reports; the same as long as the logic and the names of the signals are."""
        again = f" ({self.copy})" if self.copy > 1 else ""
        return f"{self.place} {self.port}[{self.bit}] {self.change}{again}"


def _option(words, name, default=None):
    return words[words.index(name) + 1] if name in words else default


def _identity(line):
    """What tells a mutant from all others, without the paths of its sources: the same wherever the project lies."""
    return re.sub(r" -src \S+", "", line)


def _source(words, roots):
    """File and line of the source, the innermost of ours; "" if there is none."""
    for word in reversed([words[index + 1] for index, word in enumerate(words) if word == "-src"]):
        path, _, line = as_named(word).rpartition(":")
        if any(Path(path).resolve().is_relative_to(root) for root in roots):
            return f"{Path(path).name}:{line}"
    return ""


def mutate(component, directory, count, seed=1, sample=None):
    """Makes mutants of ``component`` in ``directory``; returns Verilog text with the module ``dut`` and a list of
    Mutants.

    ``count``: how many, drawn with ``seed`` from all that there can be; None: all. ``sample``: keep only so
    many of these, drawn likewise. The netlist stays in ``directory`` as ``mutants.il``, the Verilog
    as ``mutants.v``.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "dut.il").write_text(in_words(rtlil.convert(component, name="dut")))
    yosys(f"{_PREPARE}; mutate -list 1000000 -seed 1 -module dut -o all.txt; write_json flat.json", directory)
    lines = [
        line
        for line in (directory / "all.txt").read_text().splitlines()
        if _option(line.split(), "-port").lstrip("\\") not in _SPARED
    ]
    lines.sort(key=_identity)
    for size in (count, sample):
        if size is not None and size < len(lines):
            lines = sorted(
                sorted(lines, key=lambda line: sha256(f"{seed} {_identity(line)}".encode()).digest())[:size],
                key=_identity,
            )
    if len(lines) >= 1 << SELECT_BITS:
        raise ValueError(f"{len(lines)} mutants are more than the input {SELECT} can choose from")
    home = Path(sys.modules[type(component).__module__].__file__).resolve()
    netlist = Netlist((directory / "flat.json").read_text())
    roots = [Path(hdl.__file__).resolve().parent, home.parent]
    mutants, orders, copies = [], [], Counter()
    for number, line in enumerate(lines, 1):
        words = line.split()
        change = _MODES[_option(words, "-mode")].format(_option(words, "-ctrlbit"))
        place = netlist.place(_option(words, "-cell").lstrip("\\"))
        port = re.sub(r"\$\d+$", "", _option(words, "-port").lstrip("\\"))
        mutant = Mutant(number, line, place, port, int(_option(words, "-portbit")), change, _source(words, roots))
        copies[mutant.name] += 1
        mutants.append(replace(mutant, copy=copies[mutant.name]))
        orders.append(line.replace("mutate ", f"mutate -ctrl {SELECT} {SELECT_BITS} {number} ", 1))
    (directory / "mutate.ys").write_text("\n".join(orders) + "\n")
    yosys(
        f"{_PREPARE}; script mutate.ys; pmuxtree; opt_clean; write_rtlil mutants.il; write_verilog -noattr mutants.v",
        directory,
    )
    return (directory / "mutants.v").read_text(), mutants

"""Mutants that are none: whose outputs never differ from the original's, shown by yosys and ABC.

Two ways. ``equivalent``: the mutant's registers are paired with the original's by name and cut open; if both have the
same content, all that they take in next, and all outputs, are the same (``expose -evert-dff``, ``sat``): this finds
logic that is redundant. Submodules are cut out: what they are told must be the same, and what they give may be anything
that is the same, too. Where there is a memory all pairs are shown to be equal by induction over a few cycles
(``equiv_induct``); what the memory is told must be equal, too, and what it gives may then be anything, as long as it is
the same. ``unreached``: first the registers of the submodules are cut open, too: this finds what the submodules do not
look at. Then outputs alone are compared, in all states that can be reached from the reset (ABC's ``pdr``, of "property
directed reachability"): this finds what no such state shows. Where a submodule has a large memory the registers are
paired instead, and where a line resets a register at any time those of the submodules decide, since ABC knows one clock
only. It is not for components with a large memory of their own."""

import importlib.util
import re
import subprocess
from pathlib import Path

from ...boards.tools import yosys
from .mutants import SELECT, SELECT_BITS

__all__ = ["equivalent", "unreached"]

#: Cycles of the induction, and seconds that a proof may take.
_CYCLES, _SECONDS = 3, 120
#: Bits of memory that become registers in a proof.
_SMALL = 2048
_ASYNCHRONOUS = "cell $adff"
#: Memories by name; tables that yosys has made of choices are logic, and become it again in proofs.
_MEMORY = re.compile(r'^    parameter \\MEMID "(?!\$auto\$proc_rom)', re.M)
_CELL = re.compile(r"^  cell \$mem_v2 (?:.*\n)*?  end$", re.M)
_SAME, _PAIRED, _NEVER = "no model found: SUCCESS!", "Equivalence successfully proven!", "Property proved."
_MITER = "miter -equiv -flatten{} gold gate pair; hierarchy -top pair; opt_expr; opt_merge; opt_clean"
#: The proofs. A register that only one of both has, since nothing needs it any more, stays closed, and can have any
#: content: without its initial one being taken away, ``sat`` would take it for what the register holds.
_CUT_OPEN = (
    "setattr -unset init w:*; opt_clean -purge; expose -shared -dff -evert-dff gold gate; "
    "expose -shared -evert gold/c:* gate/c:*; "
    f"{_MITER.format(' -make_assert')}; sat -seq 1 -prove-asserts -ignore_unknown_cells -timeout {_SECONDS} pair"
)
#: Names of wires other than registers are taken away, or these would be paired, too, whether they matter or not.
_BY_PAIRS = (
    "rename -hide w:* t:*dff* %co1:+[Q] w:* %i %d; equiv_make gold gate pair; hierarchy -top pair; clean; delete "
    "t:$mem_v2 t:dut.*; "
    f"equiv_simple; equiv_induct -seq {_CYCLES}; equiv_status"
)
_FLAT = "setattr -mod -unset keep_hierarchy *; flatten"
_AIG = (
    f"{_FLAT}; memory_map; opt_clean; {_MITER.format('')}; async2sync; dffunmap; techmap; opt_expr; opt_merge; "
    "setundef -anyseq; opt_clean; aigmap; opt_clean; write_aiger -zinit pair{}.aig"
)


def _wrapper(name, ports, number):
    """A module around ``dut`` with mutant ``number`` chosen."""
    declarations = ", ".join(f"{direction} [{width - 1}:0] {port} " for port, direction, width in ports)
    connections = ", ".join(f".{port} ({port} )" for port, _, _ in ports)
    return f"module {name}({declarations}); dut dut(.{SELECT}({SELECT_BITS}'d{number}), {connections}); endmodule\n"


def _ports(text):
    """Ports of ``dut`` in RTLIL, without the choice of the mutant."""
    found = re.findall(r"^  wire (?:width (\d+) )?(input|output) \d+ \\(\S+)$", _module(text), re.M)
    return [(f"\\{name}", direction, int(width or 1)) for width, direction, name in found if name != SELECT]


def _proved(script, count, marker, directory):
    """Which of ``count`` proofs of a script succeeded: its log tells ``marker`` behind a line with the number."""
    parts = re.split(r"^=+ proof (\d+) =+$", yosys(script, directory), flags=re.M)
    return {
        int(number)
        for number, part in zip(parts[1::2], parts[2::2], strict=True)
        if marker in part and int(number) < count
    }


def _proofs(numbers, directory, proof):
    """A script with a ``proof`` for each of ``numbers``, of the modules ``gold`` and ``gate``, the original and the
    mutant."""
    ports = _ports((directory / "mutants.il").read_text())
    script = (
        "read_rtlil mutants.il; setattr -mod -unset top dut; setattr -mod -set keep_hierarchy 1 *; setattr -mod -unset "
        "keep_hierarchy dut; "
        "proc; memory -nomap; opt_clean; design -save one\n"
    )
    for index, number in enumerate(numbers):
        script += (
            f"log ===== proof {index} =====; design -load one\nread_verilog "
            f"<<EOT\n{_wrapper('gold', ports, 0)}{_wrapper('gate', ports, number)}EOT\n"
            f"hierarchy; proc; flatten; memory_map -rom-only; delete dut; opt_expr; opt_clean; {proof.format(index)}\n"
        )
    (directory / "proofs.ys").write_text(script)
    return "script proofs.ys"


def _module(text):
    """The module ``dut`` in RTLIL."""
    module = text[text.index("\nmodule \\dut\n") :]
    return module[: module.index("\nend\n")]


def equivalent(numbers, directory):
    """Those of the mutants ``numbers`` in ``directory`` (see ``mutate``) whose registers and outputs go as the
    original's: a set."""
    numbers, directory = list(numbers), Path(directory)
    if not numbers:
        return set()
    way, marker = (
        (_BY_PAIRS, _PAIRED) if _MEMORY.search(_module((directory / "mutants.il").read_text())) else (_CUT_OPEN, _SAME)
    )
    return {numbers[index] for index in _proved(_proofs(numbers, directory, way), len(numbers), marker, directory)}


def _memory_bits(text):
    """Bits of all memories in RTLIL that is not flat."""

    def of(cell, name):
        return int(re.search(rf"^    parameter (?:signed )?\\{name} (\d+)$", cell, re.M)[1])

    return sum(of(cell, "SIZE") * of(cell, "WIDTH") for cell in _CELL.findall(text) if _MEMORY.search(cell))


def _never_differ(numbers, directory):
    """Those of the mutants whose outputs ABC shows to be the original's in all states that it reaches from the
    reset."""
    orders = (directory / "mutate.ys").read_text().splitlines()
    numbers = [number for number in numbers if " -port clk " not in orders[number - 1]]  # ABC knows one clock only
    if not numbers:
        return set()
    script = _proofs(numbers, directory, _AIG)
    yosys(script, directory)
    abc = Path(importlib.util.find_spec("pyosys").origin).parent / "yosys-abc"
    alike = set()
    for index, number in enumerate(numbers):
        orders = f"read_aiger pair{index}.aig; pdr -T {_SECONDS}"
        told = subprocess.run([abc, "-q", orders], cwd=directory, capture_output=True, text=True, check=True).stdout
        alike |= {number} if _NEVER in told else set()
    return alike


def unreached(numbers, directory):
    """Those of the mutants ``numbers`` in ``directory`` whose outputs are the original's in all states that it
    reaches from the reset: a set."""
    numbers, directory = list(numbers), Path(directory)
    text = (directory / "mutants.il").read_text()
    small = _memory_bits(text) <= _SMALL
    of_its_own = _MEMORY.search(_module(text))
    if not numbers or of_its_own and not small:
        return set()
    ways = [] if of_its_own else [(f"{_FLAT}; memory_map; opt_clean; {_CUT_OPEN}", _SAME)]
    if not small and _ASYNCHRONOUS not in text:
        orders = (directory / "mutate.ys").read_text().splitlines()
        numbers = [
            number for number in numbers if " -port clk " not in orders[number - 1]
        ]  # this induction, too, knows one clock only
        ways = [(f"{_FLAT}; {_BY_PAIRS}", _PAIRED)]
    alike = set()
    for way, marker in ways:
        left = [number for number in numbers if number not in alike]
        proved = _proved(_proofs(left, directory, way), len(left), marker, directory) if left else ()
        alike |= {left[index] for index in proved}
    if small and _ASYNCHRONOUS not in text:
        alike |= _never_differ([number for number in numbers if number not in alike], directory)
    return alike

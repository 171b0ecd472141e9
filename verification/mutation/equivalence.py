"""Mutants that are none: whose outputs never differ from the original's, shown by yosys.

Two ways, both without a solver of our own choice. First the mutant's registers are paired with the original's by name, and all pairs are
shown to be equal by induction over a few cycles (``equiv_induct``): this finds logic that is redundant. What a memory is told must be equal, too;
what it gives may then be anything, as long as it is the same. Then outputs alone are compared, by induction from the reset state
(``sat -tempinduct``): this finds what no reachable state shows. Components with a memory, which are too large for that, are left out.
"""

import re
from pathlib import Path

from ...boards.tools import yosys
from .mutants import SELECT, SELECT_BITS

__all__ = ["equivalent"]

#: Cycles of the inductions, and seconds that the second may take for a mutant.
_CYCLES, _STEPS, _SECONDS = 3, 4, 120


def _wrapper(name, ports, number):
    """A module around ``dut`` with mutant ``number`` chosen."""
    declarations = ", ".join(f"{direction} [{width - 1}:0] {port} " for port, direction, width in ports)
    connections = ", ".join(f".{port} ({port} )" for port, _, _ in ports)
    return f"module {name}({declarations}); dut dut(.{SELECT}({SELECT_BITS}'d{number}), {connections}); endmodule\n"


def _ports(text):
    """Ports of ``dut`` in RTLIL, without the choice of the mutant."""
    module = text[text.index("\nmodule \\dut\n"):]
    module = module[:module.index("\nend\n")]
    found = re.findall(r"^  wire (?:width (\d+) )?(input|output) \d+ \\(\S+)$", module, re.M)
    return [(f"\\{name}", direction, int(width or 1)) for width, direction, name in found if name != SELECT]


def _proved(script, count, marker, directory):
    """Which of ``count`` proofs of a script succeeded: its log tells ``marker`` behind a line with the number."""
    parts = re.split(r"^=+ proof (\d+) =+$", yosys(script, directory), flags=re.M)
    return {int(number) for number, part in zip(parts[1::2], parts[2::2], strict=True) if marker in part and int(number) < count}


def equivalent(numbers, directory):
    """Those of the mutants ``numbers`` in ``directory`` (see ``mutate``) that yosys shows to be equivalent to the original: a set."""
    numbers = list(numbers)
    if not numbers:
        return set()
    directory = Path(directory)
    text = (directory / "mutants.il").read_text()
    ports = _ports(text)
    (directory / "pairs.v").write_text("".join([_wrapper("gold", ports, 0), *(_wrapper(f"gate_{n}", ports, n) for n in numbers)]))
    read = "read_rtlil mutants.il; setattr -mod -unset top dut; read_verilog pairs.v; proc; memory -nomap; flatten; delete dut; opt; design -save pairs\n"
    script = read
    for index, number in enumerate(numbers):
        # Other names of wires are taken away, or these would be paired, too, whether they matter or not.
        script += (f"log ===== proof {index} =====; design -load pairs; rename -hide w:* t:*dff* %co1:+[Q] w:* %i %d; "
                   f"equiv_make gold gate_{number} pair; hierarchy -top pair; clean; delete t:$mem_v2; "
                   f"equiv_simple; equiv_induct -seq {_CYCLES}; equiv_status\n")
    (directory / "pairs.ys").write_text(script)
    found = {numbers[index] for index in _proved("script pairs.ys", len(numbers), "Equivalence successfully proven!", directory)}
    left = [number for number in numbers if number not in found] if "cell $mem" not in text else []
    script = read
    for index, number in enumerate(left):
        script += (f"log ===== proof {index} =====; design -load pairs; miter -equiv -make_assert -flatten gold gate_{number} pair; "
                   f"hierarchy -top pair; opt -full; sat -tempinduct -prove-asserts -seq 1 -maxsteps {_STEPS} -timeout {_SECONDS} pair\n")
    if left:
        (directory / "outputs.ys").write_text(script)
        found |= {left[index] for index in _proved("script outputs.ys", len(left), "Induction step proven: SUCCESS!", directory)}
    return found

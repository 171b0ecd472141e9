"""Mutants that are none: whose outputs never differ from the original's, shown by yosys.

Three ways, all without a solver of our own choice. First the mutant's registers are paired with the original's by name and cut open: if both
have the same content, all that they take in next, and all outputs, are the same (``expose -evert-dff``, ``sat``): this is fast, and finds most. Then
all pairs are shown to be equal by induction over a few cycles (``equiv_induct``). Then outputs alone are compared, by induction from the reset
state (``sat -tempinduct``): this finds what no reachable state shows.
"""

import re
from pathlib import Path

from ...boards.tools import yosys
from .mutants import SELECT, SELECT_BITS

__all__ = ["equivalent"]

#: Cycles of the inductions, and seconds that the second may take for a mutant.
_CYCLES, _STEPS, _SECONDS = 3, 8, 120
#: The first way, of modules gold and gate. What only one of them has (a register that nothing needs any more) stays closed, and can have any content.
_OPEN = (f"hierarchy; proc; flatten; delete dut; opt_expr; opt_clean -purge; expose -shared -dff -evert-dff gold gate; "
         f"miter -equiv -make_assert -flatten gold gate pair; hierarchy -top pair; opt -full; sat -prove-asserts -timeout {_SECONDS} pair\n")


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


def _opened(numbers, directory, ports):
    script = "read_rtlil mutants.il; setattr -mod -unset top dut; proc; memory; opt_clean; design -save one\n"
    for index, number in enumerate(numbers):
        script += (f"log ===== proof {index} =====; design -load one\nread_verilog <<EOT\n"
                   f"{_wrapper('gold', ports, 0)}{_wrapper('gate', ports, number)}EOT\n{_OPEN}")
    (directory / "open.ys").write_text(script)
    return {numbers[index] for index in _proved("script open.ys", len(numbers), "no model found: SUCCESS!", directory)}


def _induced(numbers, directory, ports):
    (directory / "pairs.v").write_text("".join([_wrapper("gold", ports, 0), *(_wrapper(f"gate_{n}", ports, n) for n in numbers)]))
    read = "read_rtlil mutants.il; setattr -mod -unset top dut; read_verilog pairs.v; proc; memory; flatten; delete dut; opt; design -save pairs\n"
    script = read
    for index, number in enumerate(numbers):
        script += (f"log ===== proof {index} =====; design -load pairs; equiv_make gold gate_{number} pair; hierarchy -top pair; clean; "
                   f"equiv_simple; equiv_induct -seq {_CYCLES}; equiv_status\n")
    (directory / "pairs.ys").write_text(script)
    found = {numbers[index] for index in _proved("script pairs.ys", len(numbers), "Equivalence successfully proven!", directory)}
    left = [number for number in numbers if number not in found]
    script = read
    for index, number in enumerate(left):
        script += (f"log ===== proof {index} =====; design -load pairs; miter -equiv -make_assert -flatten gold gate_{number} pair; "
                   f"hierarchy -top pair; opt -full; sat -tempinduct -prove-asserts -seq 1 -maxsteps {_STEPS} -timeout {_SECONDS} pair\n")
    if left:
        (directory / "outputs.ys").write_text(script)
        found |= {left[index] for index in _proved("script outputs.ys", len(left), "Induction step proven: SUCCESS!", directory)}
    return found


def equivalent(numbers, directory, *, quick=True, thorough=True):
    """Those of the mutants ``numbers`` in ``directory`` (see ``mutate``) that yosys shows to be equivalent to the original: a set.

    ``quick``: the first way is tried; ``thorough``: the other two, which may take minutes for a mutant that is not.
    """
    directory, found = Path(directory), set()
    for way in [_opened] * quick + [_induced] * thorough:
        left = [number for number in numbers if number not in found]
        found |= way(left, directory, _ports((directory / "mutants.il").read_text())) if left else set()
    return found

"""One cocotb simulation for a benchmark: in a process of its own, which leaves what it found in a file of JSON."""

import importlib.util
import json
import os
import tempfile
from pathlib import Path

from ...extras import how_to_get
from ...sim.build import BuildError
from .outcome import NotInstalled

__all__ = ["ORDER", "RESULT", "found"]

#: Environment variable with what is to be done, in JSON.
ORDER = "NECTAR_ORDER"
#: File in which the simulation leaves what it found.
RESULT = "found.json"


def found(make, module, *, top, order):
    """What the cocotb tests of ``module`` find on a model when given ``order``.

    Parameters
    ----------
    make : callable
        Gives the Verilog text.
    module : str
        Its Python module, in this package.
    top : str
        The Verilog module that is simulated; only its pins are seen.
    order : dict

    Raises NotInstalled without cocotb, BuildError when it cannot be compiled or run.
    """
    if importlib.util.find_spec("cocotb") is None or importlib.util.find_spec("cocotb_tools") is None:
        raise NotInstalled(f"cocotb is not installed; {how_to_get('test')}")
    from ..simulation import simulate

    with tempfile.TemporaryDirectory() as directory:
        outcome = simulate(
            make(),
            f"{__package__}.{module}",
            top=top,
            directory=directory,
            ports_only=True,
            optimisation="-O2",
            environment={ORDER: json.dumps(order)},
        )
        result = Path(directory, RESULT)
        if not result.exists() or any(item is not True for item in outcome.results.values()):
            raise BuildError(f"the simulation under cocotb failed: {_reason(outcome)}")
        return json.loads(result.read_text())


def _reason(outcome):
    """One line of what went wrong."""
    failures = [result for result in outcome.results.values() if result is not True]
    lines = [line.strip() for line in outcome.log.splitlines() if "rror" in line]
    return (failures + lines + ["it said nothing"])[0].replace(os.linesep, " ")

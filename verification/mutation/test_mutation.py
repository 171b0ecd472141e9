"""The machinery of mutation: mutants are what they say, and what must be found is found."""

import importlib.util
import inspect
import random
import re
import sys

import cocotb
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from nectar.verification.bench import Bench
from nectar.verification.mutation.campaign import CHECKS, Material, Report, run
from nectar.verification.mutation.equivalence import equivalent
from nectar.verification.mutation.mutants import mutate
from nectar.verification.mutation.targets import TARGETS, Target
from nectar.verification.mutation.transplant import transplant
from nectar.verification.mutation.trial import CampaignError, Kill, Trial


class Adder(wiring.Component):
    """``total`` of all that came in, modulo 16; ``odd`` says it twice, and one of them is of no use."""

    def __init__(self, step=1):
        self.step = step
        super().__init__({"more": In(3), "total": Out(4), "odd": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.total.eq(self.total + self.more * self.step)
        m.d.comb += self.odd.eq(self.total[0] & (self.total[0] | self.more[0]))
        return m


class Board(wiring.Component):
    """Two adders of step 1, and one of step 2."""

    more: In(3)
    total: Out(4)
    odd: Out(1)

    def elaborate(self, platform):
        m = Module()
        adders = [Adder(), Adder(2), Adder()]
        for n, adder in enumerate(adders):
            m.submodules[f"adder_{n}"] = adder
            m.d.comb += adder.more.eq(self.more)
        m.d.comb += [self.total.eq(adders[0].total + adders[1].total), self.odd.eq(adders[2].odd)]
        return m


@cocotb.test(timeout_time=10, timeout_unit="us")
async def adds(dut):
    """The bench of the adder."""
    Clock(dut.clk, 10, unit="ns").start()
    dut.rst.value, dut.more.value = 1, 0
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value, total = 0, 0
    for _ in range(200):
        dut.more.value = more = random.randrange(8)
        await FallingEdge(dut.clk)
        total = (total + more) % 16
        assert (int(dut.total.value), int(dut.odd.value)) == (total, total & 1)
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    assert int(dut.total.value) == 0


@cocotb.test(timeout_time=10, timeout_unit="sec")
async def comes_around(dut):
    """Waits for ever if the total never is 15."""
    Clock(dut.clk, 10, unit="ns").start()
    dut.rst.value, dut.more.value = 1, 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    while int(dut.total.value) != 15:
        await FallingEdge(dut.clk)


@cocotb.test()
async def refuses(dut):
    """A claim that is wrong."""
    assert False, "wrong"


bench = Bench(__name__, {"adder": Adder}, ports_only=True)


@pytest.fixture(scope="module")
def adder(tmp_path_factory):
    """All mutants of the adder: directory, Verilog, mutants, which the bench found."""
    directory = tmp_path_factory.mktemp("adder")
    text, mutants = mutate(Adder(), directory, None)
    found = Trial(text, __name__, "adder", directory / "bench", ["adds"]).put([mutant.number for mutant in mutants])
    return directory, text, mutants, found


def test_mutants_are_numbered_and_named_after_the_signal_that_they_change(adder):
    _, text, mutants, _ = adder
    assert [mutant.number for mutant in mutants] == list(range(1, len(mutants) + 1)) and len(mutants) > 100
    names = [mutant.name for mutant in mutants]
    assert len(set(names)) == len(names)
    change = r"(inverted|held at [01]|inverted while bit \d+ is [01])"
    assert all(re.fullmatch(rf"(total|odd) \| \w+( \d)? \w+\[\d+\] {change}", name) for name in names), names
    assert {"odd | and Y[0] held at 0", "odd | or B[0] inverted", "total | add A[3] held at 1"} <= set(names)
    first = inspect.getsourcelines(Adder)[1]
    assert {mutant.source for mutant in mutants if mutant.place == "odd | and"} == {f"test_mutation.py:{first + 10}"}
    assert {mutant.port for mutant in mutants} <= {"A", "B", "S", "Y", "D"}
    assert text.count("input [11:0] mutant;") == 1


def test_a_part_is_drawn_by_its_seed(adder, tmp_path):
    names = {mutant.name.partition(" (")[0] for mutant in adder[2]}
    first, again, other = (
        [mutant.name for mutant in mutate(Adder(), tmp_path, 20, seed=seed)[1]] for seed in (1, 1, 2)
    )
    assert len(first) == 20 and first == again != other and {name.partition(" (")[0] for name in first} <= names
    sample = [mutant.name.partition(" (")[0] for mutant in mutate(Adder(), tmp_path, 20, seed=1, sample=5)[1]]
    assert len(sample) == 5 and set(sample) <= {name.partition(" (")[0] for name in first}


def test_neither_the_place_of_the_project_nor_the_format_of_the_text_changes_what_is_drawn(tmp_path):
    text = (
        "from amaranth.hdl import Module\nfrom amaranth.lib import wiring\n"
        "from amaranth.lib.wiring import In, Out\n\n\n" + inspect.getsource(Adder)
    )
    formatted = text.replace(
        "self.total[0] & (", "# a remark\n            self.total[0]\n            & (\n                "
    )
    assert formatted != text
    drawn = []
    for place, text in ("here", text), ("and/far a way", formatted):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "part.py").write_text(text)
        spec = importlib.util.spec_from_file_location("part", folder / "part.py")
        sys.modules["part"] = part = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(part)
            mutants = mutate(part.Adder(), folder, 20, sample=7)[1]
        finally:
            del sys.modules["part"]
        assert {mutant.source.partition(":")[0] for mutant in mutants if mutant.source} == {"part.py"}
        drawn.append([mutant.name for mutant in mutants])
    assert drawn[0] == drawn[1] and len(drawn[0]) == 7


def test_what_the_bench_does_not_find_is_what_is_equivalent(adder):
    """Its model says every output in every cycle, so it finds all that there is to find; yosys has to agree on the
    rest."""
    directory, _, mutants, found = adder
    left = {mutant.number for mutant in mutants} - found.keys()
    assert left and equivalent(left, directory) == left
    names = [mutant.name for mutant in mutants if mutant.number in left]
    # The product has a bit more than it needs, and the sum one that nobody takes.
    needless = r"odd \| |total \| (mul|mux|add (Y\[4\]|[AB]\[[34]\])|add B\[\d\] inverted while bit 3)"
    assert all(re.match(needless, name) for name in names), names
    killed = sorted(found)[::10]
    assert equivalent(killed, directory) == set(), "what the bench found is not equivalent"
    assert equivalent([], directory) == set()
    assert all(kill.claim == "adds" and "assert" in kill.reason.lower() for kill in found.values())


def test_a_bench_that_fails_by_itself_says_nothing(adder, tmp_path):
    directory, text, _, _ = adder
    with pytest.raises(CampaignError, match="fails without any mutant: .*refuses"):
        Trial(text, __name__, "adder", directory / "bench", ["adds", "refuses"]).put([1, 2])
    with pytest.raises(CampaignError, match="does not run"):
        Trial("module dut(,);", __name__, "adder", tmp_path / "bench").put([1])


def test_a_configuration_that_the_bench_does_not_have_is_no_trial(tmp_path):
    with pytest.raises(CampaignError, match="has no configuration 'adders'; it has adder"):
        Trial("", __name__, "adders", tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name, profile",
    [("hub/control/locks", "prototype"), ("hub/port/bypass", "modern")],
)
def test_what_is_left_meets_a_hub_that_the_whole_bench_has(name, profile, monkeypatch, tmp_path):
    """In the first profile with such a component, and with the claims that can show something on a HUB of that size."""
    met = []
    monkeypatch.setattr(Trial, "put", lambda trial, numbers: met.append((trial.configuration, numbers)) or {})
    text, mutants = mutate(TARGETS[name].component(), tmp_path, 1)
    assert CHECKS["hub"](Material(TARGETS[name], mutants, text, tmp_path), [1]) == {}
    assert met == [(f"5 ports {profile}", [1])]


@pytest.mark.nightly
def test_a_mutant_that_ends_or_stops_the_simulation_is_found(adder, tmp_path):
    """By a task of the simulator, by a crash, or by going on for ever."""
    text = adder[1].rstrip().removesuffix("endmodule")
    text += (
        "  always @(posedge clk) begin\n    if (mutant == 2) $finish;\n    if (mutant == 3) $stop;\n  end\nendmodule\n"
    )
    found = Trial(text, __name__, "adder", tmp_path / "bench", ["adds"]).put([1, 2, 3, 4])
    assert {2, 3} <= found.keys() and found.keys() - {2, 3} == adder[3].keys() & {1, 4}
    assert found[3] == Kill("the simulation", "it ended before its time")


def test_a_claim_that_goes_on_for_ever_has_failed(adder):
    directory, text, mutants, _ = adder
    held = [mutant.number for mutant in mutants if mutant.name == "total | add Y[3] held at 0"]
    assert held
    found = Trial(text, __name__, "adder", directory / "bench", ["comes_around"]).put(held)
    assert found.keys() == set(held) and all("still running after" in kill.reason for kill in found.values())


def test_a_component_with_mutants_stands_in_a_larger_one(adder, tmp_path):
    """In every place with the same parameters, and nowhere else."""
    whole = transplant(Board(), Adder(), adder[1])
    assert len(re.findall(r"^ +mutated +\w+ \($", whole, re.M)) == 2 and "input [11:0] mutant;" in whole
    with pytest.raises(ValueError, match=r"no Adder with the parameters \{'step': 5\} in Board"):
        transplant(Board(), Adder(5), adder[1])
    with pytest.raises(ValueError, match="has no module dut"):
        transplant(Board(), Adder(), adder[1].replace("module dut(", "module other("))


class _Own(Target):
    bench = __name__


def test_a_campaign_puts_each_check_to_what_is_left(monkeypatch):
    """And does not ask again for what is equivalent."""
    asked = []

    def check(share):
        def some(material, numbers):
            assert isinstance(material, Material) and len(material.mutants) == 60
            asked.append(set(numbers))
            return {number: Kill("claim", "because") for number in numbers[: round(share * len(numbers))]}

        return some

    monkeypatch.setitem(CHECKS, "half", check(0.5))
    monkeypatch.setitem(CHECKS, "most", check(0.9))
    lines = []
    report = run(_Own("adder", "adder", None, 60, ("half", "most")), progress=lines.append)
    first, second = asked
    by = {stage: {number for number, kill in report.kills.items() if kill.stage == stage} for stage in ("half", "most")}
    assert len(first) == 60 and len(by["half"]) == 30 and by["most"] <= second
    assert second == first - by["half"] - report.equivalent and report.equivalent, (
        "what is equivalent is not asked for again"
    )
    assert {mutant.number for mutant in report.survivors} == second - by["most"] != set()
    assert report.share == len(report.kills) / (60 - len(report.equivalent)) and len(lines) == 4
    assert (
        f"{len(report.equivalent):3} equivalent, {len(report.kills):4} killed (half 30, most {len(by['most'])})"
        in report.summary()
    )


def test_survivors_are_what_is_left():
    report = Report(
        TARGETS["hub/control/arbiter"],
        [type("M", (), {"number": n})() for n in range(1, 11)],
        {n: Kill("a", "b", "bench") for n in range(1, 7)},
        {7, 8},
    )
    assert [mutant.number for mutant in report.survivors] == [9, 10] and report.share == 6 / 8


def test_cells_belong_to_the_signal_that_they_are_for(tmp_path):
    """Those of one kind are counted as the expression is read; what goes to a submodule belongs to its input."""

    class Chooser(wiring.Component):
        pick: In(1)
        more: In(3)
        kept: Out(2)
        sum: Out(4)

        def elaborate(self, platform):
            m = Module()
            m.submodules.adder = adder = Adder()
            inner = Signal(2)
            with m.If(self.pick):
                m.d.sync += inner.eq((self.more[0] & self.pick) + (self.more[1] & self.pick))
            m.d.comb += [self.kept.eq(inner), adder.more.eq(self.more ^ self.pick), self.sum.eq(adder.total)]
            return m

    _, mutants = mutate(Chooser(), tmp_path, None)
    assert {mutant.place for mutant in mutants} == {
        "adder | submodule",
        "adder.more | xor",
        "inner | add",
        "inner | and",
        "inner | and 2",
        "inner | dff",
        "inner | mux",
        "inner | mux 2",
    }

"""Deliberate faults: what is changed, for whom, and for how long."""

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from nectar.verification.formal.faults import Fault, with_fields
from nectar.verification.formal.prove import prove


class Pair(data.Struct):
    low: 2
    high: 2


class Counter(wiring.Component):
    """Counts up when it is told to; ``pair`` has the count in both halves."""

    def __init__(self):
        super().__init__({"up": In(1), "count": Out(2), "pair": Out(Pair), "rows": Out(2).array(2)})

    def elaborate(self, platform):
        m = Module()
        changed = Signal()
        up = Signal()  # has the name of a member
        m.d.comb += [
            changed.eq(up),
            self.pair.low.eq(self.count),
            self.pair.high.eq(self.count),
            *(row.eq(self.count) for row in self.rows),
            up.eq(self.up),
        ]
        with m.If(up):
            m.d.sync += self.count.eq(self.count + 1)
        with m.If(changed):
            m.d.comb += Assert(up)
        return m


class Around(wiring.Component):
    """A counter that is told to count in every cycle; ``claim`` is about it and about the right count."""

    def __init__(self, claim):
        self.claim = claim
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.counter = counter = Counter()
        right, always = Signal(2), Signal()
        m.d.sync += right.eq(right + 1)
        m.d.comb += [always.eq(1), counter.up.eq(always), Assert(self.claim(counter, right), "the claim")]
        return m


def _holds(name, claim, *faults):
    """Whether the claim holds in the first cycles of a counter with that fault."""
    with faults[0].injected():
        outcome = prove(Around(claim), f"faults {name}", mode="bmc", depth=6)
    return outcome.status == "PASS"


def test_the_counter_is_sound():
    assert prove(Around(lambda counter, right: counter.count == right), "faults none").passed


def test_an_output_is_changed_for_all_who_read_it():
    fault = Fault(Counter, "rows__{n}", lambda was, s, n: was + n)
    assert _holds(
        "output", lambda counter, right: (counter.rows[0] == right) & (counter.rows[1] == (right + 1)[:2]), fault
    )


def test_a_register_has_another_value_from_the_next_edge_on():
    """It counts by two, from the initial value."""
    fault = Fault(Counter, "count", lambda was, s: was + 1)
    assert _holds("register", lambda counter, right: counter.count == (right << 1)[:2], fault)


def test_a_register_that_does_not_change_keeps_what_it_has():
    fault = Fault(Counter, "count", lambda was, s: s.count)
    assert _holds("register that stands", lambda counter, right: counter.count == 0, fault)


def test_a_register_may_carry_another_value_at_once():
    """It counts by two, too, but begins with 1."""
    fault = Fault(Counter, "count", lambda was, s: was + 1, at_once=True)
    assert _holds("at once", lambda counter, right: counter.count == ((right << 1) + 1)[:2], fault)


def test_a_register_without_reset_may_have_one():
    class Kept(wiring.Component):
        def __init__(self):
            super().__init__({"seen": Out(1)})

        def elaborate(self, platform):
            m = Module()
            kept = Signal(reset_less=True)
            m.d.sync += kept.eq(1)
            m.d.comb += self.seen.eq(kept)
            return m

    class Resets(wiring.Component):
        def __init__(self):
            super().__init__({})

        def elaborate(self, platform):
            m = Module()
            reset, cycles = Signal(), Signal(3)
            kept = Kept()
            m.submodules.kept = ResetInserter(reset)(kept)
            m.d.sync += cycles.eq(cycles + 1)
            m.d.comb += [reset.eq(cycles == 3), Assert(~((cycles > 1) & ~kept.seen), "it is kept")]
            return m

    assert prove(Resets(), "faults reset none", mode="bmc", depth=6).passed
    with Fault(Kept, "kept", lambda was, s: was, at_once=True, resets=True).injected():
        assert prove(Resets(), "faults reset", mode="bmc", depth=6).status == "FAIL"


def test_an_input_is_changed_for_the_component_alone():
    """What drives it is still 1, and the counter stands."""
    fault = Fault(Counter, "up", lambda was, s: 0)
    assert _holds("input", lambda counter, right: (counter.count == 0) & counter.up, fault)


def test_a_local_signal_is_told_from_a_member_of_the_same_name():
    fault = Fault(Counter, "changed", lambda was, s: s.up & ~s.local("up"))
    assert _holds("local", lambda counter, right: counter.count == right, fault)


def test_a_struct_has_its_fields():
    fault = Fault(Counter, "pair", lambda was, s: with_fields(was, high=Mux(s.up, was.high + 1, 0)))
    assert _holds("struct", lambda counter, right: counter.pair.as_value() == Cat(right, (right + 1)[:2]), fault)


def test_a_signal_of_a_submodule_is_told_by_its_path():
    """The proof's component is the one with the fault; the counter is sound inside."""
    fault = Fault(Around, "counter.count", lambda was, s: was + s["counter.up"])
    assert _holds("submodule", lambda counter, right: counter.count == (right + 1)[:2], fault)


def test_a_name_that_there_is_not_is_told_with_those_that_there_are():
    with pytest.raises(AttributeError, match="no signal is named cont; there are changed, count, pair, rows__0, "):
        _holds("none", lambda counter, right: 1, Fault(Counter, "cont", lambda was, s: was))


def test_a_fault_of_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no Counter was elaborated"):
        with Fault(Counter, "count", lambda was, s: was).injected():
            pass


def test_behind_the_with_all_is_sound_again():
    for _ in range(2):
        fault = Fault(Counter, "count", lambda was, s: 0)
        assert not _holds("once", lambda counter, right: counter.count == right, fault)
        assert prove(Around(lambda counter, right: counter.count == right), "faults behind", mode="bmc").passed

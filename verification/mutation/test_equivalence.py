"""Equivalence of mutants: what makes no difference is shown to make none, and nothing else is."""

import pytest
from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from nectar.verification.mutation.equivalence import equivalent, unreached
from nectar.verification.mutation.mutants import mutate
from nectar.verification.mutation.targets import TARGETS


class Late(wiring.Component):
    """A register that only one gate looks at."""

    a: In(1)
    b: In(1)
    y: Out(1)

    def elaborate(self, platform):
        m = Module()
        register = Signal()
        m.d.sync += register.eq(self.a)
        m.d.comb += self.y.eq(register & self.b)
        return m


@pytest.mark.parametrize("way", [equivalent, pytest.param(unreached, marks=pytest.mark.nightly)])
def test_a_register_that_nobody_looks_at_any_more_made_a_difference(way, tmp_path):
    """A mutant that is rid of a register is not compared with what the register holds behind the reset only. The reset
    itself has no value to choose here."""
    _, mutants = mutate(Late(), tmp_path, None)
    alike = way([mutant.number for mutant in mutants], tmp_path)
    assert {mutant.name for mutant in mutants if mutant.number in alike} == {"register | mux B[0] held at 0"}


class Notes(wiring.Component):
    """Four notes of two bits in a memory; the parity of each is kept twice, and one of them is of no use."""

    note: In(2)
    place: In(2)
    write: In(1)
    read: Out(2)
    odd: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=3, depth=4, init=[])
        write_port, read_port = storage.write_port(), storage.read_port()
        m.d.comb += [
            write_port.addr.eq(self.place),
            write_port.data.eq(Cat(self.note, self.note[0] ^ self.note[1])),
            write_port.en.eq(self.write),
            read_port.addr.eq(self.place),
            self.read.eq(read_port.data[:2]),
            self.odd.eq(read_port.data[2] & (read_port.data[2] | read_port.data[0])),
        ]
        return m


def test_what_a_memory_is_told_makes_a_difference(tmp_path):
    """And what is of no use behind it does not."""
    _, mutants = mutate(Notes(), tmp_path, None)
    alike = equivalent([mutant.number for mutant in mutants], tmp_path)
    names = [mutant.name for mutant in mutants if mutant.number in alike]
    assert names and all(name.startswith("odd |") for name in names), names
    assert any(mutant.name.startswith("memory.WR_DATA") for mutant in mutants if mutant.number not in alike)


class Noting(wiring.Component):
    """Hands a word on to Notes; bit 4 of it is of no use to a submodule that has such a bit."""

    word: In(5)
    write: In(1)
    read: Out(2)

    class Inner(wiring.Component):
        """Notes, told in one word."""

        word: In(5)
        write: In(1)
        read: Out(2)

        def elaborate(self, platform):
            m = Module()
            m.submodules.notes = notes = Notes()
            m.d.comb += [
                notes.note.eq(self.word[:2]),
                notes.place.eq(self.word[2:4]),
                notes.write.eq(self.write),
                self.read.eq(notes.read),
            ]
            return m

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = self.Inner()
        word = Signal(5)
        m.d.sync += word.eq(self.word)
        m.d.comb += [inner.word.eq(word), inner.write.eq(self.write), self.read.eq(inner.read)]
        return m


class Watching(Noting):
    """And has a register that a line resets at any time."""

    line: In(1)
    seen: Out(1)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.domains.line = line = ClockDomain("line", async_reset=True, local=True)
        m.d.comb += [line.clk.eq(ClockSignal()), line.rst.eq(self.line)]
        m.d.line += self.seen.eq(1)
        return m


@pytest.mark.parametrize("component", [Watching, pytest.param(Noting, marks=pytest.mark.nightly)])
def test_what_a_submodule_with_a_memory_does_not_look_at_makes_no_difference(component, tmp_path):
    """And all else does."""
    _, mutants = mutate(component(), tmp_path, None)
    names = {
        mutant.number: mutant.name for mutant in mutants if "inner | submodule" in mutant.name or "clk" in mutant.name
    }
    alike = unreached(list(names), tmp_path)
    of_inner = {name for name in names.values() if name.startswith("inner | submodule word[4]")}
    assert of_inner and of_inner <= {names[number] for number in alike}
    needed = tuple(f"inner | submodule {pin}" for pin in ("word[0]", "word[3]", "write", "read"))
    assert not any(names[number].startswith(needed) for number in alike)
    assert any("clk" in name for name in names.values()) and not any("clk" in names[number] for number in alike)
    assert equivalent(alike, tmp_path) != alike


class Waiting(wiring.Component):
    """Two pins of a submodule come to the same in it; its registers move when they may, so an output tells late."""

    a: In(1)
    b: In(1)
    moves: In(1)
    y: Out(1)

    class Inner(wiring.Component):
        """One or the other, six moves later."""

        a: In(1)
        b: In(1)
        moves: In(1)
        y: Out(1)

        def elaborate(self, platform):
            m = Module()
            row = Signal(6)
            with m.If(self.moves):
                m.d.sync += row.eq(Cat(self.a | self.b, row))
            m.d.comb += self.y.eq(row[-1])
            return m

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = self.Inner()
        m.d.comb += [inner.a.eq(self.a), inner.b.eq(self.a & self.b), inner.moves.eq(self.moves), self.y.eq(inner.y)]
        return m


@pytest.mark.nightly
def test_what_a_submodule_makes_the_same_of_makes_no_difference(tmp_path):
    """However long an output takes to tell; and all else does."""
    _, mutants = mutate(Waiting(), tmp_path, None)
    alike = unreached([mutant.number for mutant in mutants], tmp_path)
    names = {mutant.name for mutant in mutants if mutant.number in alike}
    assert "inner | submodule b[0] held at 0" in names and not equivalent(alike, tmp_path)
    assert not any(name.startswith(("inner | submodule a", "inner | submodule moves")) for name in names)
    assert "inner | submodule b[0] held at 1" not in names


class Held(wiring.Component):
    """A bit that means something once it has been set. It may stand for any time: no output tells soon what it is."""

    bit: In(1)
    load: In(1)
    look: In(1)
    y: Out(1)

    def elaborate(self, platform):
        m = Module()
        held, valid = Signal(init=1), Signal()
        with m.If(self.load):
            m.d.sync += [held.eq(self.bit), valid.eq(1)]
        m.d.comb += self.y.eq(self.look & valid & held)
        return m


def test_what_no_state_shows_that_is_reached_makes_no_difference(tmp_path):
    """What the bit is behind a reset; what it is when it has been set does."""
    _, mutants = mutate(Held(), tmp_path, None)
    needed = ("valid | mux S", "valid | mux 2 S", "valid | dff", "y | mux A", "y | mux 2 B", "y | dff", "y | and Y")
    tried = [mutant.number for mutant in mutants if mutant.name.startswith((*needed, "y | mux B", "y | mux S"))]
    alike = unreached(tried, tmp_path)
    names = {mutant.name for mutant in mutants if mutant.number in alike}
    resets = {"y | mux B[0] held at 0", "y | mux B[0] inverted", "y | mux S[0] held at 0"}  # what is held goes to y
    assert resets <= names
    assert not equivalent(alike, tmp_path) & {mutant.number for mutant in mutants if mutant.name in resets}
    assert not any(name.startswith(needed) for name in names), names


@pytest.mark.nightly
def test_a_table_that_yosys_makes_of_choices_is_logic(tmp_path):
    """Not a memory, of which two of the same name would stand in one module."""
    _, mutants = mutate(TARGETS["link/encoder"].component(), tmp_path, 40)
    numbers = [mutant.number for mutant in mutants]
    alike = equivalent(numbers, tmp_path)
    assert alike and alike == unreached(numbers, tmp_path) and alike < set(numbers)


def test_where_a_line_resets_a_register_the_submodules_registers_are_compared(tmp_path):
    """AS* ends what a StrobeWatch holds at any time. Its submodule's two flip-flops have no reset, so that pin does
    not matter; the clock's does."""
    _, mutants = mutate(TARGETS["cab/vme/sync"].component(), tmp_path, None)
    alike = unreached([mutant.number for mutant in mutants], tmp_path)
    names = {mutant.name for mutant in mutants if mutant.number in alike}
    assert {f"synchroniser | submodule rst[0] {change}" for change in ("inverted", "held at 0", "held at 1")} <= names
    assert not any("clk" in name or "adff" in name for name in names), names

"""boards/rdw_check.py: which memories may give any value for a word that is read while it is written, and that
synthesis then needs nothing beside them."""

import json

import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from nectar.boards.rdw_check import unchecked
from nectar.boards.tools import yosys


class Memories(wiring.Component):
    """One memory for each of ``marks``, at one clock, or written at another."""

    def __init__(self, *marks, other_clock=False):
        self.marks = marks
        self.other_clock = other_clock
        count = range(len(marks))
        super().__init__(
            {
                **{f"in_{n}": In(9) for n in count},
                **{f"out_{n}": Out(9) for n in count},
                "write": In(1),
                "at": In(11),
                "from_": In(11),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if self.other_clock:
            m.domains.other = ClockDomain()
        for n, mark in enumerate(self.marks):
            m.submodules[f"store_{n}"] = store = memory.Memory(
                shape=9, depth=2048, init=[], attrs={"no_rw_check": 1} if mark else {}
            )
            write, read = store.write_port(domain="other" if self.other_clock else "sync"), store.read_port()
            m.d.comb += [
                write.addr.eq(self.at),
                write.data.eq(getattr(self, f"in_{n}")),
                write.en.eq(self.write),
                read.addr.eq(self.from_),
                getattr(self, f"out_{n}").eq(read.data),
            ]
        return m


def changed(component):
    """The lines of its RTLIL that are changed, as they are now."""
    before = rtlil.convert(component)
    after = unchecked(before)
    assert before.count("\n") == after.count("\n")
    return [new.strip() for old, new in zip(before.split("\n"), after.split("\n")) if old != new]


def test_marked_memories_and_no_others():
    assert changed(Memories(True, False, True)) == ["parameter \\COLLISION_X_MASK 1'1"] * 2
    assert changed(Memories(False)) == []


def test_two_clocks_are_left_alone():
    """What is read at one clock while it is written at another is nothing that a mask may speak of."""
    assert changed(Memories(True, other_clock=True)) == []


@pytest.mark.parametrize("mark, spent", [(True, False), (False, True)])
def test_synthesis_spends_nothing_beside_a_marked_memory(tmp_path, mark, spent):
    (tmp_path / "top.il").write_text(unchecked(rtlil.convert(Memories(mark))))
    yosys("read_rtlil top.il; synth_ecp5 -top top; tee -q -o stat.json stat -json", tmp_path)
    cells = json.loads((tmp_path / "stat.json").read_text())["modules"]["\\top"]["num_cells_by_type"]
    assert cells["DP16KD"] == 1 and (cells.get("TRELLIS_FF", 0) > 0) == spent and (cells.get("LUT4", 0) > 0) == spent, (
        cells
    )

"""The Verilog of a component: memories with and without initial content; what is not simulated."""

from amaranth.hdl import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from nectar.hdl.verilog import convert
from nectar.sim.adapter import value_names
from nectar.verification.simulation import simulate


class Store(wiring.Component):
    """A memory of 64 bytes with ``init`` as its first words."""

    address: In(6)
    data: Out(8)

    def __init__(self, init):
        super().__init__()
        self.init = init

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = store = memory.Memory(shape=8, depth=64, init=self.init)
        port = store.read_port()
        m.d.comb += [port.addr.eq(self.address), self.data.eq(port.data)]
        return m


def test_a_memory_without_initial_content_is_not_spelled_out():
    """A megabyte of zeros would be 262,144 lines."""
    assert "[63]" not in convert(Store([]), "store")


def test_a_memory_with_initial_content_keeps_it():
    text = convert(Store([7, 0, 9]), "store")
    assert "[0] = 8'h07" in text and "[63] = 8'h00" in text


def test_the_text_is_the_same_from_run_to_run():
    """The engine caches what it builds under a hash of it."""
    assert convert(Store([]), "store") == convert(Store([]), "store")


def test_the_text_is_the_same_whichever_compiler_yosys_was_compiled_with(tmp_path, monkeypatch):
    usual = convert(Store([7, 0, 9]), "store")
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(tmp_path))
    assert convert(Store([7, 0, 9]), "store", quickly=True) == usual
    assert len([*tmp_path.glob("yosys/yosys-*")]) == 1


class Turns(wiring.Component):
    """An FSM of three states."""

    out: Out(1)

    def elaborate(self, platform):
        m = Module()
        with m.FSM(name="turn"):
            with m.State("FIRST"):
                m.next = "SECOND"
            with m.State("SECOND"):
                m.next = "THIRD"
            with m.State("THIRD"):
                m.d.comb += self.out.eq(1)
                m.next = "FIRST"
        return m


def test_the_states_of_an_fsm_have_their_names():
    """As attributes, which the engine keeps for viewers of waveforms; other signals have none."""
    found = value_names(convert(Turns(), "turns"))
    assert found == {"turns.turn_state": {0: "FIRST", 1: "SECOND", 2: "THIRD"}}
    assert not value_names(convert(Store([7]), "store"))


class Circle(wiring.Component):
    """The high bit of ``seen`` tells whether the low bits are not 5: no circle of bits, but one of signals."""

    value: In(4)
    seen: Out(5)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.value[3]):
            m.d.comb += [self.seen[:4].eq(self.value), self.seen[4].eq(self.seen[:4] != 5)]
        return m


def test_a_signal_that_depends_on_itself_is_refused(tmp_path):
    """What Verilator makes of one can be wrong (docs/traps.md): no bench may run on such a model."""
    outcome = simulate(convert(Circle(), "dut"), "nothing", top="dut", directory=tmp_path / "model")
    assert not outcome.results and "UNOPTFLAT" in outcome.log and "ircular" in outcome.log

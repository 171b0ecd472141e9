"""Verilog of a component, as the engine, the benches and ``nectar verilog`` take it.

Amaranth spells out the initial content of every memory, bit by bit; for a megabyte of zeros that takes most of a minute
and makes megabytes of text. Memories without initial content are therefore left uninitialised here: no part of the
design reads a word that it has not written.
"""

import contextlib
import gc
from unittest import mock

from amaranth.back import rtlil, verilog
from amaranth.hdl._nir import SignalField

from .yosys import run

__all__ = ["convert", "with_kept_yosys", "without_zeros"]


class _Emitter(rtlil.ModuleEmitter):
    """Amaranth's writer of a module, which leaves out initial content that is all zeros and gives the state of an FSM
    the attributes that Amaranth gives a signal of an enumeration."""

    def emit_signal_wires(self):
        for signal in self.module.signal_names:
            if states := _states(signal):
                fields = self.netlist.signal_fields[signal]
                whole = fields[()]
                fields[()] = SignalField(whole.value, signed=False, enum_name=signal.name, enum_variants=states)
        super().emit_signal_wires()

    def emit_memory(self, cell_idx, cell):
        if any(cell.init):
            super().emit_memory(cell_idx, cell)


def _states(signal):
    """{number: name} of the states of an FSM whose state ``signal`` is; {} if it is none."""
    decode = signal.decoder
    states = {}
    if decode is None or isinstance(decode, type):
        return states
    with contextlib.suppress(KeyError):  # no state has this number
        for number in range(1 << len(signal)):
            states[number] = decode(number).rpartition("/")[0]
    return states


def without_zeros():
    """Context manager in which Amaranth leaves such memories uninitialised, whoever calls it."""
    return mock.patch.object(rtlil, "ModuleEmitter", _Emitter)


class _Yosys:
    """Amaranth's yosys as Amaranth calls it."""

    @staticmethod
    def run(arguments, script, ignore_warnings=False):
        return run(script)


def with_kept_yosys():
    """Context manager in which Amaranth writes Verilog with the yosys of yosys.py, and compiles none for itself."""
    return mock.patch.object(verilog, "find_yosys", lambda requirement: _Yosys)


@contextlib.contextmanager
def _uncollected():
    """Within, Python does not look for cycles of garbage: a netlist grows and is all in use, and looking took 40 %
    of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def convert(component, name, quickly=False):
    """Verilog-2005 text of ``component`` (a ``wiring.Component``) as module ``name``. ``quickly``: with a yosys that is
    compiled in a fifth of the time if none is kept, and runs half as fast.

    The text is the same from run to run: it holds no paths and no times.
    """
    with without_zeros(), _uncollected():
        text = rtlil.convert(component, name=name, emit_src=False)
    return run(
        f"read_rtlil <<rtlil\n{text}\nrtlil\nproc -nomux -norom\nmemory_collect\nwrite_verilog -norename", quickly
    )

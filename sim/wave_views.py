"""What viewers of waveforms need besides the file: a save file for GTKWave with the useful signals in groups, and the
names of symbols, opcodes, registers and states, for GTKWave and for Surfer.

Beside ``run.fst`` are written ``run.gtkw`` and the folder ``run.names``. The folder holds, for each set of names, a
translate file ``NAME.txt`` for GTKWave and a mapping file ``.surfer/mappings/NAME`` for Surfer. A save file that
GTKWave itself has written since then is left as it is: it holds how somebody arranged the signals.
"""

import io
import itertools
import os
import re
from pathlib import Path
from typing import NamedTuple

from . import texts

__all__ = ["Names", "Variable", "Views", "names_folder", "names_of", "read_header", "save_file"]

#: First line of a save file, by which it is known again.
_OURS = "[*] Nectar: written beside the waveform, and anew with it"
#: GTKWave's zoom: the binary logarithm of the picoseconds that 200 dots of the screen take, negative.
_ZOOM = -20.5
#: Picoseconds before the first symbol at which the picture begins.
_LEAD_PS = 200_000

#: Signals of a HUB's port by rows: name → (signal, set of names or None). N is the number of the port.
_PORT = {
    "state": ("input_N.head.state_state", "head.state_state"),
    "queue": ("input_N.level", None),
    "outputs": ("central.targets__N", None),
    "ready bit": ("output_N.ready_bit", None),
}
_PORT_PINS = {
    "rx symbol": ("port_N__rx__payload", "symbol"),
    "rx valid": ("port_N__rx__valid", None),
    "tx symbol": ("port_N__tx__payload", "symbol"),
    "tx valid": ("port_N__tx__valid", None),
    "tx ready": ("port_N__tx__ready", None),
    "opcode": ("input_N.head.op", "opcode"),
    "parameter": ("input_N.head.param", None),
}
_HUB = {
    "outputs connected": ("connected", None),
    "ready bits": ("ready", None),
    "decision": ("decision_valid", None),
}
_CAB = {"irq": ("irq", None)}
_CAB_PINS = {
    "rx symbol": ("fiber__rx__payload", "symbol"),
    "rx valid": ("fiber__rx__valid", None),
    "tx symbol": ("fiber__tx__payload", "symbol"),
    "tx valid": ("fiber__tx__valid", None),
    "tx ready": ("fiber__tx__ready", None),
    "bus address": ("bus__address", "register"),
    "bus valid": ("bus__valid", None),
    "bus ready": ("bus__ready", None),
    "bus write": ("bus__write", None),
    "bus write data": ("bus__write_data", None),
    "bus done": ("bus__done", None),
    "bus read data": ("bus__read_data", None),
    "bus error": ("bus__error", None),
}
_WORDS = ("rx", "rx_command", "tx", "tx_command")


class Variable(NamedTuple):
    """A variable of a waveform file: its full ``name``, its ``bits`` (1 for a string), its ``range`` as ``[8:0]``."""

    name: str
    bits: int
    range: str

    @property
    def shown(self):
        """What GTKWave calls it."""
        return self.name + self.range


class Names(NamedTuple):
    """Names of the values of a signal of so many bits: ``texts`` is {value: name}."""

    bits: int
    texts: dict

    def translate_file(self):
        """Text of GTKWave's translate file; values are as it shows them, in hexadecimal."""
        digits = (self.bits + 3) // 4
        return "".join(f"{value:0{digits}X} {text}\n" for value, text in self.texts.items())

    def mapping_file(self, name):
        """Text of Surfer's mapping file."""
        lines = "".join(f"{value:#x} {text}\n" for value, text in self.texts.items())
        return f"Name = Nectar {name}\nBits = {self.bits}\n{lines}"


def read_header(path):
    """{name: Variable} of a VCD file, in its order. Where several of one scope have the same name, the first counts."""
    scope, found = [], {}
    with open(path) as lines:
        for line in lines:
            words = line.split()
            if not words:
                continue
            if words[0] == "$scope":
                scope.append(words[2])
            elif words[0] == "$upscope":
                scope.pop()
            elif words[0] == "$var":
                name = ".".join([*scope, words[4]])
                found.setdefault(name, Variable(name, int(words[2]), "" if words[5] == "$end" else words[5]))
            elif words[0] == "$enddefinitions":
                break
    return found


def names_of(text):
    """{"module.signal": {value: name}} of a kind of board, from the lines of ``nectar_value_names``."""
    found = {}
    for line in text.splitlines():
        signal, *words = line.split()
        found[signal] = {int(value): name for value, name in zip(words[::2], words[1::2])}
    return found


def save_file(waves):
    """Path of the save file that belongs to the waveform file ``waves``."""
    return Path(waves).with_suffix(".gtkw")


def names_folder(waves):
    """Path of the folder with names that belongs to it."""
    return Path(waves).with_suffix(".names")


class Views:
    """The files beside one waveform file.

    Parameters
    ----------
    waves : path
        The waveform file.
    variables : dict of str → Variable
        All that is in it.
    value_names : callable
        Gives the ``names_of`` a kind of board.
    first_ps : int
        Simulated time of the first symbol on a fiber; -1 if there is none.

    Members
    -------
    names : dict of str → Names
        Sets of names: ``symbol``, ``opcode``, ``error``, ``register``, and one for each FSM and enumeration.
    used : dict of str → str
        Full name of each signal that is shown by names → the set.
    """

    def __init__(self, waves, variables, value_names, first_ps):
        self.names = {
            "symbol": Names(9, texts.symbol_texts()),
            "opcode": Names(8, texts.opcode_texts()),
            "error": Names(8, texts.error_texts()),
            "register": Names(24, texts.register_texts()),
        }
        self.used = {}
        self._waves = Path(waves)
        self._folder = names_folder(waves)
        self._variables = variables
        self._first_ps = first_ps
        self._boards = {}  # name → kind
        for name in variables:
            board, kind, rest = (*name.split(".", 2), "")[:3]
            if rest.startswith("board."):
                self._boards.setdefault(board, kind)
        self._sets = {}  # (kind of board, state or enumeration) → the set of names
        self._states = {kind: value_names(kind) for kind in dict.fromkeys(self._boards.values())}
        for board, kind in self._boards.items():
            for signal, values in self._states[kind].items():
                if variable := variables.get(f"{board}.{kind}.{signal}"):
                    self._add(kind, signal, Names(variable.bits, values))

    def _add(self, kind, signal, names):
        """Ports have one set of names for all; what is only called alike has one of its own."""
        name = ".".join(signal.split(".")[-2:])
        if self.names.setdefault(name, names) != names:
            name = f"{kind}.{signal}"
            self.names[name] = names
        self._sets[kind, signal] = name

    def write(self):
        """Writes the files. OSError if one cannot be written."""
        mappings = self._folder / ".surfer" / "mappings"
        mappings.mkdir(parents=True, exist_ok=True)
        for name, names in self.names.items():
            _write(self._folder / f"{name}.txt", names.translate_file())
            _write(mappings / name.replace(".", "_"), names.mapping_file(name))
        target = save_file(self._waves)
        if target.exists() and not target.read_text(errors="replace").startswith(_OURS):
            return
        _write(target, self._save_file())

    def _save_file(self):
        """Text of the save file."""
        from vcd.gtkw import GTKWSave  # only who wants waveforms waits for it

        file = io.StringIO()
        out = GTKWSave(file)
        file.write(f"{_OURS}\n")
        out.dumpfile(os.path.abspath(self._waves))
        out.savefile(os.path.abspath(save_file(self._waves)))
        out.timestart(max(0, self._first_ps - _LEAD_PS))
        out.size(1600, 900)
        out.zoom_markers(_ZOOM)
        out.signals_width(190)
        out.sst_expanded(False)
        for board, kind in self._boards.items():
            with out.group(board):
                if kind.startswith("hub"):
                    self._hub(out, board)
                else:
                    self._cab(out, board)
        return file.getvalue()

    def _hub(self, out, board):
        every = itertools.takewhile(self._has_port(board), itertools.count())
        for number in (number for number in every if f"{board}.P{number}.rx" in self._variables):
            port = f"P{number}"
            with out.group(f"{board} {port}"):
                self._strings(out, f"{board}.{port}", port)
                self._rows(out, board, _PORT, f"{port} ", number)
                with out.group(f"{board} {port} pins", closed=True):
                    self._rows(out, board, _PORT_PINS, f"{port} ", number)
        self._rows(out, board, _HUB)
        with out.group(f"{board} other states", closed=True):
            self._other_states(out, board, set(self.used))

    def _has_port(self, board):
        return lambda number: f"{board}.{self._boards[board]}.board.port_{number}__rx__payload" in self._variables

    def _cab(self, out, board):
        self._string(out, f"{board}.bus", "bus")
        self._strings(out, board, "fiber")
        self._rows(out, board, _CAB)
        self._other_states(out, board, set(self.used))
        with out.group(f"{board} pins", closed=True):
            self._rows(out, board, _CAB_PINS)
        with out.group(f"{board} registers", closed=True):
            for name in texts.register_texts().values():
                self._row(out, board, name, f"board.{name.lower()}__value", None)

    def _strings(self, out, scope, label):
        for word in _WORDS:
            self._string(out, f"{scope}.{word}", f"{label} {word.replace('_', ' ')}")

    def _string(self, out, name, label):
        if name in self._variables:
            out.trace(name, alias=label, datafmt="ascii", rjustify=False)

    def _rows(self, out, board, rows, prefix="", number=None):
        for label, (signal, names) in rows.items():
            self._row(out, board, prefix + label, re.sub(r"(?<=_)N(?=[._])", str(number), signal), names)

    def _row(self, out, board, label, signal, names):
        """A signal inside the outermost module of a board, if it is there."""
        variable = self._variables.get(f"{board}.{self._boards[board]}.board.{signal}")
        if variable is None:
            return
        file = None
        if names in self.names:
            self.used[variable.name] = names
            file = f"{self._folder.name}/{names}.txt"  # GTKWave looks for it from the save file
        out.trace(variable.shown, alias=label, translate_filter_file=file)

    def _other_states(self, out, board, shown):
        """States and enumerations that stand in no other group."""
        kind = self._boards[board]
        for signal in self._states[kind]:
            if f"{board}.{kind}.{signal}" not in shown:
                label = " ".join(signal.split(".")[-2:])  # behind a point GTKWave would show the rest only
                self._row(out, board, label, signal.removeprefix("board."), self._sets.get((kind, signal)))


def _write(path, text):
    """The file is there when it is whole."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)

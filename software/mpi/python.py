"""A Python process for each rank: module globals, arguments and streams of its own, in one process of the host.

A rank's own are ``__main__``, the modules beside the program, and ``random``.
"""

import os
import sys
import types
import warnings
from importlib.machinery import PathFinder

from ..pythons import Interpreter, Python

__all__ = ["Program", "RankPython"]

#: Attributes that a process has for itself.
_ATTRIBUTES = (
    (sys, "argv"),
    (sys, "path"),
    (sys, "stdin"),
    (sys, "stdout"),
    (sys, "stderr"),
    (warnings, "filters"),
    (warnings, "showwarning"),
    (warnings, "_showwarnmsg_impl"),
)
#: Modules of Python that have a state which programs count on, and that can be loaded more than once.
_STATEFUL = ("random",)


class _Stream:
    """The standard output or error of a rank: that of the host, until the rank is ended from outside."""

    __slots__ = ("_host", "mute")

    def __init__(self, host):
        self._host = host
        self.mute = False

    def __getattr__(self, name):
        return getattr(self._host, name)

    def __iter__(self):
        return iter(self._host)

    def write(self, text):
        """Writes text, unless the rank is ended."""
        return len(text) if self.mute else self._host.write(text)

    def writelines(self, lines):
        """Writes several texts."""
        for line in lines:
            self.write(line)


class Program(Interpreter):
    """A program that every rank runs as its ``__main__``.

    Parameters
    ----------
    path : str
        Its file, as it was named.
    code : code
        What it is compiled to.
    arguments : list of str
        Of its command line, without the program.
    """

    def __init__(self, path, code, arguments):
        super().__init__({"__main__", *_STATEFUL}, _ATTRIBUTES, _Stateful)
        self.path = path
        self.argv = [path, *arguments]
        self.code = code
        self.folder = os.path.dirname(os.path.abspath(path))
        self.host_attributes = None  # what was there before the first rank
        self._host_path = None

    def find(self, name, path):
        """What lies beside the program, or in a folder that the program has added to ``sys.path``, is a rank's own."""
        if path is not None:
            return None
        spec = PathFinder.find_spec(name)
        if spec is not None:
            places = spec.submodule_search_locations or [spec.origin or ""]
            if any(os.path.dirname(place) not in self._host_path for place in places):
                self.own.add(name)
        return spec

    def begin(self):
        """Before the ranks run."""
        self.host_attributes = self.present()
        self._host_path = {os.path.abspath(folder) for folder in sys.path}
        self._host_path.discard(self.folder)
        super().begin()


class _Stateful(Python):
    """What a rank or the host has for itself, the filters of warnings and the numbers of numpy among it."""

    __slots__ = ("_numbers",)

    def __init__(self, program, modules, attributes):
        super().__init__(program, modules, attributes)
        self._numbers = None  # state of the numbers that numpy.random draws

    def put_away(self):
        """See Python."""
        super().put_away()
        if "numpy.random" in sys.modules:
            self._numbers = sys.modules["numpy.random"].get_state()

    def put_in_place(self):
        """See Python."""
        warnings.filters = []
        warnings.resetwarnings()  # else what Python remembers of the filters before would hold
        super().put_in_place()
        if self._numbers is not None:
            sys.modules["numpy.random"].set_state(self._numbers)


class RankPython(_Stateful):
    """What a rank has for itself, before the program runs.

    Parameters
    ----------
    program : Program
    packages : dict of str → module
        Modules that it finds under these names, whatever is installed.
    """

    __slots__ = ("_streams",)

    def __init__(self, program, packages):
        main = types.ModuleType("__main__")
        main.__file__ = program.path
        main.__builtins__ = __builtins__
        _, path, stdin, stdout, stderr, filters, *shown = program.host_attributes
        self._streams = [_Stream(stdout), _Stream(stderr)]
        attributes = [list(program.argv), [program.folder, *path], stdin, *self._streams, list(filters), *shown]
        super().__init__(program, {"__main__": main, **packages}, attributes)

    def silence(self):
        """The rank is ended: what it prints still is not seen."""
        for stream in self._streams:
            stream.mute = True

    def run(self):
        """Runs the program, as the rank's code."""
        exec(self.interpreter.code, vars(self.modules["__main__"]))

"""A Python process for each rank: module globals, arguments and streams of its own, in one process of the host.

What Python keeps once for a whole process is exchanged when another rank goes on: some attributes of modules, and the
modules that are a rank's own: ``__main__``, those beside the program, and ``random``.
"""

import os
import sys
import types
import warnings
from importlib.machinery import PathFinder

__all__ = ["Program", "Python"]

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


class Program:
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
        self.path = path
        self.argv = [path, *arguments]
        self.code = code
        self.folder = os.path.dirname(os.path.abspath(path))
        self.own = {"__main__", *_STATEFUL}  # names of modules that each rank has for itself
        self._host = None  # what was there before the first rank
        self.host_attributes = None  # of it, as _ATTRIBUTES
        self._inside = None  # Python whose attributes and modules are in place

    def find_spec(self, name, path=None, target=None):
        """Finds modules for Python's import: what lies beside the program, or in a folder that the program has added to
        ``sys.path``, is a rank's own."""
        if name.partition(".")[0] in self.own:
            self.own.add(name)
        if path is not None or name in self.own:
            return None
        spec = PathFinder.find_spec(name)
        if spec is not None:
            places = spec.submodule_search_locations or [spec.origin or ""]
            if any(os.path.dirname(place) not in self._host.path for place in places):
                self.own.add(name)
        return spec

    def begin(self):
        """Before the ranks run."""
        self._host = self._inside = Python(self, {})
        self.host_attributes = [getattr(module, name) for module, name in _ATTRIBUTES]
        self._host.path = {os.path.abspath(folder) for folder in sys.path}
        self._host.path.discard(self.folder)
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(at, self)

    def end(self):
        """All is again as it was before."""
        self.go_on(self._host)
        self._inside = None
        sys.meta_path.remove(self)

    def go_on(self, python):
        """From now on the code of that Python runs. After the end, when ranks are only closed, all stays as it is."""
        if self._inside not in (None, python):
            self._inside.put_away()
            self._inside = python
            python.put_in_place()


class Python:
    """What a rank has for itself.

    Parameters
    ----------
    program : Program
    modules : dict of str → module
        Those that it begins with.
    """

    __slots__ = ("program", "modules", "path", "_attributes", "_numbers", "_streams")

    def __init__(self, program, modules):
        self.program = program
        self.modules = modules
        self.path = None
        self._attributes = None  # those of _ATTRIBUTES
        self._numbers = None  # state of the numbers that numpy.random draws

    @classmethod
    def of_rank(cls, program, packages):
        """That of a rank, before the program runs. ``packages``: modules that it finds under these names, whatever is
        installed."""
        main = types.ModuleType("__main__")
        main.__file__ = program.path
        main.__builtins__ = __builtins__
        self = cls(program, {"__main__": main, **packages})
        program.own.update(self.modules)
        _, path, stdin, stdout, stderr, filters, *shown = program.host_attributes
        self._streams = [_Stream(stdout), _Stream(stderr)]
        self._attributes = [list(program.argv), [program.folder, *path], stdin, *self._streams, list(filters), *shown]
        return self

    def silence(self):
        """The rank is ended: what it prints still is not seen."""
        for stream in self._streams:
            stream.mute = True

    def enter(self):
        """The rank goes on."""
        self.program.go_on(self)

    def run(self):
        """Runs the program, as the rank's code."""
        exec(self.program.code, vars(self.modules["__main__"]))

    def put_away(self):
        """Another rank goes on."""
        self._attributes = [getattr(module, name) for module, name in _ATTRIBUTES]
        modules = sys.modules
        self.modules = {name: modules.pop(name) for name in self.program.own if name in modules}
        if "numpy.random" in modules:
            self._numbers = modules["numpy.random"].get_state()

    def put_in_place(self):
        """The other way round."""
        warnings.filters = []
        warnings.resetwarnings()  # else what Python remembers of the filters before would hold
        for (module, name), value in zip(_ATTRIBUTES, self._attributes, strict=True):
            setattr(module, name, value)
        sys.modules.update(self.modules)
        if self._numbers is not None:
            sys.modules["numpy.random"].set_state(self._numbers)

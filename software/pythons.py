"""Several Pythons in one process of the host: each has modules, and attributes of modules, of its own.

What Python keeps once for a whole process is exchanged when the code of another Python goes on. Which modules and
attributes these are is up to the Interpreter: that of ranks of MPI (``software.mpi.python``), that of the processes of
nodes (``software.node.sockets.python``)."""

import sys
from contextlib import contextmanager
from importlib.machinery import PathFinder

__all__ = ["Interpreter", "Python"]


class Interpreter:
    """What the Pythons of one kind share; a finder of modules while one of them has its turn.

    Parameters
    ----------
    own : iterable of str
        Names of modules that each Python has for itself. What is found of them later is added.
    attributes : tuple of (module, str)
        Attributes that each Python has for itself.
    python : class
        Python, or one derived from it: of what was there before.
    """

    def __init__(self, own, attributes, python):
        self.own = set(own)
        self.python = python
        self.attributes = attributes
        self._host = None  # what was there before
        self._inside = None  # Python whose attributes and modules are in place

    def begin(self):
        """Before the first turn of any of its Pythons."""
        self._host = self._inside = self.python(self, {}, self.present())
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(at, self)

    def end(self):
        """All is again as it was before."""
        self.go_on(self._host)
        self._inside = None
        sys.meta_path.remove(self)

    def go_on(self, python):
        """From now on the code of that Python runs. After the end, when code is only closed, all stays as it is."""
        if self._inside not in (None, python):
            self._inside.put_away()
            self._inside = python
            python.put_in_place()

    @contextmanager
    def outside(self):
        """While this lasts, what was there before is in place again."""
        python = self._inside
        self.go_on(self._host)
        try:
            yield
        finally:
            self.go_on(python)

    def present(self):
        """The attributes as they are now."""
        return [getattr(module, name) for module, name in self.attributes]

    def find_spec(self, name, path=None, target=None):
        """Called by Python's import of a module that is not there yet: those within a module that is each Python's own
        are own, too."""
        if self._inside is self._host:
            return None
        if name.partition(".")[0] in self.own:
            self.own.add(name)
        return None if name in self.own else self.find(name, path)

    def find(self, name, path):
        """The spec of a module of which it is not known yet whether it is each Python's own; None: Python finds it."""
        raise NotImplementedError


class Python:
    """What a process has for itself.

    Parameters
    ----------
    interpreter : Interpreter
    modules : dict of str → module
        Those that it begins with.
    attributes : list
        Its attributes, in the interpreter's order.
    """

    __slots__ = ("interpreter", "modules", "attributes")

    def __init__(self, interpreter, modules, attributes):
        self.interpreter = interpreter
        self.modules = modules
        self.attributes = attributes
        interpreter.own.update(modules)

    def enter(self):
        """Its code goes on."""
        self.interpreter.go_on(self)

    def module(self, name):
        """The module of that name while its code runs; None if it has not been imported."""
        return sys.modules.get(name) if name in self.interpreter.own else None

    def put_away(self):
        """The code of another Python goes on."""
        self.attributes = self.interpreter.present()
        modules = sys.modules
        self.modules = {name: modules.pop(name) for name in self.interpreter.own if name in modules}

    def put_in_place(self):
        """The other way round."""
        for (module, name), value in zip(self.interpreter.attributes, self.attributes, strict=True):
            setattr(module, name, value)
        sys.modules.update(self.modules)

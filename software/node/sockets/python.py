"""A Python process on a node: modules of Python's library that know the node's sockets, clock and threads.

Python's library reaches the system through a few modules that are written in C. The processes of nodes have others
under these names, so that the library above them runs as it is. Specification: docs/sockets.md."""

import importlib.abc
import os
import pkgutil
import socket as host_socket
import sys
import threading as host_threading
import time as host_time
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import find_spec

from ...kernel.plain import in_plain_task
from ...pythons import Interpreter, Python
from . import clock, selecting, sockets, threads

__all__ = ["INTERPRETER", "process_python"]

#: Modules of Python's library that use the replaced ones: each process has its own, packages whole.
_NETWORK = (
    "_threading_local",
    "asynchat",
    "asyncore",
    "concurrent",
    "email",
    "ftplib",
    "http",
    "imaplib",
    "logging",
    "mailbox",
    "nntplib",
    "poplib",
    "queue",
    "sched",
    "selectors",
    "smtpd",
    "smtplib",
    "socket",
    "socketserver",
    "telnetlib",
    "threading",
    "urllib",
    "wsgiref",
    "xmlrpc",
)
#: What a node does not have: an import of it fails, and Python's library does without.
_ABSENT = ("_asyncio", "_ssl", "asyncio", "multiprocessing", "ssl")
_REPLACED = {"_socket": sockets.MODULE, "_thread": threads.MODULE, "select": selecting.MODULE, "time": clock.MODULE}


def _either(module, name, ours):
    """An attribute of a module of the host, and what it is while a process runs: ``ours`` for the process, as before
    for other threads of the host."""
    hosts = getattr(module, name)

    def either(*args, **options):
        return (ours if in_plain_task() else hosts)(*args, **options)

    return module, name, either


#: What a process finds in modules that the program has imported at its top. The clock stays the host's: what the host
#: does at a signal reads it.
_ATTRIBUTES = (
    _either(host_time, "sleep", clock.MODULE.sleep),
    _either(host_socket, "socket", sockets.refuse),
    _either(os, "register_at_fork", lambda **_: None),
    *(
        _either(host_threading, name, threads.refuse)
        for name in ("_start_new_thread", "_start_joinable_thread")
        if hasattr(host_threading, name)
    ),
)


class _Outside(importlib.abc.Loader):
    """Loads a module that is the host's with the host's modules in place."""

    def __init__(self, interpreter, loader):
        self._interpreter = interpreter
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        """See Loader."""
        with self._interpreter.outside():
            return self._loader.create_module(spec)

    def exec_module(self, module):
        """See Loader."""
        with self._interpreter.outside():
            self._loader.exec_module(module)


class _NodeInterpreter(Interpreter):
    """That of all processes of nodes."""

    def __init__(self):
        super().__init__((), tuple((module, name) for module, name, _ in _ATTRIBUTES), Python)
        self._complete = False

    def begin(self):
        """See Interpreter."""
        if not self._complete:
            self._complete = True
            for name in _NETWORK:
                self.own.update(_with_parts(name))
            self.own.update(*(map(_with_parts, _ABSENT)))
        super().begin()

    def find(self, name, path):
        """What is written in Python, of Python's library or beside the program, is a process's own; all else is the
        host's."""
        spec = PathFinder.find_spec(name, path)
        if spec is None:
            return None
        if path is None and isinstance(spec.loader, SourceFileLoader) and _is_own(name, spec.origin):
            self.own.add(name)
        elif spec.loader is not None:
            spec.loader = _Outside(self, spec.loader)
        return spec


def _is_own(name, origin):
    return name in sys.stdlib_module_names or "site-packages" not in origin and "dist-packages" not in origin


def _with_parts(name):
    """The names of a module of Python's library and of those in it."""
    spec = find_spec(name) if name in sys.stdlib_module_names else None
    places = spec.submodule_search_locations if spec is not None else None
    return [name, *(f"{name}.{part.name}" for part in pkgutil.iter_modules(places or []))]


INTERPRETER = _NodeInterpreter()


def process_python():
    """The Python of a new process."""
    return Python(INTERPRETER, {**_REPLACED, **dict.fromkeys(_ABSENT)}, [value for *_, value in _ATTRIBUTES])

"""The software of each machine: what makes the system that a program runs on. docs/machines.md."""

import importlib

__all__ = ["NoSoftware", "header_of", "system_of"]

#: Name of a machine → module here, and its class, which is made as ``System`` is by
#: ``of(machine, topology, profile, limit_ps=, seed=, routes=)``.
_STACKS = {"nectar": ("system", "System"), "ipsc2": ("ipsc2.system", "CubeSystem")}
#: Name of a machine → module whose ``told`` tells what the header of a message on its wire says.
_HEADERS = {"nectar": "packet", "ipsc2": "ipsc2.layout"}


class NoSoftware(ValueError):
    """A machine for which there is no software; the message is one line."""


def system_of(name):
    """The class of systems of the machine called ``name``. Raises NoSoftware."""
    if name not in _STACKS:
        raise NoSoftware(
            f"there is no software for programs on {name}; there is for {', '.join(_STACKS)}. Its doors can be used "
            "from Python (docs/machines.md)"
        )
    module, made = _STACKS[name]
    return getattr(importlib.import_module(f".{module}", __package__), made)


def header_of(name):
    """What tells of a recorded header of the machine called ``name``: callable(bytes) → ``packet.Told``."""
    return importlib.import_module(f".{_HEADERS[name]}", __package__).told

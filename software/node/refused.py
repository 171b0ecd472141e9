"""How the CAB's side says that a command of the node cannot be done."""

__all__ = ["Refused"]


class Refused(Exception):
    """A command cannot be done: its Status."""

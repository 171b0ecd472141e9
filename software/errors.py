"""Errors that a program hears of. Each message says what happened and what to do about it."""

__all__ = ["ProgramError", "MessageTooLong", "OutOfMemory", "NoRoute", "CircuitError", "NoReply", "CommandRefused"]


class ProgramError(Exception):
    """A program could not go on: its fault, the network's, or the given time's. Shown to users as one line."""


class MessageTooLong(ProgramError):
    """A message has more bytes than the protocol takes, or more areas than the fiber-out list."""


class OutOfMemory(ProgramError):
    """More bytes were asked for than the CAB's data memory could ever give."""


class NoRoute(ProgramError):
    """The routing table has no way to a CAB."""


class CircuitError(ProgramError):
    """A circuit did not come to stand, in spite of all attempts."""


class NoReply(ProgramError):
    """A HUB did not answer a command, in spite of all attempts."""


class CommandRefused(ProgramError):
    """A HUB has refused a command. ``error`` is an ``Error`` of ``nectar.hdl.hub.commands``; ``hub``, ``op`` and ``param`` are the command."""

    def __init__(self, hub, op, param, error):
        super().__init__(f"HUB {hub} refuses {op.name} of {param}: {error.name}")
        self.hub, self.op, self.param, self.error = hub, op, param, error

"""Errors that a program hears of. Each message says what happened and what to do about it."""

__all__ = ["ProgramError", "MessageTooLong", "OutOfMemory", "NoRoute", "CircuitError", "NoReply", "CommandRefused",
           "CallError", "CallTimeout", "ServerSilent", "ServiceMissing", "ServiceFull", "ServiceEnded", "ServerRestarted", "AnswerLost", "CallCancelled",
           "MulticastFailed", "BadCommand"]


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


class CallError(ProgramError):
    """A call of a service has no answer; what is below says why. ``executed``: False if it is certain that the server did not execute the request."""

    executed = None


class CallTimeout(CallError):
    """The server's CAB is there, but the answer did not come in the time that the caller gave."""


class ServerSilent(CallError):
    """Nothing was heard of the server's CAB, in spite of all attempts."""


class ServiceMissing(CallError):
    """The CAB has no service of that number."""

    executed = False


class ServiceFull(CallError):
    """As many requests as the service takes wait for it already."""

    executed = False


class ServiceEnded(CallError):
    """The service was closed, or the task that should have answered has ended."""


class ServerRestarted(CallError):
    """The server's CAB has started anew since the request was sent."""


class AnswerLost(CallError):
    """The request was executed, but the server does not keep the answer any more."""

    executed = True


class CallCancelled(CallError):
    """The caller has cancelled the call."""


class MulticastFailed(ProgramError):
    """Not all members have the message. ``missing``: dict of CAB ID → why (str); all others have it."""

    def __init__(self, mailbox, missing):
        names = "; ".join(f"CAB {member} {why}" for member, why in sorted(missing.items()))
        super().__init__(f"the message to mailbox {mailbox} has not reached all: {names}; all others have it")
        self.missing = missing


class BadCommand(ProgramError):
    """A command in the command mailbox cannot be understood."""

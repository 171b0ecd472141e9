"""What runs on a CAB's CPU: kernel, datalink, transport; and the door to the hardware."""

from .errors import CircuitError, CommandRefused, MessageTooLong, NoReply, NoRoute, OutOfMemory, ProgramError
from .kernel.plain import wait

__all__ = [
    "CircuitError",
    "CommandRefused",
    "MessageTooLong",
    "NoReply",
    "NoRoute",
    "OutOfMemory",
    "ProgramError",
    "wait",
]

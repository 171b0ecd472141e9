"""What runs on a CAB's CPU: kernel, datalink, transport; and the door to the hardware."""

from .errors import CircuitError, CommandRefused, MessageTooLong, NoReply, NoRoute, OutOfMemory, ProgramError

__all__ = ["ProgramError", "MessageTooLong", "OutOfMemory", "NoRoute", "CircuitError", "NoReply", "CommandRefused"]

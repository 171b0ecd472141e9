"""Nectarine: tasks on any CAB that send each other messages between buffers in any memory (docs/nectarine.md)."""

from .application import Application
from .buffer import CAB, Buffer, Computer
from .directory import End
from .inbox import ANY

__all__ = ["ANY", "Application", "Buffer", "CAB", "Computer", "End"]

"""Nectarine: tasks on any CAB that send each other messages between buffers in any memory (docs/nectarine.md)."""

from ..computer import CAB, Computer
from .application import Application
from .buffer import Buffer
from .directory import End
from .inbox import ANY

__all__ = ["ANY", "Application", "Buffer", "CAB", "Computer", "End"]

"""What the machine that simulates has: processor cores and memory."""

import os
from pathlib import Path

from .machines import machine_of

__all__ = ["SHARED_NS", "check_memory", "cores", "free_memory"]

#: Time in ns that the boards of a clock edge take from which on threads share them: less would be lost in waiting.
SHARED_NS = 4000.0


def cores():
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory():
    """Bytes of memory that programs can still have; None if the operating system does not tell."""
    told = Path("/proc/meminfo")
    for line in told.read_text().splitlines() if told.exists() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def check_memory(topology):
    """Raises a TopologyError if the boards of ``topology`` need more memory than there is."""
    needed = machine_of(topology).memory(topology)
    free = free_memory()
    if free is not None and needed > free:
        raise topology.error(
            f"{topology.counted()} need about {needed / 1e6:.0f} Mbyte of memory, and "
            f"{free / 1e6:.0f} Mbyte are free; take a smaller topology"
        )

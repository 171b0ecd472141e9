"""What a process takes of the machine."""

import os

__all__ = ["processor_seconds"]


def processor_seconds():
    """What this process and those that it has waited for have taken, in seconds of one core: a measure that hardly
    depends on what else runs."""
    return sum(os.times()[:4])

"""What the tests of protected tasks share."""

import pytest

from nectar.hdl.cab.addresses import REGIONS
from nectar.software.errors import Fault
from nectar.software.kernel.message import Message

__all__ = ["DATA", "faults", "message", "touch"]

DATA = REGIONS["data"].base


def message(cab, data=b"", number=0):
    """A small message that shares its page with others."""
    if not data:
        return Message(cab.memory, None, 0, cab.id, number)
    address = cab.memory.try_allocate(len(data))
    cab.memory.write(address, data)
    return Message(cab.memory, address, len(data), cab.id, number)


async def faults(cab, task, *args):
    """Runs a protected task that must end by a fault; returns that."""
    thread = cab.spawn(task, *args, protected=True)
    with pytest.raises(Fault) as caught:
        await thread.join()
    assert thread.error is caught.value is cab.faults[-1] and caught.value.task == thread.name
    return caught.value


async def touch(cab, address, write, size=4):
    if write:
        cab.door.write(address, 0x55, size)
        await cab.door.now()
    else:
        await cab.door.read(address, size)
    raise AssertionError("a forbidden access was made")

"""The CAB's side of a node's multicasts. Specification: docs/nodes.md."""

from ..errors import MulticastFailed
from ..kernel.message import Message
from ..packet import Status
from .layout import CALL, call_at
from .refused import Refused

__all__ = ["multicast"]


async def multicast(port, number, mailbox, area, timeout_us):
    """Does command ``number`` of the node, a MULTICAST: Status and two values. Those that have not got the message, and
    why, are shown to the node as a text of a line each."""
    cab = port.cab
    words = CALL.unpack(await port.door.read_block(call_at(number), CALL.size))
    members = [32 * index + bit for index, word in enumerate(words) for bit in range(32) if word >> bit & 1]
    if not members or 255 in members or cab.id in members:
        raise Refused(Status.BAD_MEMBERS)
    try:
        await cab.multicast.send((members, mailbox), area, timeout_us or None)
    except MulticastFailed as error:
        text = "\n".join(f"{member} {why}" for member, why in error.missing.items()).encode()
        memory = cab.memory
        message = Message(memory, await memory.allocate(memory.paged(len(text))), len(text))
        memory.write(message.address, text)
        port.show(message)
        return Status.NOT_ALL, message.address, message.length
    return Status.DONE, 0, 0

"""Probes: looking for a message without receiving it."""

from .constants import ANY_TAG
from .envelope import in_parts, selector, tag_of
from .messages import Incoming, checked_tag, sources_of
from .parts import HEADING

__all__ = ["probed"]


async def probed(call, communicator, source, tag, status, wait, keep):
    """Looks for a message.

    Parameters
    ----------
    call : str
    communicator : Communicator
    source, tag : int
        ANY_SOURCE, ANY_TAG: any.
    status : Status or None
        Filled, if there is a message.
    wait : bool
        Whether to wait until there is one.
    keep : bool
        Whether it is kept from other receives.

    Returns
    -------
    None if there is no message; else with ``keep`` the Incoming that has it, or True.
    """
    process, inbox = communicator.process, communicator.process.task.inbox
    checked_tag(tag, ANY_TAG)
    process.spend()
    sources = sources_of(communicator, source)
    types = selector(communicator.context, None if tag == ANY_TAG else tag)
    if wait:
        words = "any tag" if tag == ANY_TAG else f"tag {tag}"
        await inbox.wait(
            f"{call} of messages from {sources.words}, {words}", lambda: inbox.find(sources, types) is not None
        )
    else:
        await process.kernel.pause()
    arrival = inbox.find(sources, types)
    if arrival is None:
        return None
    if status is not None:
        length = arrival.length
        if in_parts(arrival.type):
            await inbox.wait("a heading", lambda: not arrival.moving)
            heading = await process.cab.memory.load(arrival.address, HEADING.size)
            length, _ = HEADING.unpack(heading)
        status.fill(communicator.rank_of(arrival.source), tag_of(arrival.type)[1], length)
    return Incoming(call, communicator, source, tag) if keep else True

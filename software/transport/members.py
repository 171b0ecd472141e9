"""What a sender of multicasts knows of its members: which start of theirs it talks to, and which groups they are in.

Ours; docs/transports.md has the rules. ``Members.heard`` is called at interrupt level, all else by threads.
"""

from ..errors import TimedOut
from ..kernel.condition import Condition
from ..packet import ASK, PacketKind
from .fragmentation import empty
from .sequence import ahead

__all__ = ["Members"]

#: Groups that a sender remembers.
_SETS = 64


class Members:
    """Members of one CAB's multicasts. ``multicast``: its Multicast.

    Members
    -------
    boots : dict of int → int
        CAB ID → which start of it this is, as it has said.
    """

    __slots__ = ("multicast", "kernel", "boots", "_asked", "_told", "_joining", "_sets", "_last")

    def __init__(self, multicast):
        self.multicast = multicast
        self.kernel = multicast.kernel
        self.boots = {}
        self._asked = set()  # CABs that have been asked for that
        self._joining = {}  # group that is being gathered -> CABs that have said that they are in it
        self._told = Condition(self.kernel, "CABs that tell which start of theirs it is")
        self._sets = {}  # tuple of CAB IDs -> group that all of them, and nobody else, are in; the last used at the end
        self._last = 0  # group number given last

    async def meet(self, members, patience):
        """Asks CABs of which nothing was ever heard which start of theirs this is; waits for ``patience`` CPU cycles at
        most."""
        members = [member for member in members if member not in self._asked]
        if members:
            self._asked.update(members)
            await self._invite(members, 0, self.boots, patience)

    async def gather(self, members, patience):
        """Has ``members`` join a group: (those that are in it, its number), the number 0 if that is but one CAB, or
        none.

        Nobody else is in it: a packet for the group may come to whoever is, through a connection that was not closed.
        """
        members = tuple(members)
        while len(members) > 1:
            group = self._sets.pop(members, None)
            if group is None:
                self._last = group = self._last % 0xFFFF + 1
                joined = self._joining[group] = set()
                try:
                    await self._invite(members, group, joined, patience)
                finally:
                    del self._joining[group]
                if len(joined) < len(members):
                    members = tuple(member for member in members if member in joined)
                    continue
                if len(self._sets) >= _SETS:
                    del self._sets[next(iter(self._sets))]
            self._sets[members] = group  # the last now
            return members, group
        return members, 0

    async def _invite(self, members, group, told, patience):
        """Sends each of ``members`` a JOIN, and waits for a time until all are in ``told``: interrupt level sees to
        that."""
        multicast, door, datalink = self.multicast, self.kernel.door, self.multicast.datalink
        for member in members:
            boot = self.boots.get(member, 0) if group else 0
            header = multicast.header(member, PacketKind.JOIN | ASK, 0, 0, multicast.boot, group, boot)
            await empty(self.kernel, multicast.memory).send(datalink, datalink.route(member), header, 0)
        end = await door.now() + patience
        try:
            while (left := end - await door.now()) > 0 and not all(member in told for member in members):
                await self._told.wait(left * 1_000_000 / door.cpu_hz)
        except TimedOut:
            if await door.now() < end:
                raise  # somebody has set another limit to this wait

    def heard(self, packet):
        """Takes note of what an answer says of its sender. Whether that is new; None if the answer is of an earlier
        start of it."""
        member, boot = packet.source, packet.group
        known = self.boots.get(member)
        if known is not None and ahead(boot, known) < 0:
            return None
        joined = self._joining.get(packet.word) if packet.kind is PacketKind.WORKING else None
        if joined is not None:
            joined.add(member)
        if boot != known:
            self.boots[member] = boot
        if boot != known or joined is not None:
            self._told.broadcast()
        return boot != known

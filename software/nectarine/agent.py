"""What Nectarine does on one CAB: messages between its tasks and those of other CABs.

Source: "The Design of Nectar" (1989), section 6.3. Specification: docs/nectarine.md.
"""

from dataclasses import dataclass
from enum import IntEnum

from ..errors import PeerStartedAnew, TaskEnded
from ..packet import ENVELOPE
from .inbox import Arrival, Inbox
from .options import SHORT
from .shortmessage import ShortMessage

__all__ = ["AGENT", "Agent", "Command"]

#: The number in an envelope for the agent of a CAB, not for a task.
AGENT = 0xFFFF


class Command(IntEnum):
    """The type of a message for an agent; ``from task`` of its envelope is the number of the task concerned."""

    REFUSED = 1  # the task is not there; the transfer, if any, will not be pulled
    WITHDRAWN = 2  # the transfer is no more
    START = 3  # the task shall start
    END = 4  # the task shall end
    QUERY = 5  # whether the transfer has been received: nothing was heard of it for some time
    RECEIVED = 6  # it has been


@dataclass(slots=True)
class AgentCounters:
    """What Nectarine has seen on one CAB."""

    refused: int = 0  # messages for tasks that are not there
    unreceived: int = 0  # messages that a task had not received when it ended
    malformed: int = 0  # envelopes that contradict themselves


class Agent:
    """Nectarine on one CAB.

    Parameters
    ----------
    cab : Cab
    directory : Directory
        The application's tasks.

    Members
    -------
    channels : Channels
    transfers : Transfers
    daemons : list
        Of its carriage: see there.
    counters : AgentCounters
    on_start, on_end : callable(Agent, int)
        Called when another CAB asks for a task of that number to be started, or ended.
    """

    __slots__ = (
        "cab",
        "kernel",
        "directory",
        "channels",
        "transfers",
        "daemons",
        "counters",
        "on_start",
        "on_end",
        "_local",
        "_inboxes",
        "_gone",
        "_coming",
    )

    def __init__(self, cab, directory, on_start, on_end):
        self.cab = cab
        self.kernel = cab.kernel
        self.directory = directory
        carriage = cab.carriage(self._deliver, self._lost, self._query)
        self.channels, self.transfers, self.daemons = carriage.channels, carriage.transfers, carriage.daemons
        self._local = carriage.local
        self.counters = AgentCounters()
        self.on_start = on_start
        self.on_end = on_end
        self._inboxes = {}  # number of a task of this CAB -> Inbox
        self._gone = set()  # (CAB ID, number) of tasks of other CABs of which it was told that they are not there
        self._coming = set()  # (CAB ID, transfer) of long messages that have not been received

    def channel(self, cab):
        """The Channel to the CAB of that ID, or the LocalChannel."""
        return self._local if cab == self.cab.id else self.channels[cab]

    # -- the tasks of this CAB -----------------------------------------------------------------------
    def inbox(self, number):
        """The Inbox of the task of that number; None if it is not there: it has ended, or is elsewhere."""
        inbox = self._inboxes.get(number)
        if inbox is None and self.directory.expects(self, number):
            inbox = self._inboxes[number] = Inbox(self.kernel)
        return inbox

    def begin(self, number):
        """A task is about to begin."""
        self.channels.users += 1
        self.inbox(number)

    async def finish(self, number):
        """A task has ended: what it has not received is dropped, and senders that wait are told. Returns how many
        messages there were."""
        inbox = self._inboxes.pop(number)
        for arrival in inbox.arrivals:
            self.counters.unreceived += 1
            await self.drop(arrival, number)
        self.channels.users -= 1
        if not self.channels.users:
            self.channels.rest()
            self._local.rest()
        return len(inbox.arrivals)

    async def drop(self, arrival, number):
        """A message will never be received by task ``number`` of this CAB."""
        arrival.gone = True
        if arrival.slot is not None:
            slot, arrival.slot = arrival.slot, None
            await arrival.channel.give(slot)
        if not arrival.transfer:
            return
        self.received(arrival)
        if arrival.channel is self._local:
            self.transfers.end(arrival.transfer, self._ended(number))
        else:
            await arrival.channel.send(self._command(number, Command.REFUSED, arrival.transfer))

    def received(self, arrival):
        """A message has been received, or never will be."""
        self._coming.discard((arrival.source[0], arrival.transfer))

    def _ended(self, number):
        return TaskEnded(f"task {self.directory.name(number)} has ended: it does not receive the message")

    # -- out -----------------------------------------------------------------------------------------
    def check(self, to):
        """Raises TaskEnded if task ``to``, (CAB ID, number), is known not to be there."""
        cab, number = to
        if to in self._gone or cab == self.cab.id and self.inbox(number) is None:
            raise self._ended(number)

    @staticmethod
    def _command(number, command, transfer=0):
        return ShortMessage(ENVELOPE.pack(AGENT, number, command, 0, transfer))

    async def command(self, cab, number, command, transfer=0):
        """By a thread: tells the agent of another CAB something."""
        await self.channels[cab].send(self._command(number, command, transfer))

    # -- in, at interrupt level (from tasks of this CAB: by a thread) --------------------------------
    def _deliver(self, channel, envelope, slot):
        """A message has come, in that slot. Returns its Arrival, or None if no task has got one."""
        self.kernel.door.spend(self.kernel.costs.nectarine_deliver)
        to, number, type, length, transfer = ENVELOPE.unpack(envelope)
        if to == AGENT:
            channel.give_late(slot)
            self._obey(channel.peer, number, type, transfer)
            return None
        if not transfer and length > SHORT:
            self.counters.malformed += 1
            channel.give_late(slot)
            return None
        inbox = self.inbox(to)
        if inbox is not None:
            if transfer:
                self._coming.add((channel.peer, transfer))
            arrival = Arrival((channel.peer, number), type, length, transfer, channel, slot)
            inbox.arrive(arrival)
            return arrival
        self.counters.refused += 1
        channel.give_late(slot)
        if channel is self._local:
            self.transfers.end(transfer, self._ended(to))
        else:
            channel.send_late(self._command(to, Command.REFUSED, transfer))
        return None

    def _obey(self, peer, number, command, transfer):
        """A word of another CAB's agent."""
        if command == Command.REFUSED:
            self._gone.add((peer, number))
            self.transfers.end(transfer, self._ended(number))
        elif command == Command.WITHDRAWN:
            self._withdrawn(peer, transfer)
        elif command == Command.QUERY:
            if (peer, transfer) not in self._coming:
                self.channels[peer].send_late(self._command(number, Command.RECEIVED, transfer))
        elif command == Command.RECEIVED:
            self.transfers.end(transfer)
        elif command == Command.START:
            self.on_start(self, number)
        elif command == Command.END:
            self.on_end(self, number)
        else:
            self.counters.malformed += 1

    def _query(self, transfer):
        """At interrupt level: nothing was heard of a transfer for some time."""
        cab, number = transfer.to
        self.channels[cab].send_late(self._command(number, Command.QUERY, transfer.number))

    def _withdrawn(self, peer, transfer):
        self._coming.discard((peer, transfer))
        for inbox in self._inboxes.values():
            for arrival in list(inbox.arrivals):
                if arrival.source[0] == peer and arrival.transfer == transfer:
                    inbox.arrivals.remove(arrival)
                    arrival.gone = True
                    if arrival.slot is not None:
                        arrival.channel.give_late(arrival.slot)

    def withdraw(self, transfer):
        """A transfer to a task of this CAB is no more."""
        self._withdrawn(self.cab.id, transfer)

    def _lost(self, channel, error):
        """A CAB is given up, or has started anew."""
        self.transfers.lost(channel.peer, error)
        for inbox in self._inboxes.values():
            inbox.fail(channel.peer, error)
        if isinstance(error, PeerStartedAnew):
            self._gone = {place for place in self._gone if place[0] != channel.peer}

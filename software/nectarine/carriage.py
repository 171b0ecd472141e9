"""What carries messages of tasks from CAB to CAB on Nectar: channels of datagrams, and pulls of long messages.

Other machines have carriages of their own with the same members: docs/machines.md, "What carries messages".
"""

from .channels import Channels
from .localchannel import LocalChannel
from .pulls import Pulls

__all__ = ["Carriage"]


class Carriage:
    """That of one CAB.

    Parameters
    ----------
    cab : Cab
    deliver, lost
        See Channels.
    query
        See Pulls.

    Members
    -------
    channels : Channels
    transfers : Pulls
    local : LocalChannel
    daemons : list of (coroutine function(Cab), str)
        Threads that it needs for as long as the CAB runs, with their names.
    """

    __slots__ = ("channels", "transfers", "local", "daemons")

    def __init__(self, cab, deliver, lost, query):
        self.channels = Channels(cab, deliver, lost)
        self.transfers = Pulls(cab, query)
        self.local = LocalChannel(self.channels)
        self.daemons = [(self.transfers.serve, "long messages")]

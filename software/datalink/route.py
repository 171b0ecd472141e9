"""Routes: the HUB commands that open the way to one CAB or to several.

Source: "The Design of Nectar" (1989), sections 4.2.1 to 4.2.4.
"""

from ...hdl.cab.addresses import REG, TX_LIST_DEPTH
from ...hdl.hub.commands import Op
from ...hdl.link.symbol import ANY_HUB

__all__ = ["Route", "command_word", "CLOSE_ALL"]

_COMMAND = REG["TX_COMMAND"]


def command_word(opcode, hub, param, wait_ready=False, notify=False):
    """The word for TX_COMMAND."""
    return (_COMMAND.opcode.put(opcode) | _COMMAND.hub.put(hub) | _COMMAND.param.put(param)
            | _COMMAND.wait_ready.put(int(wait_ready)) | _COMMAND.notify.put(int(notify)))


#: Closes whatever is behind it; counted when it has left.
CLOSE_ALL = command_word(Op.CLOSE_ALL, ANY_HUB, 0, notify=True)


class Route:
    """A tree of connections from one CAB.

    Parameters
    ----------
    branches : list of list of (hub ID, output port)
        For each destination the hops to it. Branches may begin alike; what they share is opened once.

    Members
    -------
    hops : list of (hub ID, output port)
        In the order in which they are opened.
    packet : list of int
        TX_COMMAND words under packet switching: *test open with retry* for each hop; the first waits for the CAB's ready bit.
    circuit : list of int
        The same under circuit switching: *open with retry*, and *with reply* where a branch ends.
    replies : frozenset of int
        What REPLY reads as when the circuit stands, one word for each branch.
    areas : int
        Areas that a packet may have besides its header, so that it goes into the fiber-out list with its commands.
    """

    __slots__ = ("hops", "packet", "circuit", "replies", "areas")

    def __init__(self, branches):
        if not branches or not all(branches):
            raise ValueError("a route needs at least one hop for each destination: every CAB hangs on a HUB")
        ends = {tuple(branch[-1]) for branch in branches}
        hops = []
        for branch in branches:
            for hop in branch:
                hop = tuple(hop)
                if hop not in hops:
                    hops.append(hop)
        self.hops = hops
        self.packet = [command_word(Op.TEST_OPEN_RETRY, hub, port, wait_ready=not index) for index, (hub, port) in enumerate(hops)]
        self.circuit = [command_word(Op.OPEN_RETRY_REPLY if hop in ends else Op.OPEN_RETRY, *hop) for hop in hops]
        reply = REG["REPLY"]
        self.replies = frozenset(reply.valid.put(1) | reply.opcode.put(Op.OPEN_RETRY_REPLY) | reply.hub.put(hub) | reply.value.put(port)
                                 for hub, port in ends)
        self.areas = TX_LIST_DEPTH - len(hops) - 2
        if self.areas < 1:
            raise ValueError(f"a route of {len(hops)} hops does not go into the fiber-out list of {TX_LIST_DEPTH} entries: send to fewer CABs at once")

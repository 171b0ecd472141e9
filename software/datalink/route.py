"""Routes: the HUB commands that open the way to one CAB or to several.

Source: "The Design of Nectar" (1989), sections 4.2.1 to 4.2.4.
"""

from ...hdl.cab.addresses import REG, TX_LIST_DEPTH
from ...hdl.hub.commands import REPLY, Op
from ...hdl.link.symbol import ANY_HUB

__all__ = ["Route", "command_word", "CLOSE_ALL"]

_COMMAND = REG["TX_COMMAND"]


def command_word(opcode, hub, param, wait_ready=False, notify=False):
    """The word for TX_COMMAND."""
    return (
        _COMMAND.opcode.put(opcode)
        | _COMMAND.hub.put(hub)
        | _COMMAND.param.put(param)
        | _COMMAND.wait_ready.put(int(wait_ready))
        | _COMMAND.notify.put(int(notify))
    )


#: Closes whatever is behind it; counted when it has left.
CLOSE_ALL = command_word(Op.CLOSE_ALL, ANY_HUB, 0, notify=True)


class Route:
    """A tree of connections from one CAB.

    Parameters
    ----------
    branches : list of list of (hub ID, output port)
        For each destination the hops to it. Branches may begin alike; what they share is opened once.
    key : callable((hub ID, output port)) or None
        Tells the order in which hops are opened (``order.Order.key``); on each branch it must ascend. None: as they are
        listed.
    destinations : tuple of int
        IDs of the CABs, if that matters.

    Members
    -------
    hops : list of (hub ID, output port)
        In the order in which they are opened.
    stages : int
        Parts into which the order cuts the commands: each but the last must have been answered before the next is sent,
        since HUBs of different branches do not wait for each other. 1 unless several HUBs branch.
    packet : list of int
        TX_COMMAND words of the last stage under packet switching: *test open with retry* for each hop; the first waits
        for the CAB's ready bit.
    trial : list of int
        The same without *retry*: at a hop that is taken, or not ready, the packet is dropped, and holds up nothing.
    before : list of (list of int, frozenset of int)
        The stages before it: their words, the last *with reply*, and what REPLY reads as then.
    circuits : list of (list of int, frozenset of int)
        All stages under circuit switching: *open with retry* (*test open with retry* if there are several), and *with
        reply* where a branch or a stage ends; and the replies, one word each.
    areas : int
        Areas that a packet may have besides its header, so that it goes into the fiber-out list with its commands.

    Raises ValueError for branches that are no tree, and for more hops than go into the list.
    """

    __slots__ = ("hops", "stages", "packet", "trial", "before", "circuits", "areas", "destinations")

    def __init__(self, branches, key=None, destinations=()):
        self.destinations = destinations
        if not branches or not all(branches):
            raise ValueError("a route needs at least one hop for each destination: every CAB hangs on a HUB")
        ends = {tuple(branch[-1]) for branch in branches}
        ways = {}  # hop -> HUBs on the way to its own, that one included
        for branch in branches:
            for index, hop in enumerate(branch):
                way = [hub for hub, _ in branch[: index + 1]]
                if ways.setdefault(tuple(hop), way) != way:
                    raise ValueError(f"the branches {branches} are no tree: they come to HUB {hop[0]} in two ways")
        self.hops = hops = sorted(ways, key=key) if key is not None else list(ways)
        stages = _stages(hops, ways)
        self.stages = len(stages)
        if max(map(len, stages)) + 3 > TX_LIST_DEPTH:
            raise ValueError(
                f"a route of {len(hops)} hops does not go into the fiber-out list of {TX_LIST_DEPTH} entries: send to "
                f"fewer CABs at once"
            )
        self.packet = [command_word(Op.TEST_OPEN_RETRY, *hop, wait_ready=hop == hops[0]) for hop in stages[-1]]
        self.trial = [command_word(Op.TEST_OPEN, *hop, wait_ready=hop == hops[0]) for hop in stages[-1]]
        self.before = [_answered(stage, stage[-1:], Op.TEST_OPEN_RETRY, hops[0]) for stage in stages[:-1]]
        # A circuit over several branches must find each queue empty, since it goes on to other branches without waiting
        # for what is in there.
        opened = Op.OPEN_RETRY if len(stages) == 1 else Op.TEST_OPEN_RETRY
        self.circuits = [_answered(stage, {*ends, stage[-1]}, opened) for stage in stages]
        self.areas = TX_LIST_DEPTH - len(stages[-1]) - 2


def _stages(hops, ways):
    """Cuts ``hops`` where one could be opened before an earlier one is: where its command does not pass the earlier
    one's HUB, and wait there."""
    stages = [[]]
    for hop in hops:
        if any(earlier[0] not in ways[hop] for earlier in stages[-1]):
            stages.append([])
        stages[-1].append(hop)
    return stages


def _answered(hops, answered, op, first=None):
    """TX_COMMAND words that open ``hops``, those in ``answered`` with a reply; and these replies. ``first`` waits
    for the CAB's ready bit."""
    register = REG["REPLY"]
    words = [command_word(op | REPLY if hop in answered else op, *hop, wait_ready=hop == first) for hop in hops]
    return words, frozenset(
        register.valid.put(1) | register.opcode.put(op | REPLY) | register.hub.put(hub) | register.value.put(port)
        for hub, port in hops
        if (hub, port) in answered
    )

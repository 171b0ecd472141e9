"""An order of the network's channels: who asks for channels in this order only can never wait in a circle.

A *channel* is a HUB's output with its fiber and the input queue at the other end, named by (hub, port). That a packet
on its way, a circuit or a multicast holds some channels and waits for another is a *dependency* between them;
docs/routing.md has the argument."""

from heapq import heapify, heappop, heappush

from ..errors import RoutingCycle

__all__ = ["Order", "cycle", "dependencies"]


class Order:
    """A total order of channels in which every dependency ascends.

    Parameters
    ----------
    after : dict of channel → set of channels
        For each channel between HUBs those that are asked for while it is held. Every channel between HUBs is a key.
    heads : dict of channel → int
        For each channel between HUBs the HUB that it leads to.

    Raises RoutingCycle if there is no such order; its message names a circle.
    """

    __slots__ = ("ranks", "_entered")

    def __init__(self, after, heads):
        before = dict.fromkeys(after, 0)
        for followers in after.values():
            for follower in followers:
                before[follower] += 1
        free = [channel for channel, count in before.items() if not count]
        heapify(free)
        self.ranks = ranks = {}
        while free:
            channel = heappop(free)
            ranks[channel] = len(ranks)
            for follower in after[channel]:
                before[follower] -= 1
                if not before[follower]:
                    heappush(free, follower)
        if len(ranks) < len(after):
            raise RoutingCycle(cycle(after))
        self._entered = {}  # HUB -> rank of the last channel that leads to it
        for channel, hub in heads.items():
            self._entered[hub] = max(self._entered.get(hub, -1), ranks[channel])

    def key(self, channel):
        """Sorts channels. One that leads to a CAB comes as soon as the last that leads to its HUB, and before the
        next between HUBs."""
        rank = self.ranks.get(channel)
        if rank is None:
            return self._entered.get(channel[0], -1), 1, *channel
        return rank, 0, *channel


def dependencies(routes):
    """What ``Order`` needs, of all routes together: (after, heads). Each route is a list of (hub, port) of which the
    last leads to a CAB."""
    steps, turns = set(), set()
    for hops in routes:
        hops = [*map(tuple, hops)]
        steps.update(zip(hops, hops[1:]))
        turns.update(zip(hops, hops[1:-1]))
    after = {here: set() for here, _ in steps}
    for first, second in turns:
        after[first].add(second)
    return after, {here: there[0] for here, there in steps}


def cycle(after):
    """A circle of dependencies, as the list of its channels; empty if there is none. Always the same one."""
    done = set()
    for start in sorted(after):
        path, place = [], {}  # the channels under way, and where each stands in ``path``
        stack = [(start, None)]
        while stack:
            channel, followers = stack.pop()
            if followers is None:
                if channel in done:
                    continue
                place[channel] = len(path)
                path.append(channel)
                followers = iter(sorted(after.get(channel, ())))
            follower = next(followers, None)
            if follower is None:
                done.add(path.pop())
                del place[channel]
                continue
            stack.append((channel, followers))
            if follower in place:
                return path[place[follower] :]
            stack.append((follower, None))
    return []

"""Which way packets go: routes free of deadlock, computed from a map. Every CAB computes the same from the same map.

Source: *Network-Based Multicomputers*, section 5.3.2, for deterministic source routing; the rules are ours:
docs/routing.md has them, and why nobody can wait in a circle. "Up" and "down" are those of Autonet, which that report
cites."""

from ..errors import NoRoute
from .map import Map
from .order import Order, cycle, dependencies

__all__ = ["Plan", "Table", "check", "named_routes"]


class Plan:
    """The order of a network's channels, and the ways on which it ascends.

    Parameters
    ----------
    chart : Map

    Members
    -------
    chart
    shortest : bool
        Whether the shortest ways with the lowest ports are free of circles, and so the rule; else it is up and then
        down.
    order : Order
    """

    def __init__(self, chart):
        self.chart = chart
        self._outputs = chart.outputs()
        self._broken = frozenset()
        self._ways = {}  # HUB -> what ``ways`` returns
        after = _shortest(chart, self._outputs)
        self.shortest = not cycle(after)
        if not self.shortest:
            after = _up_and_down(self._levels(), self._outputs)
        self.order = Order(after, {here: hub for outputs in self._outputs.values() for here, hub in outputs})

    def without(self, broken):
        """The same plan, its order included, for when nothing can pass the channels ``broken``."""
        plan = object.__new__(Plan)
        plan.__dict__.update(self.__dict__, _broken=frozenset(broken), _ways={})
        return plan

    def ways(self, hub):
        """Dict of HUB → list of (hub, port): the shortest way on which the order ascends, of several the one with
        the lowest ports."""
        ways = self._ways.get(hub)
        if ways is None:
            ways = self._ways[hub] = {hub: []}
            ranks = self.order.ranks
            seen = set()
            wave = [([], -1, hub)]
            for way, rank, here in wave:
                for channel, there in self._outputs[here]:
                    if ranks[channel] > rank and channel not in seen and channel not in self._broken:
                        seen.add(channel)
                        longer = [*way, channel]
                        ways.setdefault(there, longer)
                        wave.append((longer, ranks[channel], there))
        return ways

    def table(self, cab):
        """The Table of the CAB of that ID."""
        hub = self.chart.cabs[cab][0]
        ways = self.ways(hub)
        routes = {}
        for other, place in sorted(self.chart.cabs.items()):
            if other != cab and place[0] in ways and place not in self._broken:
                routes[other] = [*ways[place[0]], place]
        return Table(routes, self.order, self)

    def remaining(self):
        """The map without what is broken."""
        chart = Map()
        chart.learn(self.chart)
        for channel in self._broken:
            chart.forget(channel)
        return chart

    def trunk(self, branches):
        """The same destinations along the network's spanning tree; None if the order does not ascend there."""
        levels = self._levels()
        hubs = [branches[0][0][0], *(branch[-1][0] for branch in branches)]
        result = []
        for branch in branches:
            down, up = [], []
            here, there = hubs[0], branch[-1][0]
            while here != there:
                if levels[here] >= levels[there]:
                    up.append(self._towards(levels, here, True))
                    here = self.chart.links[up[-1]][0]
                else:
                    down.append(self._towards(levels, there, False))
                    there = down[-1][0]
            way = [*up, *reversed(down), branch[-1]]
            keys = [self.order.key(channel) for channel in way]
            if keys != sorted(keys) or self._broken & set(way):
                return None
            result.append(way)
        return result

    def _levels(self):
        """For each HUB (distance from the root, ID): the root of each connected part is its lowest HUB."""
        levels = {}
        for hub in sorted(self.chart.hubs):
            if hub not in levels:
                levels.update((there, (distance, there)) for there, distance in self.chart.reached(hub).items())
        return levels

    def _towards(self, levels, hub, up):
        """The channel between ``hub`` and its parent in the tree, up or down."""
        here, _ = min(
            ((here, levels[there]) for here, there in self._outputs[hub] if levels[there][0] < levels[hub][0]),
            key=lambda item: (item[1], item[0]),
        )
        return here if up else self.chart.links[here]


class Table:
    """Routes of one CAB.

    Parameters
    ----------
    routes : dict of int → list of (hub ID, output port)
        For each CAB ID the hops to it.
    order : Order or None
        In which several CABs' hops are opened; None: as they come.
    plan : Plan or None
        What it was made of: knows other ways, and trees in place of branches that are none.

    Members
    -------
    routes, order, plan
    spare : Table or None
        Of the network without what is broken, in an order of its own: for trees that there are not in the common one.
    """

    __slots__ = ("routes", "order", "plan", "spare")

    def __init__(self, routes, order=None, plan=None):
        self.routes = routes
        self.order = order
        self.plan = plan
        self.spare = None

    def branches(self, destinations, name="this CAB"):
        """(hops to each of ``destinations``, which are CAB IDs; the Order in which several are opened). Together
        they are a tree. Raises NoRoute."""
        branches = []
        for destination in sorted(set(destinations)):
            if not self.routes.get(destination):
                raise NoRoute(f"{name} has no route to CAB {destination}; it knows {sorted(self.routes)}")
            branches.append([tuple(hop) for hop in self.routes[destination]])
        if len(branches) == 1 or _is_tree(branches) and self._ascend(branches):
            return branches, self.order
        branches = self.plan.trunk(branches) if self.plan is not None else None
        if branches is not None:
            return branches, self.order
        if self.spare is not None:
            return self.spare.branches(destinations, name)
        raise NoRoute(f"{name} has no tree of routes to the CABs {sorted(set(destinations))}: send to them one by one")

    def _ascend(self, branches):
        """Whether the order ascends on all branches: it does not on ways round what is broken that were found
        without it."""
        if self.order is None:
            return True
        keys = [[self.order.key(hop) for hop in branch] for branch in branches]
        return all(some == sorted(some) for some in keys)


def check(tables):
    """The Order of all ``tables`` (Tables or dicts of routes) together. Raises RoutingCycle if they could wait in a
    circle."""
    routes = [hops for table in tables for hops in (table.routes if isinstance(table, Table) else table).values()]
    return Order(*dependencies(routes))


def named_routes(topology):
    """The routes of a topology by names: {source CAB: {destination CAB: [(HUB ID, output port), ...]}}."""
    plan = Plan(Map.of(topology))
    names = {board.id: name for name, board in topology.cabs.items()}
    return {
        name: {names[other]: hops for other, hops in plan.table(board.id).routes.items()}
        if board.id in plan.chart.cabs
        else {}
        for name, board in topology.cabs.items()
    }


def _is_tree(branches):
    """Whether every HUB is come to in one way only."""
    ways = {}
    return all(
        ways.setdefault(branch[index][0], branch[:index]) == branch[:index]
        for branch in branches
        for index in range(len(branch))
    )


def _shortest(chart, outputs):
    """Dependencies of the shortest ways with the lowest ports between all HUBs, whether CABs hang there or not."""
    after = {here: set() for ports in outputs.values() for here, _ in ports}
    for target in chart.hubs:
        distance = chart.reached(target)
        step = {}  # HUB -> (channel on the way to the target, HUB at its end)
        for hub in distance:
            if hub != target:
                step[hub] = next((here, there) for here, there in outputs[hub] if distance[there] == distance[hub] - 1)
        for channel, there in step.values():
            if there != target:
                after[channel].add(step[there][0])
    return after


def _up_and_down(levels, outputs):
    """Dependencies of all ways that go up, towards the root, and then down."""
    after = {}
    for hub, ports in outputs.items():
        for here, there in ports:
            up = levels[there] < levels[hub]
            after[here] = {
                channel
                for channel, further in outputs[there]
                if further != hub and (up or levels[further] > levels[there])
            }
    return after

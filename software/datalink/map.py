"""The map of a network: HUBs, the fibers between their ports, and where CABs hang. Plain data, no clock, no door.

Source: *Network-Based Multicomputers*, section 5.3.2: a CAB establishes its routing table from what the HUBs tell it.
"""

__all__ = ["Map"]


class Map:
    """What is known of a network.

    Members
    -------
    hubs : dict of int → int
        HUB ID → number of ports.
    links : dict of (hub, port) → (hub, port)
        For each port from which a fiber leads to a HUB the port at which it arrives there. Fibers are pairs: both
        directions are in here.
    cabs : dict of int → (hub, port)
        CAB ID → the port that it hangs on.
    """

    __slots__ = ("hubs", "links", "cabs")

    def __init__(self):
        self.hubs = {}
        self.links = {}
        self.cabs = {}

    @classmethod
    def of(cls, topology):
        """The map of a topology (``hubs``, ``cabs`` and ``fibers`` as in ``nectar.sim.topology``)."""
        result = cls()
        for board in topology.hubs.values():
            result.hub(board.id, board.ports)
        for fiber in topology.fibers:
            ends = []
            for end in (fiber.a, fiber.b):
                ends.append(None if end.port is None else (topology.hubs[end.board].id, end.port))
            if None not in ends:
                result.link(*ends)
            elif ends != [None, None]:
                cab = topology.cabs[(fiber.a if ends[0] is None else fiber.b).board]
                result.cab(cab.id, ends[0] or ends[1])
        return result

    def __eq__(self, other):
        return isinstance(other, Map) and (self.hubs, self.links, self.cabs) == (other.hubs, other.links, other.cabs)

    __hash__ = None

    def __str__(self):
        lines = [f"HUB {hub}: {size} ports" for hub, size in sorted(self.hubs.items())]
        lines += [f"HUB {a[0]} P{a[1]} - HUB {b[0]} P{b[1]}" for a, b in sorted(self.links.items()) if a <= b]
        lines += [f"HUB {hub} P{port} - CAB {cab}" for cab, (hub, port) in sorted(self.cabs.items())]
        return "\n".join(lines)

    # -- building ------------------------------------------------------------------------------------
    def hub(self, number, ports):
        """There is a HUB of that ID with so many ports."""
        self.hubs[number] = ports

    def link(self, a, b):
        """A pair of fibers joins the ports ``a`` and ``b``, each (hub, port). What was known of these ports before
        is forgotten."""
        for end in (a, b):
            self.forget(end)
        self.links[a] = b
        self.links[b] = a

    def cab(self, number, place):
        """The CAB of that ID hangs on the port ``place``. A CAB has one port: where it was known before is
        forgotten."""
        self.forget(place)
        self.cabs[number] = place

    def learn(self, other):
        """Takes over what another map knows. What it does not know stays: a board that does not answer now may be
        busy."""
        for hub, ports in other.hubs.items():
            self.hub(hub, ports)
        for a, b in other.links.items():
            self.link(a, b)
        for cab, place in other.cabs.items():
            self.cab(cab, place)

    def forget(self, place):
        """Nothing is known of what hangs on the port ``place`` any more."""
        other = self.links.pop(place, None)
        if other is not None:
            self.links.pop(other, None)
        for number in [number for number, where in self.cabs.items() if where == place]:
            del self.cabs[number]

    # -- looking -------------------------------------------------------------------------------------
    def outputs(self):
        """For each HUB the ports that lead to other HUBs, in order: dict of hub → list of ((hub, port), hub at the
        other end).

        A fiber from a HUB to itself leads nowhere and is left out.
        """
        result = {hub: [] for hub in self.hubs}
        for here, there in sorted(self.links.items()):
            if here[0] != there[0]:
                result[here[0]].append((here, there[0]))
        return result

    def reached(self, hub):
        """The HUBs that can be reached from ``hub``, itself included, with the number of fibers on the way, nearest
        first."""
        outputs = self.outputs()
        distance = {hub: 0}
        for here in (wave := [hub]):
            for _, there in outputs[here]:
                if there not in distance:
                    distance[there] = distance[here] + 1
                    wave.append(there)
        return distance

"""Topologies that the tests of whole systems share."""

from ...sim.topology import Topology

__all__ = ["ONE_HUB", "shifted"]

#: One HUB with a CAB on every port; IDs and lengths of fibers are what nobody would expect.
ONE_HUB = Topology("one HUB").hub("HUB9", ports=4)
for number, length in enumerate((20, 0.5, 500, 3)):
    ONE_HUB.cab(f"CAB{number + 1}", id=50 * number).fiber(f"CAB{number + 1}", f"HUB9.P{3 - number}", length_m=length)


def shifted(topology):
    """The same boards and fibers, but no two clocks with an edge at the same time, and no two fibers alike."""
    other = Topology(f"{topology.name}, shifted")
    for number, hub in enumerate(topology.hubs.values()):
        other.hub(hub.name, id=hub.id, ports=hub.ports, phase_ns=11.003 * number)
    for number, cab in enumerate(topology.cabs.values()):
        other.cab(cab.name, id=cab.id, phase_ns=5.001 + 7.919 * number)
    for number, fiber in enumerate(topology.fibers):
        other.fiber(str(fiber.a), str(fiber.b), length_m=1 + 37 * number)
    return other

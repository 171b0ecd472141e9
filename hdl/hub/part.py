"""What parts of a HUB that are made for its number of ports have in common, and how members are connected.

Source: "The Design of Nectar" (1989), section 4; ``docs/hub.md``.
"""

from amaranth.lib import wiring

from .messages import check_ports

__all__ = ["HubPart", "give"]


def give(m, target, source, *names, to=None, of=None):
    """Connects members that have the same name in both, in the same cycle. ``to``, ``of``: the members of ``target``,
    of ``source``, are vectors or arrays, and those with this number are connected."""
    for name in names:
        there = getattr(target, name) if to is None else getattr(target, name)[to]
        here = getattr(source, name) if of is None else getattr(source, name)[of]
        several = hasattr(here, "dimensions") or isinstance(here, list)
        m.d.comb += [one.eq(other) for one, other in zip(there, here)] if several else there.eq(here)


class HubPart(wiring.Component):
    """A component of a HUB.

    Parameters
    ----------
    ports : int
        Ports of the HUB.

    Raises
    ------
    TypeError, ValueError
        If ``ports`` is not an int from 2 to 128.
    """

    def __init__(self, ports):
        check_ports(ports)
        self.ports = ports
        super().__init__(self.members())

    def members(self):
        """{name: In or Out} of the members, for ``ports`` ports."""
        raise NotImplementedError

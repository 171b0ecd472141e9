"""Networks of namespaces for tests, where they can be had."""

import os
import socket
from contextlib import contextmanager

from nectar.cli.errors import UsageError
from nectar.net.carrier import Carrier
from nectar.net.namespaces import Namespaces, State, inside
from nectar.sim.topology import load
from nectar.software.node.ip.packets import Network
from nectar.software.system import System
from nectar.verification.net.lines import machine

__all__ = ["Place", "network", "why_not"]


def why_not():
    """Why there can be no network namespaces here, in one line; None if there can: one is made, and taken away."""
    state = State(f"nectar-test-{os.getpid()}")
    try:
        Namespaces.check(state)
        with Namespaces(state, Network({"CAB1": 1})):
            return None
    except (UsageError, OSError) as error:
        return str(error)


class Place:
    """A network of namespaces, with sockets of this process in them.

    Members
    -------
    carrier, machine, namespaces
    """

    def __init__(self, name, system, carrier, namespaces):
        self.carrier, self.machine = carrier, system.machine
        self._name = name
        self.namespaces = namespaces

    def socket(self, cab, *kind):
        """A socket on the node of a CAB; it does not block."""
        with inside(f"{self._name}-{cab}"):
            made = socket.socket(*kind)
        made.setblocking(False)
        return made


@contextmanager
def network(name, topology="hub:2", boards="fast"):
    """A Place of that name, taken away at the end."""
    shape = load(topology)
    system = System.of(machine(shape, boards), shape)
    addresses = Network({cab.name: cab.id for cab in system.cabs})
    try:
        with Namespaces(State(name), addresses) as places:
            carrier = Carrier(system, addresses, places.descriptors)
            yield Place(name, system, carrier, places)
    finally:
        system.close()

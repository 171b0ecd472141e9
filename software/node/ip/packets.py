"""What the network driver looks at in an IP packet: whether it is one, and which CAB it is for. Specification:
docs/net.md."""

import ipaddress

from .layout import LEAST, MTU

__all__ = ["Network", "Wrong", "check"]

_MULTICAST = 0xE0000000, 0xF0000000


class Wrong(Exception):
    """A packet that the driver drops. ``counter``: the field of DriverCounters that counts it."""

    def __init__(self, counter):
        super().__init__(counter)
        self.counter = counter


class Network:
    """Addresses of nodes: the first three bytes are the network's, the fourth is the CAB's ID.

    Parameters
    ----------
    cabs : dict of str → int
        ID of each CAB by its name.
    network : str
        As ``10.89.0.0/24``.

    Members
    -------
    network : ipaddress.IPv4Network
    cabs : dict of str → int

    Raises ValueError for another network, or an ID that is no address of a host.
    """

    def __init__(self, cabs, network="10.89.0.0/24"):
        try:
            self.network = ipaddress.IPv4Network(network)
        except ValueError as error:
            raise ValueError(f"{network} is no network: {error}") from None
        if self.network.prefixlen != 24:
            raise ValueError(f"{network} has not 256 addresses: write it as 10.89.0.0/24")
        for name, number in cabs.items():
            if not 0 < number < 255:
                raise ValueError(f"{name} has the ID {number}: as the last byte of an address it must be 1 to 254")
        self.cabs = dict(cabs)
        self._base = int(self.network.network_address)
        self._ids = frozenset(cabs.values())

    def address(self, name):
        """The address of a CAB's node, as text."""
        return str(self.network[self.cabs[name]])

    def cab(self, address):
        """The ID of the CAB for an address (int); None for a multicast. Raises Wrong."""
        value, mask = _MULTICAST
        if address & mask == value:
            return None
        number = address - self._base
        if number not in self._ids:
            raise Wrong("unreachable")
        return number


def check(packet, network):
    """The ID of the CAB that an IP packet (bytes) is for; None: all. Raises Wrong."""
    if not packet or packet[0] >> 4 == 6:
        raise Wrong("ipv6" if packet else "malformed")
    header = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or not LEAST <= header <= len(packet) or int.from_bytes(packet[2:4], "big") != len(packet):
        raise Wrong("malformed")
    if sum(memoryview(packet[:header]).cast("H")) % 0xFFFF:  # the sum is the same in any order of bytes
        raise Wrong("malformed")
    if len(packet) > MTU:
        raise Wrong("too_long")
    return network.cab(int.from_bytes(packet[16:20], "big"))

"""Names and addresses of the hosts that sockets reach: the CABs, and the nodes behind them. Specification:
docs/sockets.md."""

import socket

from ...machine import node_name

__all__ = ["NETWORK", "Hosts"]

#: The first three bytes of each address; the fourth is the CAB's ID.
NETWORK = "10.1.0."
_ANY = "0.0.0.0"


class Hosts:
    """What a node knows of its network.

    Parameters
    ----------
    node : Node
    """

    def __init__(self, node):
        self._node = node
        self._names = {number: name for name, number in node.names.items()}

    @property
    def own_name(self):
        """The node's name as a host: that of its CAB."""
        return next(name for name in self._node.names if node_name(name) == self._node.name)

    @property
    def own_id(self):
        """The ID of the node's CAB."""
        return self._node.names[self.own_name]

    @property
    def own(self):
        """The node's own address."""
        return self.address(self.own_id)

    @staticmethod
    def address(cab_id):
        """The address of a CAB, by its ID."""
        return f"{NETWORK}{cab_id}"

    def resolve(self, host):
        """The address of a host: name of a CAB or of a node, address, "localhost", or "" for any. gaierror if there is
        none."""
        if isinstance(host, (bytes, bytearray)):
            host = bytes(host).decode("ascii", "replace")
        if host in ("", _ANY):
            return _ANY
        if host in ("localhost", "127.0.0.1"):
            return self.own
        if host == "<broadcast>":
            raise socket.gaierror(socket.EAI_NONAME, "there is no broadcast: send to each host")
        for name, number in self._node.names.items():
            if host.lower() in (name.lower(), node_name(name).lower()):
                return self.address(number)
        try:
            socket.inet_pton(socket.AF_INET, host)
        except (OSError, ValueError):
            names = ", ".join(self._node.names)
            raise socket.gaierror(socket.EAI_NONAME, f"no CAB is called {host!r}: there is {names}") from None
        return host

    def cab(self, address):
        """The ID of the CAB with that address; None if there is none."""
        if not address.startswith(NETWORK):
            return None
        number = int(address[len(NETWORK) :])
        return number if number in self._names else None

    def name(self, address):
        """The name of the host with that address, or None."""
        return self._names.get(self.cab(address))

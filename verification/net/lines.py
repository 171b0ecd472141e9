"""Nodes whose IP packets go over pairs of sockets: what the tests of ``nectar net`` stand on."""

import socket
import struct
import time
from collections import deque
from contextlib import contextmanager, suppress

from nectar.net.carrier import Carrier
from nectar.net.frames import frame, taken
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.node.ip.packets import Network
from nectar.software.system import System
from nectar.verification.software.helpers import drive

__all__ = ["Lines", "carried", "ip", "machine"]

_ADDRESS = "10.89.0."


def ip(source, to, payload=b"", *, protocol=253, first=0x45, length=None, part=0):
    """An IPv4 packet from CAB ``source`` to CAB ``to``, by ID, or to the address ``to``. ``length``: what its header
    says; ``part``: flags and offset of a fragment."""
    target = to if isinstance(to, str) else f"{_ADDRESS}{to}"
    length = 20 + len(payload) if length is None else length
    addresses = socket.inet_aton(f"{_ADDRESS}{source}"), socket.inet_aton(target)
    header = bytearray(struct.pack(">BBHHHBBH4s4s", first, 0, length, 1, part, 64, protocol, 0, *addresses))
    header[10:12] = (-sum(struct.unpack(">10H", header)) % 0xFFFF).to_bytes(2, "big")
    return bytes(header) + payload


def machine(topology, boards):
    """The machine of a Topology, every CAB with a node. ``boards``: ``fast`` or ``rtl``."""
    return EngineMachine(topology, PROTOTYPE, nodes=list(topology.cabs), boards=boards)


class Lines:
    """A system, what carries its packets, and the other ends of the pairs.

    Members
    -------
    system, machine, carrier
    got : dict of str → list of (float, bytes, bool)
        What has come at each CAB's node: simulated time in microseconds, packet, whether its checksum is open.
    on_packet : callable(str, bytes) or None
        Called with each packet that has come.
    """

    def __init__(self, system, pairs, **options):
        self.system, self.machine = system, system.machine
        self._pairs = pairs
        network = Network({cab.name: cab.id for cab in system.cabs})
        self.carrier = Carrier(system, network, {name: pair[0].fileno() for name, pair in pairs.items()}, **options)
        self._unsent = {name: deque() for name in pairs}
        self.got = {name: [] for name in pairs}
        self.on_packet = None

    def send(self, name, packet, unsummed=False):
        """A packet of the node's network."""
        self._unsent[name].append(frame(packet, unsummed))
        self._push(name)

    def _push(self, name):
        """Sends what the pair has room for."""
        unsent = self._unsent[name]
        with suppress(BlockingIOError):
            while unsent:
                self._pairs[name][1].send(unsent[0])
                unsent.popleft()

    def far(self, name):
        """The descriptor behind which a node's network is."""
        return self._pairs[name][1].fileno()

    def hang_up(self, name):
        """Closes it."""
        self._pairs[name][1].close()

    def collect(self):
        """Takes what has come, sends what waits."""
        for name, (_, far) in self._pairs.items():
            self._push(name)
            while far.fileno() >= 0:
                try:
                    data = far.recv(1 << 16)
                except BlockingIOError:
                    break
                packet, unsummed = taken(data)
                self.got[name].append((self.machine.time_ps / 1e6, packet, unsummed))
                if self.on_packet is not None:
                    self.on_packet(name, packet)

    def packets(self, name):
        """The packets that have come at a CAB's node."""
        return [packet for _, packet, _ in self.got[name]]

    def run(self, over, seconds=300):
        """Carries packets until ``over()``; an AssertionError after ``seconds`` of the host."""
        end = time.monotonic() + seconds

        def ended():
            self.collect()
            assert time.monotonic() < end, "the packets have not come"
            return over()

        drive(self.carrier.run(ended, 0.001))

    def settle(self):
        """Carries packets until all is quiet."""
        looks = []

        def quiet():
            looks.append(self.carrier.busy_ps)
            return len(looks) > 3 and not any(self._unsent.values()) and looks[-1] == looks[-3]

        self.run(quiet)


@contextmanager
def carried(topology="hub:2", boards="fast", faults=(), **options):
    """Lines of a system that is closed at the end; ``options`` of the Carrier."""
    shape = load(topology)
    system = System.of(machine(shape, boards), shape)
    pairs = {name: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for name in shape.cabs}
    try:
        for fault in faults:
            system.faults.add(fault)
        for _, far in pairs.values():
            far.setblocking(False)
        yield Lines(system, pairs, **options)
    finally:
        system.close()
        for pair in pairs.values():
            for end in pair:
                end.close()

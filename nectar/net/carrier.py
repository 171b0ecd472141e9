"""Carries packets between descriptors and the nodes of a system, and simulated time along with them.

A descriptor is that of a TUN device, or one end of a pair of datagram sockets. Specification: docs/net.md."""

import os
import select
import time

from ..software.machine import QUIET, node_name
from ..software.node.ip.driver import Driver
from ..software.node.ip.station import Station
from .errors import NetworkGone
from .frames import frame, taken

__all__ = ["Carrier"]

#: Simulated time after which descriptors are looked at again, in picoseconds.
_SLICE_PS = 200_000_000
#: How long a look at quiet descriptors lasts, in seconds.
_LOOK = 0.1
#: Packets that are read from a descriptor at a look.
_BURST = 64
_ROOM = 1 << 16


class Carrier:
    """Packets of all nodes.

    Parameters
    ----------
    system : System
        Every CAB with a node; before its first run.
    network : Network (``software.node.ip.packets``)
    descriptors : dict of str → int
        For each CAB the descriptor of its node's packets; it is set not to block.
    pace : float or None
        Seconds of the host that a simulated second takes. None: packets are carried as fast as the simulation goes;
        while there are none simulated time passes as the host's does.
    clock : callable() → float
        The host's time in seconds.

    Members
    -------
    drivers : dict of str → Driver
    stations : dict of str → Station
    busy_ps : int
        Simulated time in which something was under way, in picoseconds.
    busy_seconds : float
        Time of the host that this has taken.
    undelivered : int
        Packets that a descriptor did not take.
    late_seconds : float
        How far simulated time is behind ``pace``.
    """

    def __init__(self, system, network, descriptors, pace=None, clock=time.monotonic):
        self.busy_ps = 0
        self.busy_seconds = self.late_seconds = 0.0
        self.undelivered = 0
        self._system, self._machine = system, system.machine
        self._descriptors = dict(descriptors)
        self._names = {descriptor: name for name, descriptor in descriptors.items()}
        self._pace, self._clock = pace, clock
        self._delivered = False
        self._poll = select.poll()
        self.stations = {name: Station(system.cab(name)) for name in descriptors}
        system.layers.append(self._restarted)
        self.drivers = {name: self._driver(name, network, fd) for name, fd in descriptors.items()}
        for descriptor in descriptors.values():
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)

    def _restarted(self, cab):
        if cab.name in self.stations:
            self.stations[cab.name] = Station(cab)

    def _driver(self, name, network, descriptor):
        def deliver(packet, unsummed):
            self._delivered = True
            try:
                os.write(descriptor, frame(packet, unsummed))
            except OSError:  # its queue is full, or the device is down
                self.undelivered += 1

        return Driver(self._system.node(name), network, deliver)

    # -- packets in ----------------------------------------------------------------------------------
    def _look(self, timeout):
        """Waits up to ``timeout`` seconds for packets, and hands them to the drivers. Returns whether there were
        any."""
        some = False
        for descriptor, events in self._poll.poll(max(0, timeout) * 1000):
            name = self._names[descriptor]
            for _ in range(_BURST):
                try:
                    data = os.read(descriptor, _ROOM)
                except BlockingIOError:
                    break
                except OSError as error:
                    raise NetworkGone(f"the network device of {name} has gone: {error.strerror}") from error
                if not data:
                    raise NetworkGone(f"the network device of {name} has gone: it was closed")
                some = True
                self._hand_over(name, data)
            else:
                continue
            if events & ~select.POLLIN and not some:
                raise NetworkGone(f"the network device of {name} has gone")
        return some

    def _hand_over(self, name, data):
        driver = self.drivers[name]
        got = taken(data)
        if got is None:
            driver.counters.malformed += 1
        elif driver.send(*got):
            self._machine.wake(node_name(name))

    # -- time ----------------------------------------------------------------------------------------
    async def run(self, over, wait=_LOOK):
        """Carries packets until ``over()`` is true, which is asked at least every ``wait`` seconds while nothing
        happens. Raises NetworkGone, ProgramError."""
        if self._pace is None:
            await self._free(over, wait)
        else:
            await self._paced(over, wait)

    async def _free(self, over, wait):
        while not over():
            self._look(0)
            if await self._busy(self._machine.time_ps + _SLICE_PS) == QUIET and not self._look(0):
                begun = self._clock()
                self._look(wait)
                await self._pass(self._machine.time_ps + round((self._clock() - begun) * 1e12))

    async def _paced(self, over, wait):
        begun, origin = self._clock(), self._machine.time_ps
        while not over():
            self._look(0)
            due = origin + round((self._clock() - begun) / self._pace * 1e12)
            now = self._machine.time_ps
            self.late_seconds = max(0.0, (due - now) / 1e12 * self._pace)
            if due <= now:
                self._look(min(wait, (now + _SLICE_PS - due) / 1e12 * self._pace))
            elif await self._busy(min(due, now + _SLICE_PS)) == QUIET:
                await self._pass(due)

    async def _busy(self, until_ps):
        """Runs until then, until a packet has been delivered, or until all is quiet; returns why it ended."""
        self._delivered = False
        begun, from_ps = self._clock(), self._machine.time_ps
        try:
            return await self._system.advance(lambda: self._delivered, until_ps)
        finally:
            if passed := self._machine.time_ps - from_ps:
                self.busy_ps += passed
                self.busy_seconds += self._clock() - begun

    async def _pass(self, until_ps):
        """Lets simulated time pass while all is quiet; what was planned happens."""
        if until_ps > self._machine.time_ps:
            self._machine.plan(until_ps, lambda: None)
            await self._system.advance(lambda: self._machine.time_ps >= until_ps, until_ps + 1, True)

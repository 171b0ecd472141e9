"""What the tests of the request-response protocol and of reliable multicast share."""

from contextlib import contextmanager

from nectar.software.transport.options import MulticastOptions, RequestOptions
from nectar.verification.software.helpers import simulated

__all__ = ["SERVICE", "QUICK", "QUICK_MULTICAST", "hasten", "settled", "whole", "serve"]

#: Number of the service of ``serve``.
SERVICE = 7

#: Times short enough for tests; they keep the proportions of the real ones.
QUICK = RequestOptions(
    timeout_us=60_000, first_us=1_000, least_us=500, most_us=4_000, attempts=6, keep_us=20_000, stall_us=10_000
)
QUICK_MULTICAST = MulticastOptions(timeout_us=40_000, first_us=1_000, least_us=500, most_us=4_000, stall_us=10_000)


def hasten(cab, **options):
    """Gives a CAB the times of the tests; ``options`` are more of RequestOptions."""
    fields = {name: getattr(QUICK, name) for name in QUICK.__slots__}
    cab.request.options = RequestOptions(**{**fields, **options})
    cab.multicast.options = QUICK_MULTICAST
    return cab


@contextmanager
def whole(topology="hub:2", settle_us=80_000, **options):
    """A System with quick times, in which every heap must be as it began when all has aged; ``more``: of
    RequestOptions."""
    more = options.pop("more", {})
    with simulated(topology, **options) as system:
        for cab in system.cabs:
            hasten(cab, **more)
        used = {cab.name: cab.memory.used for cab in system.cabs}
        yield system
        settled(system, settle_us)
        assert {cab.name: cab.memory.used for cab in system.cabs} == used


def settled(system, microseconds):
    """Lets time pass on every CAB."""

    async def idle(cab):
        await cab.sleep(microseconds)

    for cab in system.cabs:
        system.spawn(cab.name, idle)
    system.go()


async def serve(cab, log, pause_us=0, count=1000, capacity=64):
    """A server that notes what it does: (data, whether cancelled in the end, whether the client still waited)."""
    offered = cab.request.serve(SERVICE, capacity)
    for _ in range(count):
        request = await offered.receive()
        data = await request.read()
        if pause_us:
            await cab.sleep(pause_us)
        cancelled = request.cancelled
        log.append((data, cancelled, await request.reply(data[::-1])))

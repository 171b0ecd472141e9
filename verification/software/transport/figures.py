"""Figures of the request-response protocol and of reliable multicast, as docs/transports.md gives them; measured by the clocks of the CABs."""

from nectar.verification.software.helpers import model, receive_all

__all__ = ["call_us", "multicast_us"]

#: Calls before the one that is measured: the server's boot number is known then.
_WARM = 3


def call_us(size=0, topology="hub:2", server="CAB2", backend="engine"):
    """Microseconds from the call of ``cab.request.call`` to its return: ``size`` bytes each way, between tasks on CAB1 and another, idle CABs."""
    async def serve(cab):
        service = cab.request.serve(1)
        while True:
            request = await service.receive()
            await request.reply(await request.read())

    async def call(cab, destination):
        for _ in range(_WARM + 1):
            await cab.sleep(500)
            begin = await cab.now_us()
            await cab.request.call((destination, 1), bytes(size))
            end = await cab.now_us()
        return end - begin

    with model(topology, backend=backend) as system:
        system.cab(server).spawn(serve)
        client = system.spawn("CAB1", call, system.id_of(server))
        system.go()
        return client.result


def multicast_us(members, size=0, backend="engine"):
    """Microseconds from the call of ``cab.multicast.send`` to its return, which is when ``members`` CABs on the same HUB have acknowledged ``size`` bytes."""
    async def send(cab):
        for _ in range(_WARM + 1):
            await cab.sleep(500)
            begin = await cab.now_us()
            await cab.multicast.send((list(range(2, 2 + members)), 1), bytes(size))
            end = await cab.now_us()
        return end - begin

    with model(f"hub:{members + 1}", backend=backend) as system:
        for number in range(2, 2 + members):
            system.cab(f"CAB{number}").spawn(receive_all, 1, _WARM + 1)
        sender = system.spawn("CAB1", send)
        system.go()
        return sender.result

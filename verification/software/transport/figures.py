"""Figures of the byte stream, the request-response protocol and reliable multicast, as docs/transports.md gives
them; by the clocks of the CABs."""

from nectar.sim.topology import load
from nectar.verification.software.helpers import receive_all, simulated

__all__ = ["call_us", "multicast_us", "stream_mbits"]

#: Calls before the one that is measured: the server's boot number is known then.
_WARM = 3


def call_us(size=0, topology="hub:2", server="CAB2", boards="rtl"):
    """Microseconds from the call of ``cab.request.call`` to its return: ``size`` bytes each way, between tasks on
    CAB1 and another, idle CABs."""

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

    with simulated(topology, boards=boards) as system:
        system.cab(server).spawn(serve)
        client = system.spawn("CAB1", call, system.id_of(server))
        system.go()
        return client.result


def multicast_us(members, size=0, boards="rtl"):
    """Microseconds from the call of ``cab.multicast.send`` to its return, which is when ``members`` CABs on the same
    HUB have acknowledged ``size`` bytes."""

    async def send(cab):
        for _ in range(_WARM + 1):
            await cab.sleep(500)
            begin = await cab.now_us()
            await cab.multicast.send((list(range(2, 2 + members)), 1), bytes(size))
            end = await cab.now_us()
        return end - begin

    with simulated(f"hub:{members + 1}", boards=boards) as system:
        for number in range(2, 2 + members):
            system.cab(f"CAB{number}").spawn(receive_all, 1, _WARM + 1)
        sender = system.spawn("CAB1", send)
        system.go()
        return sender.result


def stream_mbits(length=120_000, copied=False, limit=1004, topology="hub:2", server="CAB2", boards="rtl"):
    """Mbit/s of ``length`` bytes from CAB1 to another CAB, whose task reads them ``limit`` at a time, from the call of
    ``send`` to the last acknowledgment.

    ``copied``: the sender's CPU stores them first; else they lie in data memory.
    """

    async def receive(cab):
        listener = cab.stream.listen(1)
        connection = await listener.accept()
        while await connection.receive(limit):
            pass
        await connection.close()
        listener.close()

    async def send(cab, destination):
        connection = await cab.stream.connect((destination, 1))
        block = await cab.memory.allocate(length)
        begin = await cab.now_us()
        await connection.send(bytes(length) if copied else [(block, length)])
        await connection.close()
        end = await cab.now_us()
        cab.memory.free(block)
        assert connection.packets_repeated == 0
        return 8 * length / (end - begin)

    with simulated(load(topology), boards=boards) as system:
        system.spawn(server, receive)
        sender = system.spawn("CAB1", send, system.id_of(server))
        system.go()
        return sender.result

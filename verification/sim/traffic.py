"""Software for tests of the engine: packets by HUB commands, as a datalink sends them, with nothing around them."""

import asyncio

from ...hdl.cab.addresses import REG, REGIONS, Irq
from ...hdl.hub.commands import Op
from ...hdl.link.symbol import ANY_HUB
from ...software.datalink.routes import named_routes

__all__ = ["Station", "run", "routes_to_others"]

DATA = REGIONS["data"].base
_BUFFER = DATA + 0x10000
_FROM_LIST = {name: REG[name].address for name in REG}


def routes_to_others(topology, rng):
    """(CAB, route to another CAB, which ``rng`` chooses) for each CAB of a topology, one at a time."""
    routes = named_routes(topology)
    names = list(topology.cabs)
    for name in names:
        yield name, routes[name][rng.choice([other for other in names if other != name])]


class Station:
    """A CAB that sends packets along a route and takes in whatever arrives.

    Parameters
    ----------
    machine : Machine
    name : str
        The CAB.
    route : list of (HUB ID, port)
        Where its packets go.
    packets : list of bytes
        What it sends, at least 16 bytes each, one behind the other.
    pause : callable or None
        Gives the CPU cycles to spend before each packet.

    Members
    -------
    received : list of (bytes, bool, int)
        Packets that have arrived, whether their CRC was right, CPU cycle.
    """

    def __init__(self, machine, name, route, packets=(), pause=None):
        self.machine = machine
        self.door = machine.doors[name]
        self.route = route
        self.packets = packets
        self.pause = pause
        self.received = []
        self._sent = 0
        machine.start(name, self._main())

    def _write(self, register, value):
        self.door.write(REG[register].address, value)

    def _order(self, op, hub, param=0, **bits):
        command = REG["TX_COMMAND"]
        value = command.opcode.put(int(op)) | command.hub.put(hub) | command.param.put(param)
        for name, bit in bits.items():
            value |= getattr(command, name).put(int(bit))
        self._write("TX_COMMAND", value)

    def _open(self, waits=True):
        """Opens the route; ``waits``: as soon as there is room for a packet."""
        for number, (hub, port) in enumerate(self.route):
            self._order(Op.TEST_OPEN_RETRY, hub, port, wait_ready=waits and number == 0)

    def _send(self, data):
        area = REG["TX_AREA"]
        self.door.write_block(DATA, data)
        self._open()
        self._write("TX_ADDRESS", DATA)
        self._write("TX_AREA", area.length.put(len(data)) | area.crc.mask | area.end.mask | area.start.mask)
        self._order(Op.CLOSE_ALL, ANY_HUB, notify=True)

    async def _main(self):
        self.door.attach(self._interrupt)
        self._write("IRQ_ENABLE", 1 << Irq.PACKET | 1 << Irq.RECEIVED | 1 << Irq.SENT)
        for number, data in enumerate(self.packets):
            if self.pause:
                self.door.spend(self.pause())
            self._send(data)
            while self._sent <= number:
                await self.door.wait()
        while True:
            await self.door.wait()

    async def _interrupt(self):
        block = await self.door.read_block(REG["IRQ_PENDING"].address, 24)
        pending = int.from_bytes(block[:4], "big")
        if pending >> Irq.SENT & 1:
            self._write("IRQ_PENDING", 1 << Irq.SENT)
            self._sent += 1
        if pending >> Irq.PACKET & 1:
            self._write("RX_ADDRESS", _BUFFER)
            self._write("RX_START", 2048)
            self._write("TX_READY", 0)
        if pending >> Irq.RECEIVED & 1:
            result = int.from_bytes(block[4:8], "big")
            fields = REG["RX_RESULT"]
            data = block[8 : 8 + fields.header.get(result)] + await self.door.read_block(
                _BUFFER, fields.length.get(result)
            )
            self._write("RX_RELEASE", 0)
            self.received.append((data, not fields.crc_bad.get(result), await self.door.now()))


def run(machine, until_ps=None, stop=lambda: False):
    """Runs ``machine``; returns why it has stopped."""
    return asyncio.run(machine.run(stop, until_ps))

"""A CAB by its registers, for tests that go below the datalink."""

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.link.symbol import ANY_HUB
from nectar.software.door import BusError

__all__ = ["Board"]

DATA = REGIONS["data"]


class Board:
    """A CAB by its registers. ``board["NAME"]`` awaits a register, ``board.set(NAME, value or fields)`` writes one."""

    def __init__(self, name, door):
        self.name = name
        self.door = door

    def __getitem__(self, name):
        return self.door.read(REG[name].address)

    def set(self, name, value=0, **fields):
        register = REG[name]
        for field, content in fields.items():
            value |= getattr(register, field).put(int(content))
        self.door.write(register.address, value)

    async def get(self, name, field):
        return getattr(REG[name], field).get(await self[name])

    def area(self, address, length, **fields):
        self.set("TX_ADDRESS", address)
        self.set("TX_AREA", length=length, **fields)

    def command(self, opcode, hub=ANY_HUB, param=0, **fields):
        self.set("TX_COMMAND", opcode=opcode, hub=hub, param=param, **fields)

    async def pending(self, irq):
        """Polls until an interrupt is pending; False after about a millisecond."""
        for _ in range(2000):
            if await self["IRQ_PENDING"] >> irq & 1:
                return True
            self.door.spend(4)
        return False

    async def packet(self, address=DATA.base + 0x8000, limit=4096, ready=True):
        """Receives a packet: (header bytes, data, RX_RESULT as a dict), or None if none comes."""
        if not await self.pending(Irq.PACKET):
            return None
        header = await self.door.read_block(REG["RX_HEADER0"].address, 16)
        self.set("RX_ADDRESS", address)
        self.set("RX_START", limit=limit)
        if ready:
            self.set("TX_READY")
        assert await self.pending(Irq.RECEIVED)
        word = await self["RX_RESULT"]
        result = {field.name: field.get(word) for field in REG["RX_RESULT"].fields}
        data = await self.door.read_block(address, result["length"])
        self.set("RX_RELEASE")
        return header, data, {name: value for name, value in result.items() if value and name != "length"}

    async def fails(self, address, size=4, write=None):
        """Whether an access ends in a bus error."""
        try:
            if write is None:
                await self.door.read(address, size)
            else:
                self.door.write(address, write, size)
                await self.door.now()
        except BusError as error:
            assert (error.address, error.write) == (address, write is not None)
            return True
        return False

"""A CAB driven register by register: what the system tests put in the place of kernel and datalink.

Software of ``software.door``; knows no simulator. Everything here polls, so that what a test sees is what the boards
do, and no interrupt handler stands between.
"""

from typing import NamedTuple

from ...hdl.cab.addresses import REG, REGIONS, TX_LIST_DEPTH
from ...hdl.hub.commands import Op

__all__ = ["BUFFER", "INBOX", "Cab", "Reply", "Packet", "play"]

#: Byte address in data memory of what is sent.
BUFFER = REGIONS["data"].base
#: Byte address in data memory of what is received.
INBOX = BUFFER + 0x10000


class Reply(NamedTuple):
    """A reply taken from REPLY."""

    opcode: int
    hub: int
    value: int


class Packet(NamedTuple):
    """A packet that has come: its first 16 bytes, the rest, whether it was flawless."""

    header: bytes
    data: bytes
    good: bool


class Cab:
    """Registers of one CAB, by what they are for.

    Parameters
    ----------
    name : str
    door : Door
    events : list
        Where ``note`` puts (CPU cycle, CAB's name, what).
    """

    def __init__(self, name, door, events):
        self.name = name
        self.door = door
        self._events = events

    async def note(self, what):
        """Records ``what`` (anything that JSON can hold) with the CPU cycle at which it is known."""
        self._events.append([await self.door.now(), self.name, what])

    async def sleep_until(self, cycle):
        """Lets CPU cycle ``cycle`` come; it must not be past."""
        self.door.spend(cycle - await self.door.now())

    def command(self, op, hub, param=0, wait_ready=False):
        """Puts a HUB command on the fiber-out list."""
        register = REG["TX_COMMAND"]
        self.door.write(
            register.address,
            register.opcode.put(op)
            | register.hub.put(hub)
            | register.param.put(param)
            | register.wait_ready.put(int(wait_ready)),
        )

    def packet(self, data):
        """Sends ``data`` as one packet with its CRC."""
        self.door.write_block(BUFFER, data)
        self.door.write(REG["TX_ADDRESS"].address, BUFFER)
        area = REG["TX_AREA"]
        self.door.write(area.address, area.length.put(len(data)) | area.crc.mask | area.start.mask | area.end.mask)

    async def sent_all(self):
        """Waits until the fiber-out list is empty and nothing is being sent from it."""
        register = REG["TX_STATUS"]
        while True:
            status = await self.door.read(register.address)
            if register.free.get(status) == TX_LIST_DEPTH and not register.busy.get(status):
                return

    async def reply(self, cycles=None):
        """The next reply; None if none has come within so many CPU ``cycles``."""
        register = REG["REPLY"]
        start = await self.door.now()
        while True:
            word = await self.door.read(register.address)
            if register.valid.get(word):
                return Reply(register.opcode.get(word), register.hub.get(word), register.value.get(word))
            if cycles is not None and await self.door.now() - start >= cycles:
                return None

    async def _pending(self, field):
        register = REG["IRQ_PENDING"]
        while not getattr(register, field).get(await self.door.read(register.address)):
            pass

    async def receive(self, limit=0x8000, ready=True):
        """Waits for a packet, takes it in and gives it back to the fiber port; a ``ready`` is sent once its DMA
        runs."""
        await self._pending("packet")
        header = await self.door.read_block(REG["RX_HEADER0"].address, 16)
        self.door.write(REG["RX_ADDRESS"].address, INBOX)
        self.door.write(REG["RX_START"].address, limit)
        if ready:
            self.ready()
        await self._pending("received")
        register = REG["RX_RESULT"]
        result = await self.door.read(register.address)
        data = await self.door.read_block(INBOX, register.length.get(result))
        self.door.write(REG["RX_RELEASE"].address, 0)
        bad = register.crc_bad.mask | register.too_long.mask | register.framing.mask | register.discarded.mask
        return Packet(header[: register.header.get(result)], data, not result & bad)

    def ready(self):
        """Sends a ready signal."""
        self.door.write(REG["TX_READY"].address, 0)

    async def ask(self, op, hub, param):
        """The value that a status command for a HUB is answered with."""
        self.command(op, hub, param)
        answer = await self.reply()
        if answer != (op, hub, answer.value):
            raise AssertionError(f"{self.name}: {op!r} of HUB {hub}, port {param} was answered with {answer}")
        return answer.value

    async def audit(self, hub, ports):
        """What the HUB knows: {"outputs": status of each output, "errors": errors counted at each port, "own": those
        of the CAB}."""
        outputs = [await self.ask(Op.STATUS_OUTPUT, hub, port) for port in range(ports)]
        errors = [await self.ask(Op.STATUS_ERRORS, hub, port) for port in range(ports)]
        return {"outputs": outputs, "errors": errors, "own": await self.door.read(REG["ERRORS"].address)}


async def play(machine, scripts, limit_ps):
    """Runs ``scripts`` on a machine; returns the events that they noted.

    ``scripts``: CAB's name → coroutine function that takes a Cab. The events are [CPU cycle, CAB, what], by cycle and
    CAB. Raises AssertionError if not all have ended by ``limit_ps``.
    """
    events, ended = [], []

    async def run(name, script):
        await script(Cab(name, machine.doors[name], events))
        await machine.doors[name].now()
        ended.append(name)

    for name, script in scripts.items():
        machine.start(name, run(name, script))
    verdict = await machine.run(lambda: len(ended) == len(scripts), limit_ps)
    if len(ended) != len(scripts):
        raise AssertionError(
            f"{verdict} at {machine.time_ps} ps: {sorted(set(scripts) - set(ended))} have not ended; events: {events}"
        )
    return sorted(events, key=lambda event: event[:2])

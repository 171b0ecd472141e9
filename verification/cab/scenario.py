"""Random operations done on a CAB and on the reference model alike, and their comparison whenever the board is idle."""

import os
import random

from nectar.hdl.cab.addresses import LEVEL_REGISTERS, REG, REGIONS, REGISTERS, TX_LIST_DEPTH
from nectar.hdl.cab.vme.registers import VME_REGISTERS
from nectar.hdl.link.symbol import Control, packet
from nectar.verification.cab.contents import put, random_arrival, some_length, with_crc
from nectar.verification.cab.driver import Access
from nectar.verification.cab.reference import INPUT_QUEUE, BusFault, fields

__all__ = ["Scenario"]

_DATA = REGIONS["data"].base
_TIMER = tuple(register.name for register in REGISTERS if register.name.startswith("TIMER"))


class Scenario:
    """A board and its model.

    Parameters
    ----------
    board : BoardDriver
        Started.
    model : reference.Board
        Just made.

    The lower half of the data memory is for what is sent, the upper half for what is received: what an area holds must
    not change while its entry waits.
    """

    def __init__(self, board, model):
        self.board = board
        self.model = model
        self.half = len(model.data) // 2
        self.counts = {}

    async def begin(self):
        """Fills memories and the table of rights, as nothing else may be read."""
        content = random.randbytes(len(self.model.data))
        self.model.data[:] = content
        words = range(0, len(content), 4)
        await self.board.block(Access(_DATA + at, int.from_bytes(content[at : at + 4], "big")) for at in words)
        program = random.randbytes(len(self.model.program))
        self.model.program[:] = program
        await self.board.block(
            Access(REGIONS["program"].base + at, int.from_bytes(program[at : at + 4], "big"))
            for at in range(0, len(program), 4)
        )
        table = self.model.protection
        words = []
        for domain in range(table.domains):
            for page in range(0, 1 << 14, 4):
                if table.covers(domain, page):
                    words.append(Access(REGIONS["protection"].base + (domain << 14) + page, 0x07070703))
                    table.store(domain, page, 0x07070703, 15)
        await self.board.block(words)
        await self.register("DOMAINS_ON", 0xFFFF_FFFF)

    async def access(self, address, value=None, select=0xF, kernel=True, execute=False, vme=False):
        """The same access on both sides; the word read, or None after an error."""
        pins = {"vme": True} if vme else {"kernel": kernel, "execute": execute}
        address &= ~3 if vme else ~0  # the host's addresses are those of words
        try:
            if value is None:
                expected = self.model.read(address, select, **pins)
            else:
                expected = self.model.write(address, value, select, **pins)
        except BusFault:
            expected = BusFault
        try:
            seen = await (
                self.board.read(address, select, **pins)
                if value is None
                else self.board.write(address, value, select, **pins)
            )
        except BusFault:
            seen = BusFault
        kind = "load" if value is None else f"store of {value:#x}"
        assert seen == expected, f"{kind} at {address:#x}, select {select:#x}: {seen}, not {expected}"
        return None if seen is BusFault else seen

    async def register(self, name, value=None, **pins):
        """The same access to a register on both sides."""
        return await self.access(REG[name].address, value, **pins)

    def as_user(self):
        """Pins of an access that the protection may refuse; or of one of the kernel's."""
        return {"kernel": random.random() < 0.3, "vme": self.board.has_host and random.random() < 0.4}

    async def compare(self):
        """The board must show what the model shows: registers, interrupt line, symbols sent."""
        board, model = self.board, self.model
        await board.quiet()
        same = len(os.path.commonprefix([board.tx, model.sent]))
        seen, expected = board.tx[same : same + 20], model.sent[same : same + 20]
        assert board.tx == model.sent, f"sent the same {same} symbols, then {seen}, not {expected}"
        board.tx.clear()
        model.sent.clear()
        assert board.irq == model.irq
        for register in REGISTERS:
            if register in VME_REGISTERS and not model.vme:
                continue
            if "r" not in register.access or register.name in (*_TIMER, "REPLY", "RX_QUEUE", "TX_STATUS"):
                continue
            await self.register(register.name)
        status = await board.register("TX_STATUS")
        expected = fields("TX_STATUS", model.read(REG["TX_STATUS"].address, kernel=True))
        seen = fields("TX_STATUS", status)
        # How far the channel works ahead of an entry that waits is its own affair.
        assert expected.pop("free") <= seen.pop("free") <= TX_LIST_DEPTH
        assert seen == expected, f"TX_STATUS: {seen}, not {expected}"

    async def compare_memory(self):
        """Every word of the data memory."""
        accesses = await self.board.block(Access(_DATA + at) for at in range(0, len(self.model.data), 4))
        seen = b"".join(access.data.to_bytes(4, "big") for access in accesses)
        wrong = [
            f"{at:#x} is {one:#x}, not {other:#x}"
            for at, (one, other) in enumerate(zip(seen, self.model.data, strict=True))
            if one != other
        ]
        assert not wrong, f"memory differs at {len(wrong)} bytes: {', '.join(wrong[:8])}"

    # -- operations ----------------------------------------------------------------------------------
    async def arrive(self, symbols):
        """Symbols arrive, with or without pauses."""
        density = random.choice([1, 1, 0.8, 0.3])
        for symbol in symbols:
            while random.random() >= density:
                self.board.rx.append(None)
            self.board.rx.append(int(symbol))
            waited = self.model.waiting
            self.model.arrive(symbol)
            # Which comes first, the next ready signal or the starts that this one lets out, is a matter of time.
            if waited and symbol == Control.READY:
                await self.board.quiet()

    async def receive_anything(self):
        await self.arrive(random_arrival())

    async def overflow(self):
        data = random.randbytes(INPUT_QUEUE + random.randrange(100))
        await self.arrive(packet(with_crc(data)))

    async def ready_signal(self):
        await self.arrive([Control.READY])

    async def answer(self):
        """What software does about a packet, in most cases the right thing."""
        model = self.model
        waits = model.packet is not None and model.packet.waits
        if not waits and random.random() < 0.8:
            return
        limit = random.choice([0, 1, 5, 2000, random.randrange(100), random.randrange(2000)])
        last = len(model.data) - limit
        address = random.choice([self.half + random.randrange(self.half), last, last + 1])
        if address < self.half or random.random() < 0.05:
            address = random.choice([-1, len(model.data), 1 << 22])
        for _ in range(random.choice([0, 0, 1, 3])):
            await self.scatter()
        await self.register("RX_ADDRESS", _DATA + address & 0xFFFFFF)
        if random.random() < 0.85:
            await self.register("RX_START", limit | random.getrandbits(12) << 20, **self.as_user())
        else:
            await self.register("RX_CONTROL", put("RX_CONTROL", discard=1))

    async def scatter(self):
        """An area for the next packet that is stored."""
        length = random.choice([0, 1, 2, 3, 4, 5, random.randrange(60), random.randrange(300)])
        address = self.half + random.randrange(self.half - length)
        if random.random() < 0.05:
            address = random.choice([-1, len(self.model.data) - length + 1])
        await self.register("RX_ADDRESS", _DATA + address & 0xFFFFFF)
        await self.register("RX_AREA", length | random.getrandbits(12) << 20, **self.as_user())

    async def mode(self):
        """How packets are taken: mostly as they were at first."""
        await self.register(
            "RX_MODE",
            put(
                "RX_MODE",
                check=random.choice([0, 0, 1, 1, 2, 3]),
                skip=random.choice([0, 0, 3, 16, 17]),
                direct=random.random() < 0.2,
            ),
        )

    async def take_symbols(self):
        """Software takes symbols out of the queue itself."""
        for _ in range(random.choice([1, 5, 50]) if self.model.rx_mode["direct"] else 1):
            await self.register("RX_QUEUE")

    async def thresholds(self):
        await self.register(
            random.choice(["RX_THRESHOLD", "TX_THRESHOLD"]), random.choice([0, 1, 4, random.randrange(200)])
        )

    async def discard(self):
        await self.register("RX_CONTROL", put("RX_CONTROL", discard=1))

    async def release(self):
        await self.register("RX_RELEASE", random.getrandbits(32))

    async def reset_receiver(self):
        packet = self.model.packet
        await self.register("RX_CONTROL", put("RX_CONTROL", reset=1, discard=random.random() < 0.5))
        await self._cut_off(packet)

    async def _cut_off(self, packet):
        """A reset has forgotten ``packet`` (or None): how much of it had been stored by then is not specified. Each
        byte of its areas must be as before or as in the packet; the model takes what the board has."""
        if packet is None or not packet.stored:
            return
        may_be, rest = {}, packet.stored
        for offset, length in packet.areas:
            for place, byte in enumerate(rest[:length], offset):
                may_be.setdefault(place, {self.model.data[place]}).add(byte)
            rest = rest[length:]
        await self.board.quiet()
        words = sorted({place & ~3 for place in may_be})
        for at, access in zip(words, await self.board.block(Access(_DATA + at) for at in words), strict=True):
            for place, byte in enumerate(access.data.to_bytes(4, "big"), at):
                if place in may_be:
                    assert byte in may_be[place], f"{place:#x} is {byte:#x}, not one of {may_be[place]} after a reset"
                    self.model.data[place] = byte

    async def take_replies(self):
        for _ in range(random.choice([1, 2, 10])):
            await self.register("REPLY")

    async def send(self):
        """Entries of the list, in one go or one by one."""
        for _ in range(random.randrange(1, 6)):
            # Beyond that it depends on how far the channel works ahead whether the list is full.
            if len(self.model.entries) >= TX_LIST_DEPTH - 2:
                return
            kind = random.random()
            if kind < 0.25:
                await self.register(
                    "TX_COMMAND",
                    random.getrandbits(32) & ~REG["TX_COMMAND"].wait_ready.mask
                    | put("TX_COMMAND", wait_ready=random.random() < 0.3),
                )
            elif kind < 0.4:
                symbol = random.choice([random.getrandbits(9), *Control])
                await self.register("TX_SYMBOL", symbol | random.getrandbits(23) << 9)
            else:
                await self.area()

    async def area(self):
        length = some_length()
        offset = random.choice([random.randrange(self.half - 1300), 0, 1, 2, 3])
        if random.random() < 0.05:
            length, offset = random.choice(
                [
                    (1, -1),
                    (1, len(self.model.data)),
                    (2, len(self.model.data) - 1),
                    (0, -5),
                    ((1 << 20) - 1, 0),
                    (0, len(self.model.data)),
                ]
            )
        await self.register("TX_ADDRESS", _DATA + offset & 0xFFFFFF)
        await self.register(
            "TX_AREA",
            put(
                "TX_AREA",
                length=length,
                crc=random.random() < 0.4,
                internet=random.random() < 0.4,
                end=random.random() < 0.4,
                start=random.random() < 0.4,
                notify=random.random() < 0.3,
            ),
            **self.as_user(),
        )

    async def reset_sender(self):
        await self.register(
            "TX_CONTROL",
            random.choice(
                [put("TX_CONTROL", reset=1), put("TX_CONTROL", set_ready=1), put("TX_CONTROL", reset=1, set_ready=1)]
            ),
        )

    async def send_ready(self):
        for _ in range(random.choice([1, 1, 3])):
            await self.register("TX_READY", random.getrandbits(32))

    async def interrupts(self):
        name = random.choice(
            ["IRQ_PENDING", "IRQ_PENDING", "IRQ_ENABLE", "IRQ_ENABLE", "IRQ_THRESHOLD", *LEVEL_REGISTERS]
        )
        await self.register(name, random.getrandbits(32) & (~0xC if name == "IRQ_THRESHOLD" else ~0))

    async def reset_board(self):
        packet = self.model.packet
        value = random.getrandbits(32) | (random.random() < 0.7)
        await self.register("RESET", value)
        if value & 1:
            await self._cut_off(packet)

    async def memory(self):
        for _ in range(10):
            address = self.half + random.randrange(self.half)
            await self.access(
                _DATA + address,
                random.choice([None, random.getrandbits(32)]),
                random.getrandbits(4),
                execute=random.random() < 0.2,
                **self.as_user(),
            )

    async def host(self):
        """The host does what software would: in VME's own domain, so that it may be refused."""
        name = random.choice(
            [
                "TX_SYMBOL",
                "TX_READY",
                "REPLY",
                "IRQ_PENDING",
                "RX_RELEASE",
                "RX_QUEUE",
                "DOMAIN",
                "TX_ADDRESS",
                "TRAP_INFO",
                "RX_ADDRESS",
                "VME_BELL",
                "CONFIG",
            ]
        )
        writes = "w" in REG[name].access and ("r" not in REG[name].access or random.random() < 0.5)
        await self.register(name, random.getrandbits(32) if writes else None, vme=True)

    async def protection(self):
        """The kernel changes rights, domains, or takes the trap record; most pages stay open."""
        domains = self.model.protection.domains
        kind = random.random()
        if kind < 0.5:
            page = (
                random.choice(
                    [
                        REGIONS["data"].base + random.randrange(len(self.model.data)),
                        REGIONS["registers"].base,
                        REGIONS["program"].base,
                        REGIONS["registers"].base + 0xC00,
                        random.getrandbits(24),
                    ]
                )
                >> 10
            )
            rights = sum(random.choice([7, 7, 7, 7, 3, 1, random.randrange(256)]) << 8 * n for n in range(4))
            await self.access(
                REGIONS["protection"].base + (random.randrange(domains) << 14) + page, rights, random.getrandbits(4)
            )
        elif kind < 0.8:
            await self.register("DOMAIN", random.choice([0, random.randrange(32), random.randrange(domains)]))
        elif kind < 0.9:
            await self.register("DOMAINS_ON", random.getrandbits(32) | random.getrandbits(32))
        else:
            await self.register("TRAP_INFO", random.getrandbits(32))

    async def anywhere(self):
        """An access to any place, most of them errors; but not one that takes or starts something."""
        register = random.choice(REGISTERS)
        address, select = random.choice(
            [
                (random.getrandbits(24), random.getrandbits(4)),
                (_DATA + len(self.model.data) + random.randrange(1 << 12), 15),
                (_DATA - 1 - random.randrange(1 << 12), 15),
                (REGIONS["registers"].base + random.randrange(REGIONS["registers"].size), 15),
                (register.address, random.randrange(15)),
                (register.address | 3, 15),
            ]
        )
        region = REGIONS["registers"]
        if address & ~3 in {REG[name].address for name in (*_TIMER, "TX_STATUS")} and select == 15:
            return
        if self.model.vme and address >= REGIONS["vme"].base:
            return  # the VME bus is at rest: it would take long
        if REGIONS["protection"].base <= address < REGIONS["protection"].end and random.random() < 0.9:
            return
        writes = random.random() < 0.5 and not _DATA <= address < _DATA + self.half
        if (
            writes
            and region.base <= address < region.end
            and select == 15
            and any(r.address == address & ~3 and "w" in r.access for r in REGISTERS)
        ):
            return
        await self.access(
            address, random.getrandbits(32) if writes else None, select, execute=random.random() < 0.2, **self.as_user()
        )

    async def run(self, operations, weights):
        """That many operations, chosen by weight (name → number)."""
        for _ in range(operations):
            name = random.choices(list(weights), weights.values())[0]
            self.counts[name] = self.counts.get(name, 0) + 1
            # The memory holds what has been received only when no packet is under way.
            if name == "memory" and self.model.packet is not None:
                continue
            if name == "send" and self.model.waiting and random.random() < 0.5:
                continue
            await getattr(self, name)()
            if self.board.idle and random.random() < 0.3:
                self.board.sleep(min(self.board.wake_in, random.choice([1, 2, 10, 1000])))
            await self.compare()

"""Random traffic of everybody at once on a whole CAB, beside the reference model.

Each task does something again and again, on the board and on the model alike, in a part of the memories of its own; at
the end of a round, when all is done, the two are compared. The order in which the tasks' accesses come to the board is
that in which they come to the model."""

import random

import cocotb

from nectar.hdl.cab.addresses import REG, REGIONS, TX_LIST_DEPTH, Irq
from nectar.hdl.cab.regions import PAGE_BITS
from nectar.hdl.cab.timer_registers import TIMERS
from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH, VME_REG
from nectar.hdl.link.symbol import Control
from nectar.verification.cab.driver import Access
from nectar.verification.cab.reference import BusFault, fields
from nectar.verification.cab.scenario import Scenario, put, random_arrival
from nectar.verification.cab.whole import A24_BASE, SLAVE_BASE

__all__ = ["PARTS", "USER", "Traffic"]

DATA, PROGRAM = REGIONS["data"].base, REGIONS["program"].base
_KBYTE = 1 << PAGE_BITS
#: Parts of the data memory, in kbyte: first and last but one. What is in ``closed`` only the kernel may touch.
PARTS = {
    "sent": (0, 4),
    "received": (4, 8),
    "vme": (8, 11),
    "node": (11, 13),
    "host": (13, 14),
    "cpu": (14, 15),
    "closed": (15, 16),
}
#: Who may touch what besides the kernel; the registers of fiber, timers and VME are the first three of their pages.
USER, _USERS = 1, ("sent", "received", "vme", "cpu")
_VMES = ("node", "host")
#: Bytes of the memory on VME that are the CPU's by its window; the DMA's are those before them.
_BY_WINDOW = 1024
#: Symbols that may wait in the input queue: some less than it holds.
_QUEUED = 1000
#: Replies that may wait: one less than it holds, as the model gives one out a little before the board.
_REPLIES = 7


class Traffic(Scenario):
    """The tasks.

    Parameters
    ----------
    whole : Whole
        Started.
    model : WholeModel
        Just made.
    """

    def __init__(self, whole, model):
        super().__init__(whole.board, model)
        self.whole = whole
        self.vme_domain = model.protection.domains - 1
        self.end = 0
        self.arriving = False
        self.heard = 0  # symbols sent that the other end of the fiber has seen
        self.fired = False
        self.breaks = False  # what is under way at the end of the traffic is not waited for

    # -- helpers -----------------------------------------------------------------------------------------
    def part(self, name, length=0):
        """Offset in data memory of a random place for ``length`` bytes in that part."""
        first, end = PARTS[name]
        return random.randrange(first * _KBYTE, end * _KBYTE - length + 1)

    async def raw(self, name):
        """A register of the board, whatever the model says; in the user's domain."""
        return await self.board.read(REG[name].address, kernel=False)

    async def until(self, condition):
        """Waits, looking now and then; ``condition`` is a coroutine function."""
        while not await condition():
            await self.board.run(random.randrange(2, 40))

    async def irq(self, irq):
        """Waits until an interrupt is pending on the board."""

        async def pending():
            return await self.raw("IRQ_PENDING") >> irq & 1

        await self.until(pending)

    def user(self):
        """Pins of an access in the kernel's or in the user's domain."""
        return {"kernel": random.random() < 0.3}

    # -- rounds --------------------------------------------------------------------------------------------
    async def open_up(self):
        """Fills memories; gives each domain its pages; the CPU becomes the user."""
        await self.begin()
        registers = REGIONS["registers"].base >> PAGE_BITS
        pages = {
            USER: {registers: 3, registers + 1: 3, registers + 2: 3, PROGRAM >> PAGE_BITS: 5},
            self.vme_domain: {registers: 1, registers + 2: 3},
        }
        for domain, names in ((USER, _USERS), (self.vme_domain, _VMES)):
            for name in names:
                pages[domain] |= dict.fromkeys((page + (DATA >> PAGE_BITS) for page in range(*PARTS[name])), 7)
        for domain, rights in pages.items():
            table = REGIONS["protection"].base + (domain << 14)
            for first in (PROGRAM >> PAGE_BITS, registers, *range(DATA >> PAGE_BITS, (DATA >> PAGE_BITS) + 16, 4)):
                word = sum(rights.get(first + n, 0) << 24 - 8 * n for n in range(4))
                await self.access(table + first, word)
        await self.register("DOMAIN", USER)
        window = VME_REG["VME_WINDOW"]
        await self.register(
            "VME_WINDOW", window.page.put(SLAVE_BASE >> 23) | window.modifier.put(Modifier.A24_USER_DATA)
        )

    async def round(self, cycles):
        """So many cycles of traffic; then everything is compared."""
        await self._work(cycles)
        await self.until(self._moved)  # a full list of single transfers takes long
        await self.whole.calm()
        while self._listen():
            await self.board.quiet()
        await self._same()

    async def _work(self, cycles):
        """So many cycles of traffic."""
        for _ in range(40):
            await self.access(DATA + (self.part("sent") & ~3), random.getrandbits(32))
        for name in ("TX_THRESHOLD", "RX_THRESHOLD", "VD_THRESHOLD"):
            await self.register(name, random.choice([0, 1, 20, random.randrange(600)]))
        await self.register(
            "RX_MODE", put("RX_MODE", check=random.choice([0, 0, 1, 2]), skip=random.choice([0, 0, 3, 16]))
        )
        await self.interrupts()
        density = random.choice([1, 1, 0.5])
        self.board.takes = lambda: self.board.due and random.random() < density
        self.end = self.board.cycles + cycles
        works = (
            self.arrivals,
            self.receive,
            self.send_entries,
            self.move,
            self.node,
            self.host_access,
            self.compute,
            self.compute,
            self.timers,
        )
        self.arriving = True
        for task in [cocotb.start_soon(self._again(work)) for work in works]:
            await task

    async def _moved(self):
        """Whether the VME DMA list is empty and nothing of it under way."""
        status = VME_REG["VD_STATUS"]
        word = await self.raw("VD_STATUS")
        return not status.busy.get(word) and status.free.get(word) == VME_LIST_DEPTH

    async def _again(self, work):
        while self.board.cycles < self.end:
            await work()
            self.counts[work.__name__] = self.counts.get(work.__name__, 0) + 1
            await self.board.run(random.choice([0, 0, 0, random.randrange(50)]))
        if self.breaks:
            return
        if work == self.arrivals:
            self._arrive([Control.END])  # what is open ends
            self.arriving = False
        while work == self.receive and (
            self.arriving or self.model.packet or self.model.result is not None or self.model.replies
        ):
            await work()
            await self.board.run(20)

    async def _same(self):
        """Board and model, and both memories, when nothing is under way."""
        model, board = self.model, self.board
        for symbols in (board.tx, model.sent):  # ready signals go between any two symbols
            ready = [symbol for symbol in symbols if symbol == Control.READY]
            symbols[:] = [symbol for symbol in symbols if symbol != Control.READY] + ready
        info = fields("TRAP_INFO", await board.register("TRAP_INFO"))
        assert (info.pop("valid"), info.pop("lost")) == (model.protection.trap is not None, model.protection.lost)
        if model.protection.refused:
            assert {"address": await board.register("TRAP_ADDRESS"), **info} in model.protection.refused
        await self.register("TRAP_INFO", 0)
        if self.fired:
            await self.board.register("IRQ_PENDING", 1 << Irq.TIMER)
            self.fired = False
        await self.compare()
        await self.register("IRQ_PENDING", 0xFFFF_FFFF)
        self.heard = 0
        await self.compare_memory()
        assert self.whole.slave.bytes == model.far
        self.whole.checker.done("BLOCK", "READ-SETUP", "OWNER")

    # -- the fibers ----------------------------------------------------------------------------------------
    def _arrive(self, symbols):
        for symbol in symbols:
            self.board.arrivals.append(int(symbol))
            self.model.arrive(symbol)

    def _listen(self):
        """Answers each start that has arrived at the other end with a ready signal; whether there was one."""
        news = self.board.tx[self.heard :]
        self.heard += len(news)
        starts = news.count(Control.START)
        self._arrive([Control.READY] * starts)
        return starts

    async def arrivals(self):
        """Something arrives, if there is room for it."""
        self._listen()
        symbols = [symbol for symbol in random_arrival() if symbol != Control.READY]
        if (
            len(self.model.queue) + len(symbols) <= _QUEUED
            and len(self.board.arrivals) < 200
            and len(self.model.replies) + symbols.count(Control.REPLY) <= _REPLIES
        ):
            self._arrive(symbols)
        await self.board.run(random.choice([5, 50, 400]))

    async def receive(self):
        """Takes a reply or a packet, if there is one: to areas, or not at all."""
        model = self.model
        if model.replies:
            await self.irq(Irq.REPLY)
            await self.register("REPLY", **self.user())
        if model.packet is not None and model.packet.waits:
            await self.irq(Irq.PACKET)
            for number in range(4):
                await self.register(f"RX_HEADER{number}", **self.user())
            if random.random() < 0.15:
                await self.register("RX_CONTROL", put("RX_CONTROL", discard=1), **self.user())
            else:
                for _ in range(random.choice([0, 0, 2])):
                    await self._area("RX_AREA", random.choice([0, 1, 3, 30, 200]))
                while model.packet is not None and not model.packet.answered:  # it may end at once
                    await self._area("RX_START", random.choice([0, 5, 100, 1500]))
        if model.result is not None:
            await self.irq(Irq.RECEIVED)
            await self.register("RX_RESULT", **self.user())
            await self.register("RX_RELEASE", 0, **self.user())

    async def _area(self, name, length):
        """An area for what is received; now and then one that is refused."""
        address = DATA + self.part("received", length)
        pins = self.user()
        if random.random() < 0.1:
            address, length, pins = (
                DATA + random.choice([self.part("node", 100), len(self.model.data) - 1]),
                100,
                {"kernel": False},
            )
        await self.register("RX_ADDRESS", address, **pins)
        await self.register(name, length, **pins)

    async def send_entries(self):
        """A few entries of the fiber-out list, when there is room."""

        async def room():
            # In the model, the entries that the board has read ahead of one that waits are still in the list.
            self._listen()
            listed = TX_LIST_DEPTH - fields("TX_STATUS", await self.raw("TX_STATUS"))["free"]
            return max(listed, len(self.model.entries)) <= TX_LIST_DEPTH - 4

        await self.until(room)
        for _ in range(random.randrange(1, 4)):
            kind = random.random()
            if kind < 0.2:
                await self.register(
                    "TX_COMMAND",
                    random.getrandbits(31) | put("TX_COMMAND", wait_ready=random.random() < 0.3),
                    **self.user(),
                )
            elif kind < 0.3:
                await self.register("TX_SYMBOL", random.choice([random.getrandbits(9), *Control]), **self.user())
            elif kind < 0.4:
                await self.register("TX_READY", 0, **self.user())
            else:
                length, pins = random.choice([0, 1, 2, 3, random.randrange(40), random.randrange(1200)]), self.user()
                place = self.part("sent", length)
                if random.random() < 0.05:
                    place, length, pins = (
                        random.choice([len(self.model.data), self.part("closed")]),
                        1,
                        {"kernel": False},
                    )
                await self.register("TX_ADDRESS", DATA + place, **pins)
                await self.register(
                    "TX_AREA",
                    put(
                        "TX_AREA",
                        length=length,
                        **{name: random.random() < 0.5 for name in ("start", "end", "crc", "internet", "notify")},
                    ),
                    **pins,
                )

    # -- VME ---------------------------------------------------------------------------------------------------
    async def move(self):
        """An entry of the VME DMA list: blocks or single transfers, both ways, any alignment."""
        status = VME_REG["VD_STATUS"]
        fails = random.random() < 0.03

        async def room():
            return status.free.get(await self.raw("VD_STATUS"))

        await self.until(self._moved if fails else room)
        name, pins = random.choice(("VD_SEND", "VD_FETCH")), self.user()
        length = random.choice([0, 1, 3, random.randrange(40), random.randrange(900)])
        near, far = (
            self.part("vme", length),
            SLAVE_BASE + random.randrange(len(self.model.far) - _BY_WINDOW - length + 1),
        )
        if fails:
            far, length = SLAVE_BASE + len(self.model.far), 4
        elif random.random() < 0.05:
            near, length, pins = random.choice([self.part("node"), len(self.model.data)]), 1, {"kernel": False}
        modifier = random.choice([Modifier.A24_SUPER_DATA, Modifier.A24_USER_BLOCK, Modifier.A24_SUPER_BLOCK])
        await self.register("VD_ADDRESS", DATA + near, **pins)
        await self.register("VD_REMOTE", far, **pins)
        register = VME_REG[name]
        await self.register(
            name,
            register.length.put(length)
            | register.modifier.put(modifier)
            | register.half.put(random.random() < 0.2)
            | register.notify.put(random.random() < 0.5),
            **pins,
        )
        if fails and self.model.result_word:
            await self.irq(Irq.VME_ERROR)
            await self.register("VD_RESULT", **pins)
            await self.register("VD_RESULT", 0, **pins)
            await self.register("IRQ_PENDING", 1 << Irq.VME_ERROR)
        free = [level for level in range(1, 8) if level not in self.model.waiting_interrupts]
        if free and random.random() < 0.3:
            register = VME_REG["VME_INTERRUPT"]
            await self.register(
                "VME_INTERRUPT", register.level.put(random.choice(free)) | register.vector.put(random.getrandbits(8))
            )

    def _expect(self, address, value=None, select=15):
        """What an access of VME gives by the model; BusFault instead of a word."""
        try:
            return (
                self.model.read(address, select, vme=True)
                if value is None
                else self.model.write(address, value, select, vme=True)
            )
        except BusFault:
            return BusFault

    async def node(self):
        """The node: acknowledges interrupts; reads and writes memory, and what is closed to it; blocks; rings."""
        whole, master = self.whole, self.whole.master
        await self.board.run(random.randrange(300))
        await whole.node.get_bus()
        level = next((level for level in range(7, 0, -1) if not whole.bus.level(f"irq{level}")), None)
        if level:
            answer = await master.acknowledge(level)
            assert answer.good and answer.value == self.model.acknowledge(level)
        elif random.random() < 0.4:
            await self._block(master)
        else:
            size = random.choice([1, 2, 4])
            address = random.choice(
                [
                    DATA + self.part("node", size),
                    DATA + self.part("node", size),
                    DATA + self.part("closed", size),
                    REG["ID"].address,
                    VME_REG["VME_BELL"].address,
                    REG["DOMAIN"].address,
                    REG["TX_READY"].address,
                ]
            )
            address &= -size
            write = address >= DATA and random.random() < 0.5
            value = random.getrandbits(8 * size)
            shift = 8 * (4 - size - address % 4)
            select = (1 << size) - 1 << shift // 8
            expected = self._expect(address & ~3, value << shift if write else None, select)
            if write:
                answer = await master.write(A24_BASE + address, value, size)
            else:
                answer = await master.read(A24_BASE + address, size)
            assert answer.berr == (expected is BusFault) and not answer.silent, hex(address)
            if not write and answer.good:
                assert answer.value == expected >> shift & (1 << 8 * size) - 1
        await whole.node.give_bus()

    async def _block(self, master):
        count = random.randint(1, 64)
        place = DATA + (self.part("node", 256) & ~255) + 4 * random.randrange(65 - count)
        if random.random() < 0.5:
            words = [random.getrandbits(32) for _ in range(count)]
            answers = await master.block(A24_BASE + place, 4, words)
            for number, word in enumerate(words):
                self._expect(place + 4 * number, word)
        else:
            answers = await master.block(A24_BASE + place, 4, count=count)
            assert [answer.value for answer in answers] == [self._expect(place + 4 * number) for number in range(count)]
        assert len(answers) == count and all(answer.good for answer in answers)

    async def host_access(self):
        """The synchronous port: memory, and what is closed to VME."""
        for _ in range(random.randrange(1, 6)):
            address = DATA + random.choice([self.part("host", 4), self.part("host", 4), self.part("closed", 4)]) & ~3
            await self.access(address, random.choice([None, random.getrandbits(32)]), random.getrandbits(4), vme=True)

    # -- the CPU -----------------------------------------------------------------------------------------------
    async def compute(self):
        """Loads and stores, some of them together, some refused; instruction fetches; the window."""
        kind = random.random()
        if kind < 0.5:
            words = [DATA + (self.part("cpu", 4) & ~3) for _ in range(random.randrange(1, 30))]
            accesses = [
                Access(at, random.choice([None, random.getrandbits(32)]), random.getrandbits(4), **self.user())
                for at in words
            ]
            expected = [
                self.model.write(access.address, access.value, access.select)
                if access.write
                else self.model.read(access.address)
                for access in accesses
            ]
            for access, word in zip(await self.board.block(accesses), expected, strict=True):
                assert not access.error and (access.write or access.data == word), hex(access.address)
        elif kind < 0.7:
            address = (
                random.choice(
                    [
                        DATA + self.part("node"),
                        DATA + self.part("closed"),
                        PROGRAM + random.randrange(_KBYTE),
                        REGIONS["data"].end - 4,
                        0x700000,
                        REG["RESET"].address,
                    ]
                )
                & ~3
            )
            await self.access(
                address, None if address != REG["RESET"].address else 1, kernel=False, execute=random.random() < 0.3
            )
        elif kind < 0.9:
            await self._look()
        else:
            await self.board.run(random.randrange(200))

    async def _look(self):
        size = random.choice([1, 2, 4])
        at = len(self.model.far) - _BY_WINDOW + random.randrange(_BY_WINDOW) & -size
        address = REGIONS["vme"].base + SLAVE_BASE + (at & ~3)
        select = (1 << size) - 1 << 4 - size - at % 4
        value = random.choice([None, random.getrandbits(32)])
        if value is not None:
            self.model.far[at : at + size] = value.to_bytes(4, "big")[at % 4 : at % 4 + size]
        expected = int.from_bytes(self.model.far[at : at + size], "big")
        access = await self.board.access(Access(address, value, select))
        assert not access.error
        if value is None:
            assert access.data.to_bytes(4, "big")[at % 4 : at % 4 + size] == expected.to_bytes(size, "big")

    async def timers(self):
        """A timer: not early, not late; timers 1 to 7 go off in turn."""
        number = random.randrange(TIMERS)
        name = f"TIMER{number}_COMPARE" if number else "TIMER_COMPARE"
        due = await self.raw("TIMER_NOW") + random.choice([50, 300, 2000]) & 0xFFFFFFFF
        await self.board.register(name, due)
        while True:
            before, fired, after = [await self.raw(name) for name in ("TIMER_NOW", "TIMER_FIRED", "TIMER_NOW")]
            fired = fired >> number & 1
            assert fired or (before - due - (TIMERS - 1 if number else 0)) & 0xFFFFFFFF > 1 << 31, "late"
            if fired:
                break
            await self.board.run(20)
        assert (after - due) & 0xFFFFFFFF < 1 << 31, "early"
        await self.board.register("TIMER_FIRED", 1 << number)
        self.fired = True

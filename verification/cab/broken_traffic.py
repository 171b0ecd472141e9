"""Random traffic on a whole CAB that a reset of the board breaks off. See ``traffic``."""

import random

from nectar.hdl.cab.addresses import REG, REGIONS
from nectar.hdl.link.symbol import Control
from nectar.verification.cab.contents import put
from nectar.verification.cab.driver import Access
from nectar.verification.cab.fiber_traffic import PARTS
from nectar.verification.cab.traffic import USER, Traffic

__all__ = ["BrokenTraffic"]

DATA = REGIONS["data"].base


class BrokenTraffic(Traffic):
    """``Traffic`` that may end before its time."""

    async def break_off(self, cycles):
        """So many cycles of traffic; then, while both fibers and the VME DMA are at work, the board is reset by an
        access among others of the CPU's; what does not lie where a packet was being stored is compared."""
        self.breaks = True
        await self._work(cycles)
        self.breaks = False
        board, model = self.board, self.model
        board.arrivals.clear()
        board.rx.clear()
        board.takes = lambda: True  # a reset withdraws a symbol that is offered
        around = [
            [
                Access(
                    DATA + (self.part("cpu", 4) & ~3),
                    random.choice([None, random.getrandbits(32)]),
                    random.getrandbits(4),
                )
                for _ in range(random.randrange(20))
            ]
            for _ in range(2)
        ]
        accesses = [
            *around[0],
            Access(REG["RESET"].address, put("RESET", board=1)),
            *around[1],
            Access(REG["DOMAIN"].address),
            Access(REG["TX_COUNT"].address),
            Access(REG["RX_STATUS"].address),
        ]
        expected = [
            model.write(access.address, access.value, access.select, kernel=True)
            if access.write
            else model.read(access.address, kernel=True)
            for access in accesses
        ]
        for access, word in zip(await board.block(accesses), expected, strict=True):
            assert not access.error and (access.write or access.data == word), hex(access.address)
        for symbols in (board.tx, model.sent):
            symbols[:] = [symbol for symbol in symbols if symbol != Control.READY]
        assert board.tx == model.sent[: len(board.tx)], "more was sent, or something else"
        board.tx.clear()
        model.sent.clear()
        self.heard, self.fired = 0, False
        await self.until(self._moved)
        await self.whole.calm()
        await board.register("IRQ_PENDING", 0xFFFF_FFFF)  # what VME has told of since
        first, end = (kbyte << 10 for kbyte in PARTS["received"])
        for at in range(first, end, 4):
            model.data[at : at + 4] = (await board.read(DATA + at)).to_bytes(4, "big")
        await self._same()
        await self.register("DOMAINS_ON", 0xFFFF_FFFF)
        await self.register("DOMAIN", USER)
        self.counts["break_off"] = self.counts.get("break_off", 0) + 1

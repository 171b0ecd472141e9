"""A whole CAB at work in its surroundings: in a slot of a VME backplane, on fibers of the link's rate, with a CPU and a
host.

One coroutine moves the board, as in ``driver``; what its CPU does, the node, and the board at the other end of the
fibers are coroutines beside it, so that all of them are busy at once.
"""

from collections import deque

import cocotb
from cocotb.triggers import Event, RisingEdge

from nectar.sim.profile import PROTOTYPE
from nectar.verification.cab.driver import BoardDriver
from nectar.verification.cab.vme.attach import Plug
from nectar.verification.cab.vme.backplane import Backplane
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.checker import Checker
from nectar.verification.cab.vme.controller import Arbiter, Board, BusTimer, ChainDriver
from nectar.verification.cab.vme.waiting import now
from nectar.verification.harness import StepClock

__all__ = ["A24_BASE", "SLAVE_BASE", "Whole", "WholeDriver"]

#: Where the board answers on the VME bus, and where a memory beside it does.
A24_BASE, SLAVE_BASE = 0x800000, 0x400000
#: Cycles for which a change of a line of VME may go on inside the board.
_RIPPLES = 10


class WholeDriver(BoardDriver):
    """As ``BoardDriver``, but a task of its own moves the board, and any number of tasks may access it.

    Parameters
    ----------
    dut : cocotb handle
    period_ps : int
        Of the board's clock.
    symbol_ps : int
        Time of a symbol on the fibers: once in it each fiber takes a symbol if there is one, and one of ``arrivals``
        arrives if there is one.

    Members
    -------
    arrivals : deque of int
        Symbols that arrive at the fiber's rate, after all of ``rx``.
    due : bool
        In this cycle the fiber takes a symbol.
    slots : int
        Symbol times so far.
    arrived : int
        Symbols of ``arrivals`` that have arrived.
    """

    def __init__(self, dut, period_ps, symbol_ps=PROTOTYPE.symbol_ps):
        super().__init__(dut, StepClock(dut, period_ps // 2))
        self.period_ps = period_ps // 2 * 2
        self.symbol_ps = symbol_ps
        self.arrivals = deque()
        self.arrived = 0
        self.slots = 0
        self.takes = lambda: self.due
        self.due = False
        self._answers = {}
        self._restless = 0

    async def pump(self):
        """Moves the board, for ever."""
        while True:
            self.due = (
                self.cycles + 1
            ) * self.period_ps // self.symbol_ps > self.cycles * self.period_ps // self.symbol_ps
            if self.due and self.arrivals:
                self.rx.append(self.arrivals.popleft())
                self.arrived += 1
            self.slots += self.due
            await self.cycle()

    def disturb(self):
        """Something of VME changes."""
        self._restless = self.cycles + _RIPPLES

    def disturbed(self):
        """Whether something of VME has changed lately."""
        return self.cycles < self._restless

    def answered(self, access):
        """Whoever waits for it goes on."""
        if event := self._answers.pop(access, None):
            event.set()

    async def access(self, access, vme=False):
        """Does an Access, behind those of other tasks, and returns it."""
        (self.host_requests if vme else self.requests).append(access)
        return await self._answer_to(access)

    async def _answer_to(self, access):
        event = self._answers[access] = Event()
        await event.wait()
        return access

    async def block(self, accesses):
        """Does accesses one behind the other without a pause; returns them."""
        accesses = list(accesses)
        if accesses:
            self.requests.extend(accesses)
            await self._answer_to(accesses[-1])
        assert all(access.done is not None for access in accesses), "an access without a response"
        return accesses

    async def run(self, cycles):
        """Lets time pass."""
        end = self.cycles + cycles
        while self.cycles < end:
            await RisingEdge(self.dut.clk)

    async def quiet(self, limit=20_000):
        """Waits until everything given has been done and the board has been idle for some cycles."""
        calm = 0
        for _ in range(limit):
            await RisingEdge(self.dut.clk)
            waits = (
                self.rx or self.arrivals or self.requests or self.outstanding or self.host_requests or self.disturbed()
            )
            calm = 0 if waits or not self.idle else calm + 1
            if calm > 3:
                return
        raise AssertionError(f"not idle after {limit} cycles")


class Whole:
    """The board and all that is around it.

    Parameters
    ----------
    dut : cocotb handle
        A ``Cab`` with VME.
    period_ps : int
        Of its clock.
    slave_bytes : int
        Size of the memory on the VME bus.
    delay : (float, float)
        As in ``BusSlave``.

    Members
    -------
    board : WholeDriver
    bus : Backplane, checker : Checker
    node : Board, master : BusMaster
        The node's processor board, in slot 0.
    slave : BusSlave
        A memory that answers to ``SLAVE_BASE``.
    """

    def __init__(self, dut, period_ps, slave_bytes=4096, delay=(31, 31)):
        self.dut = dut
        self.bus = Backplane(now)
        self.checker = Checker(self.bus)
        self.board = WholeDriver(dut, period_ps)
        self.plug = Plug(dut, self.bus, 1, period_ps, prefix="vme__")
        self._slave = slave_bytes, delay

    async def start(self):
        """Resets and connects everything, and sets it going."""
        self.plug.put(
            vme_level=3,
            vme_select__a24=1,
            vme_select__a24_half=A24_BASE >> 23,
            vme_select__a32=0,
            vme_select__a32_base=0,
        )
        await self.board.start()
        self.plug.connect()
        self.bus.watch(lambda name, old, new: self.board.disturb())
        self.node = Board(self.bus, 0, level=2)
        self.arbiter = Arbiter(self.bus)
        self.timer = BusTimer(self.bus)
        self.chain = ChainDriver(self.bus)
        size, delay = self._slave
        self.slave = BusSlave(self.bus, SLAVE_BASE, size, delay=delay)
        self.slave.release = (1, 1) if delay[0] == delay[1] else self.slave.release
        self.master = BusMaster(self.bus, self.node.name)
        cocotb.start_soon(self.board.pump())
        return self

    async def calm(self):
        """Waits until nothing is under way; the board does not keep the VME bus, which it does until another asks."""
        await self.node.get_bus()
        await self.node.give_bus()
        await self.board.quiet()

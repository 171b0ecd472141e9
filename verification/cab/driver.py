"""Drives the pins of a whole CAB: CPU bus, both fibers, stand-by; watches the rules that always hold.

One coroutine moves everything, a cycle at a time, so that nothing depends on the order of tasks.
"""

from collections import deque

from nectar.hdl.cab.addresses import REG
from nectar.verification.cab.reference import BusFault
from nectar.verification.harness import FiberSink, FiberSource, StepClock

__all__ = ["Access", "BoardDriver"]

_NEVER = 0xFFFF_FFFF


class Access:
    """A request to the CPU bus and, later, its response.

    ``kernel`` and ``execute`` are the pins of that name. ``taken`` and ``done`` are the numbers of cycles; ``irq`` is
    the interrupt line in the cycle of the response."""

    def __init__(self, address, value=None, select=0xF, kernel=True, execute=False):
        self.address = address
        self.write = value is not None
        self.value = value or 0
        self.select = select
        self.kernel = kernel
        self.execute = execute
        self.taken = self.done = None
        self.data = self.error = self.irq = None


class _Taken(FiberSink):
    """Takes what leaves the board; in a loopback it arrives again."""

    def __init__(self, board):
        super().__init__(board.clock, "fiber__tx", pause=lambda: not board.takes())
        self._board = board

    def took(self, symbol):
        """Called with each symbol that was taken."""
        if self._board.loopback:
            self._board.rx.append(symbol)


class BoardDriver:
    """The surroundings of a CAB.

    Parameters
    ----------
    dut : cocotb handle
    clock : StepClock, optional
        Its clock.

    Members
    -------
    requests : deque of Access or None
        What the CPU wants next; None is a cycle in which it wants nothing.
    rx : deque of int or None
        Symbols that arrive next; None is a cycle without.
    tx : list of int
        Symbols that the fiber has taken. ``tx_times``: their cycles.
    takes : callable
        Called each cycle: whether the fiber takes a symbol.
    idle, irq, wake_in
        The pins, as they are after the last edge.
    loopback : bool
        What is taken arrives again in the next cycle.
    host_requests : deque of Access
        What the host wants next, in VME's domain; for a board with VME, whose bus is at rest.
    """

    def __init__(self, dut, clock=None):
        self.dut = dut
        self.clock = clock or StepClock(dut)
        self.requests = deque()
        self.outstanding = deque()
        self.takes = lambda: True
        self.loopback = False
        self._source = FiberSource(self.clock, "fiber__rx")
        self._sink = _Taken(self)
        self.rx, self.tx, self.tx_times = self._source.queue, self._sink.items, self._sink.times
        self.idle = False
        self.irq = False
        self.wake_in = _NEVER
        self.now = 0  # clock edges, slept ones too
        self.host_requests = deque()
        self.has_host = hasattr(dut, "host__cyc")
        self._sleep = 0

    def disturbed(self):
        """Whether something else than what is driven here may move the board in this cycle."""
        return False

    async def start(self):
        """Resets the board; the next cycle is the first in which it works."""
        if self.has_host:
            lines = {
                "as_n": 1,
                "ds_n": 3,
                "write_n": 1,
                "lword_n": 1,
                "iack_n": 1,
                "address": 0,
                "am": 0,
                "data": 0,
                "dtack_n": 1,
                "berr_n": 1,
                "bbsy_n": 1,
                "bclr_n": 1,
                "br_n": 15,
                "bgin_n": 15,
                "iackin_n": 1,
                "sysreset_n": 1,
            }
            self.clock.drive(
                host__cyc=0, host__stb=0, host__lock=0, **{f"vme__{name}": value for name, value in lines.items()}
            )
        await self.clock.start(
            "bus__valid",
            "bus__address",
            "bus__write",
            "bus__select",
            "bus__write_data",
            "bus__kernel",
            "bus__execute",
            "fiber__rx__payload",
            "fiber__rx__valid",
            "fiber__tx__ready",
            "slept",
        )
        await self.cycle()

    @property
    def offers(self):
        """Cycles in which a symbol was offered."""
        return self._sink.offers

    @property
    def cycles(self):
        """Cycles since reset."""
        return self.clock.cycles

    async def cycle(self):
        """One clock cycle."""
        pin = self.clock.pin
        waiting = bool(self.requests)  # other tasks may add to them in the middle of the cycle
        request = self.requests[0] if waiting else None
        if request is not None:
            self.clock.drive(
                bus__valid=1,
                bus__address=request.address,
                bus__write=request.write,
                bus__select=request.select,
                bus__write_data=request.value,
                bus__kernel=request.kernel,
                bus__execute=request.execute,
            )
        else:
            self.clock.drive(bus__valid=0)
        self._source.drive()
        arrives = self._source.offered
        self._sink.drive()
        self.clock.drive(slept=self._sleep)
        self.now += 1 + self._sleep
        self._sleep = 0
        asks = self.host_requests[0] if self.host_requests else None
        if self.has_host:
            self._ask(asks)

        await self.clock.settle()
        self._answer(pin)
        if asks is not None and (pin("host__ack") or pin("host__err")):
            self.host_requests.popleft()
            asks.done, asks.error, asks.data = (
                self.cycles,
                bool(pin("host__err")),
                pin("host__dat_r"),
            )
            self.answered(asks)
        if waiting and (request is None or pin("bus__ready")):
            self.requests.popleft()
            if request is not None:
                request.taken = self.cycles
                self.outstanding.append(request)
        self._source.sample()
        self._sink.sample()
        await self.clock.edge()
        nothing = request is None and arrives is None and asks is None and not pin("rst")
        self._stand_by(pin, undisturbed=nothing and not self.disturbed())

    def answered(self, access):
        """Called with each Access when it has been answered."""

    def _ask(self, access):
        """The pins of the host port."""
        self.clock.drive(host__cyc=access is not None, host__stb=access is not None)
        if access is not None:
            if access.taken is None:
                access.taken = self.cycles
            self.clock.drive(
                host__we=access.write, host__adr=access.address >> 2, host__sel=access.select, host__dat_w=access.value
            )

    def _answer(self, pin):
        if pin("bus__done"):
            access = self.outstanding.popleft()
            access.done = self.cycles
            access.irq = bool(pin("irq"))
            access.error = bool(pin("bus__error"))
            access.data = pin("bus__read_data")
            assert not (access.error or access.write) or access.data == 0, "read data without a read"
            self.answered(access)
        else:
            assert not pin("bus__error"), "an error without a response"

    def _stand_by(self, pin, undisturbed):
        """What the board says after the edge; one that was idle, and to which nothing happened, says the same again."""
        before = (self.idle, self.irq, self.wake_in > 0)
        self.idle = bool(pin("idle"))
        self.irq = bool(pin("irq"))
        self.wake_in = pin("wake_in")
        offers = bool(pin("fiber__tx__valid"))
        if self.idle:
            assert not self.outstanding, "idle with an access under way"
            assert not offers, "idle with a symbol to send"
        if undisturbed and before[0] and before[2]:
            assert (self.idle, self.irq, offers) == (*before[:2], False), "an idle board has moved"

    async def access(self, access, vme=False):
        """Does an Access, alone, and returns it."""
        (self.host_requests if vme else self.requests).append(access)
        for _ in range(2000):
            await self.cycle()
            if access.done is not None:
                return access
        raise AssertionError("no response")

    async def read(self, address, select=0xF, vme=False, **pins):
        """The word read; BusFault. ``vme``: by the host port."""
        access = await self.access(Access(address, None, select, **pins), vme)
        if access.error:
            raise BusFault
        return access.data

    async def write(self, address, value, select=0xF, vme=False, **pins):
        """Writes; BusFault."""
        access = await self.access(Access(address, value, select, **pins), vme)
        if access.error:
            raise BusFault

    async def register(self, name, value=None):
        """Reads, or writes, a register by its name."""
        if value is None:
            return await self.read(REG[name].address)
        return await self.write(REG[name].address, value)

    async def block(self, accesses):
        """Does accesses one behind the other without a pause; returns them."""
        accesses = list(accesses)
        self.requests.extend(accesses)
        while accesses[-1].done is None:
            await self.cycle()
        return accesses

    async def run(self, cycles):
        """Lets time pass."""
        for _ in range(cycles):
            await self.cycle()

    async def quiet(self, limit=20_000):
        """Goes on until everything given has been done and the board is idle."""
        for _ in range(limit):
            await self.cycle()
            if self.idle and not self.rx and not self.requests and not self.outstanding and not self.host_requests:
                return
        raise AssertionError(f"not idle after {limit} cycles")

    def sleep(self, edges):
        """Leaves out clock edges; only for an idle board, and at most ``wake_in``."""
        assert self.idle and edges <= self.wake_in
        self._sleep = edges

"""The CAB's interrupt handler: finds the cause, calls what has asked for it.

Source: "The Design of Nectar" (1989), section 6.2.1: the datalink runs in interrupt handlers.
"""

from struct import Struct

from ...hdl.cab.addresses import REG, Irq
from ...hdl.host.events import EventGroup, EventKind
from ..door import STORE, Awaited, Operation, OperationKind

__all__ = ["Interrupts"]

_PENDING = REG["IRQ_PENDING"].address
_ENABLE = REG["IRQ_ENABLE"].address
_REPLY = REG["REPLY"].address
_ERRORS = REG["ERRORS"].address
_STATUS = REG["TX_STATUS"].address
_SUM = REG["RX_SUM"].address
_CPU = int(EventGroup.CPU)
_PACKET, _RECEIVED, _REPLIED, _SENT, _TIMER, _ERROR = (
    1 << irq for irq in (Irq.PACKET, Irq.RECEIVED, Irq.REPLY, Irq.SENT, Irq.TIMER, Irq.ERROR)
)
_TAKEN, _BELL, _MOVED, _CUT = (1 << irq for irq in (Irq.VME_TAKEN, Irq.VME_BELL, Irq.VME_DONE, Irq.VME_ERROR))
_OTHERS = ~(_PACKET | _RECEIVED)
#: IRQ_PENDING, RX_RESULT, RX_HEADER0 to 3 (left as bytes), TX_STATUS: all but REPLY, which a load takes out.
_WORDS = Struct(">II16sI")
_words = _WORDS.unpack
_SPEND, _NOTE = int(OperationKind.SPEND), int(OperationKind.NOTE)
#: Loads them.
_LOOK = Awaited(Operation(int(OperationKind.READ_BLOCK), _PENDING, _WORDS.size))


class Interrupts:
    """Interrupt level of one CAB. What is called may not wait, and costs what it spends.

    Members
    -------
    active : bool
        Whether the handler runs: level 0 stands still from its start to its end.
    enabled : int
        The interrupts that raise the line, as IRQ_ENABLE has them or soon will.
    sums : bool
        Whether RX_SUM of the packet under way is wanted: it is in ``sum`` when ``on_received`` is called.
    sum : int
    on_packet : callable(header: bytes) → bool
        A packet's header is there. True: look at once whether more has come.
    on_received : callable(result: int) → bool
        A packet has ended. True as above.
    on_reply : callable(word: int)
    on_status : callable(status: int)
        TX_STATUS, at every interrupt, unless it is ``settled``.
    settled : int or None
        The TX_STATUS for which ``on_status`` has nothing to do as long as no other interrupts are added; None: it may
        have something to do whatever the status is.
    on_error : callable(counters: int)
    on_timer : callable(now: int)
    on_taken : callable()
        The node has acknowledged an interrupt.
    on_bell : coroutine function()
        The node calls.
    on_moved : coroutine function(is_cut: bool)
        VME DMA has ended entries of its list, or cut it short.
    on_moves : coroutine function()
        Called at the end of this interrupt if ``moves`` is true: there is something to be moved.
    moves : bool
    loads : list of (byte address, bytes, callable(bytes))
        Loaded once from data memory, at the end of this interrupt, before ``late``; filled by those of the above that
        need what has arrived.
    late : list of callable(now: int)
        Called once with the CPU cycle, at the end of this interrupt; filled by those of the above that need the time.

    A thread may add interrupts to IRQ_ENABLE without more ado: what it posts then may be older than what a handler
    writes, which does no harm as long as nobody else adds any. To write anything else it must hold interrupts off, and
    flush."""

    __slots__ = (
        "kernel",
        "door",
        "active",
        "enabled",
        "sums",
        "sum",
        "on_packet",
        "on_received",
        "on_reply",
        "on_status",
        "settled",
        "on_error",
        "on_timer",
        "on_taken",
        "on_bell",
        "on_moved",
        "on_moves",
        "moves",
        "loads",
        "late",
    )

    def __init__(self, kernel):
        self.kernel = kernel
        self.door = kernel.door
        self.active = self.sums = False
        self.settled = None
        self.sum = 0
        self.enabled = _PACKET | _RECEIVED | _REPLIED | _TIMER | _ERROR
        self.on_packet = self.on_received = self.on_reply = self.on_status = self.on_error = self.on_timer = None
        self.on_taken = self.on_bell = self.on_moved = self.on_moves = None
        self.moves = False
        self.loads = []
        self.late = []
        kernel.boot.append(self._boot)

    def _boot(self):
        door = self.door
        first = [Operation(_SPEND, 0, 0, self.kernel.costs.interrupt_entry), _LOOK.operation]
        if door.groups & _CPU:
            first.insert(0, Operation(_NOTE, int(EventKind.INTERRUPT)))
        door.attach(self.handle, first)
        door.write(_ENABLE, self.enabled)

    def add(self, *irqs):
        """Lets ``irqs`` raise the line. From both levels (see above)."""
        enabled = self.enabled
        for irq in irqs:
            enabled |= 1 << irq
        if enabled != self.enabled:
            self.enabled = enabled
            self.settled = None
        self.door.post((STORE, _ENABLE, 4, self.enabled))

    def remove(self, irq):
        """Keeps ``irq`` from raising the line. From interrupt level, or with interrupts held off and all posted
        done."""
        self.enabled &= ~(1 << irq)
        self.door.write(_ENABLE, self.enabled)

    async def handle(self, words):
        """The handler, as the door starts it. ``words``: what _LOOK has given, as every interrupt begins with it.

        Returns whether all threads still wait.
        """
        self.active = True
        door = self.door
        recorded = door.groups & _CPU
        first = True
        while True:
            pending, result, header, status = _words(words)
            causes = pending & self.enabled
            if recorded:
                door.note(EventKind.CAUSES, a=causes)
            again = False
            if status != self.settled:
                self.on_status(status)
            if causes & _RECEIVED:
                if self.sums:
                    self.sum = await door.read(_SUM)
                again = self.on_received(result)
            elif causes & _PACKET:
                again = self.on_packet(header)
                if recorded:
                    door.note(EventKind.ANSWERED)
            if causes & _OTHERS:
                await self._others(causes)
            elif first and not causes:
                door.post((STORE, _ENABLE, 4, self.enabled))  # what a thread had asked for is wanted no more
            if not again:
                break
            first = False
            words = await _LOOK
        if self.moves:
            self.moves = False
            await self.on_moves()
        while self.loads:
            address, length, action = self.loads.pop(0)
            action(await door.read_block(address, length))
        if self.late:
            late, self.late = self.late, []
            now = await door.now()
            for action in late:
                action(now)
        self.door.spent += self.kernel.costs.interrupt_exit
        if recorded:
            door.note(EventKind.RETURNED)
        self.active = False
        return not self.kernel.ready

    async def _others(self, causes):
        door = self.door
        if causes & _REPLIED:
            self.on_reply(await door.read(_REPLY))
        if causes & (_SENT | _TIMER | _ERROR):
            door.write(_PENDING, causes & (_SENT | _TIMER | _ERROR))
            if causes & _SENT:
                self.on_status(await door.read(_STATUS))  # again: more may have left before the bit was cleared
            if causes & _TIMER:
                self.on_timer(await door.now())
            if causes & _ERROR:
                self.on_error(await door.read(_ERRORS))
        if causes & (_TAKEN | _BELL):
            door.write(_PENDING, causes & (_TAKEN | _BELL))
            if causes & _TAKEN:
                self.on_taken()
            if causes & _BELL:
                await self.on_bell()
        if causes & (_MOVED | _CUT):
            door.write(_PENDING, causes & (_MOVED | _CUT))
            await self.on_moved(bool(causes & _CUT))

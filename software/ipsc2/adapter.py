"""NX/2's hold on the DMA controller: messages out one after the other, a place for the next message in.

Source: P. Pierce, "The NX/2 Operating System" (1988), section 2.3. Registers: docs/ipsc2-node.md.
"""

from collections import deque
from struct import Struct

from ...hdl.host.events import EventGroup, EventKind
from ...hdl.ipsc2.node.registers import REG, Irq
from ..errors import ProgramError
from .layout import HEAD_WORDS, HEADER_BYTES, words

__all__ = ["Adapter"]

_CONTROL, _ABORT = REG["CONTROL"].address, 1 << REG["CONTROL"].field("abort").low
_PENDING, _ENABLE = REG["IRQ_PENDING"].address, REG["IRQ_ENABLE"].address
_OUT_ADDRESS, _OUT_AREA = REG["OUT_ADDRESS"].address, REG["OUT_AREA"].address
_IN_ADDRESS, _IN_HEAD = REG["IN_HEAD_ADDRESS"].address, REG["IN_HEAD"].address
_BODY_ADDRESS, _BODY = REG["IN_BODY_ADDRESS"].address, REG["IN_BODY"].address
_LAST = 1 << REG["OUT_AREA"].field("last").low
_BAD, _CUT, _TOO_LONG = (1 << REG["IN_RESULT"].field(name).low for name in ("bad", "cut", "too_long"))
_ARRIVED, _SENT, _REFUSED, _ABORTED, _TIMER = (
    1 << irq for irq in (Irq.ARRIVED, Irq.SENT, Irq.REFUSED, Irq.ABORTED, Irq.TIMER)
)
_ENABLED = _ARRIVED | _SENT | _REFUSED | _ABORTED | _TIMER
_MESSAGES, _CPU = int(EventGroup.MESSAGES), int(EventGroup.CPU)
#: IRQ_PENDING, IN_RESULT.
_WORDS = Struct(">II")


class Adapter:
    """The channels of DMA of a node, and its interrupts.

    Parameters
    ----------
    node : Node
    header : int
        Byte address of the place for the header that goes out.
    head : int
        Byte address of the place for the first message.
    on_arrival : coroutine function(head: int) → int
        At interrupt level: a message has arrived at ``head``. Returns the place for the next one.
    on_launch : callable(header: Header) → Header
        The header is about to go out.
    on_queued : callable(header: Header, noted: int)
        It is in memory, and DMA is told of it next; called while messages are recorded.
    on_stuck : callable(header: Header) → TaskError
        At interrupt level: a message has been aborted. Returns what its sender is told.

    Members
    -------
    watch : Watch
        Set before the kernel runs.
    launched : int
        Messages that have begun so far.
    active : bool
        Whether the handler runs.
    """

    __slots__ = ("kernel", "door", "timers", "header", "head", "on_arrival", "on_launch", "on_queued", "on_stuck",
                 "watch", "launched", "active", "_out")  # fmt: skip

    def __init__(self, node, header, head, on_arrival, on_launch, on_queued, on_stuck):
        self.kernel = kernel = node.kernel
        self.door, self.timers = node.door, node.timers
        self.header, self.head = header, head
        self.on_arrival, self.on_stuck = on_arrival, on_stuck
        self.on_launch, self.on_queued = on_launch, on_queued
        self.watch = None
        self.launched = 0
        self.active = False
        self._out = deque()  # (Header, byte address, bytes, noted, on_sent); the first is in the hardware
        kernel.boot.append(self._boot)

    def _boot(self):
        self.door.attach(self.handle)
        self._arm()
        self.door.write(_ENABLE, _ENABLED)

    def _arm(self):
        self.door.write(_IN_ADDRESS, self.head)
        self.door.write(_IN_HEAD, HEAD_WORDS)

    def body(self, address, length):
        """A place for what of the next long message does not fit into the head: ``length`` bytes at ``address``."""
        self.door.write(_BODY_ADDRESS, address)
        self.door.write(_BODY, words(length))

    @property
    def busy(self):
        """Whether a message is on its way out."""
        return bool(self._out)

    def post(self, header, address=0, size=0, on_sent=None, first=False, noted=0):
        """Sends a message: a header and ``size`` bytes at ``address``. From interrupt level, or with interrupts held
        off. ``on_sent(error)`` is called at interrupt level when all of it is in the network (None), or never will
        be. ``first``: before all others that have not begun. ``noted``: the number in a recording of the message that
        it is sent for; 0: none."""
        entry = header, address, size, noted, on_sent
        if first and self._out:
            self._out.insert(1, entry)
            return
        self._out.append(entry)
        if len(self._out) == 1:
            self._launch()

    def abort(self):
        """At interrupt level: gives the message up that is on its way out; ``on_stuck`` is called when it has ended."""
        self.door.write(_CONTROL, _ABORT)

    def cancel(self, probe, error):
        """At interrupt level: messages with that probe that have not begun never will, by ``error``."""
        kept = [entry for number, entry in enumerate(self._out) if not number or entry[0].probe != probe]
        dropped = [entry for number, entry in enumerate(self._out) if number and entry[0].probe == probe]
        self._out = deque(kept)
        for *_, on_sent in dropped:
            if on_sent is not None:
                on_sent(error)

    def _end(self, error=None):
        """The message in the hardware has ended: the next one begins. ``error``: ``on_stuck``, if it was given up."""
        header, *_, on_sent = self._out[0]
        if error is not None:
            error = error(header)  # posts only queue meanwhile
        self._out.popleft()
        if self._out:
            self._launch()
        if on_sent is not None:
            on_sent(error)

    def _launch(self):
        door = self.door
        self.launched += 1
        header, address, length, noted, _ = self._out[0]
        door.spend(self.kernel.costs.launch)
        header = self.on_launch(header)
        door.write_block(self.header, header.pack())
        if door.groups & _MESSAGES:
            self.on_queued(header, noted)
        door.write(_OUT_ADDRESS, self.header)
        door.write(_OUT_AREA, HEADER_BYTES // 4 | (0 if length else _LAST))
        if length:
            door.write(_OUT_ADDRESS, address)
            door.write(_OUT_AREA, words(length) | _LAST)

    async def handle(self):
        """The interrupt handler, as the door starts it."""
        door, costs, name = self.door, self.kernel.costs, self.kernel.name
        self.active = True
        recorded = door.groups & _CPU
        if recorded:
            door.note(EventKind.INTERRUPT)
        door.spend(costs.interrupt_entry)
        pending, result = _WORDS.unpack(await door.read_block(_PENDING, _WORDS.size))
        if recorded:
            door.note(EventKind.CAUSES, a=pending & _ENABLED)
        if pending & _REFUSED:
            raise ProgramError(f"{name}: the router has refused a message: there is no way to its node")
        if pending & (_SENT | _ABORTED):
            door.spend(costs.sent)
            door.write(_PENDING, pending & (_SENT | _ABORTED))
            self._end(self.on_stuck if pending & _ABORTED else None)
        if pending & _ARRIVED:
            if result & (_BAD | _CUT | _TOO_LONG):
                raise ProgramError(
                    f"{name}: a message has arrived damaged (IN_RESULT 0x{result:08X}): hardware failure"
                )
            self.head = await self.on_arrival(self.head)
            self._arm()
        if pending & _TIMER:
            door.write(_PENDING, _TIMER)
            self.timers.fired(await door.now())
            await self.timers.catch_up()
        if self.watch.due:
            self.watch.begin(await door.now())
        door.spend(costs.interrupt_exit)
        if recorded:
            door.note(EventKind.RETURNED)
        self.active = False

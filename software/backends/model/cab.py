"""The CAB board of the pure-Python model: what ``docs/cab.md`` says, packet by packet instead of cycle by cycle.

Here are bus, memories, interrupts, and of VME what a node needs; the fiber port is in ``fiber_out`` and
``fiber_in``, the timers are in ``timers``, the protection is in ``protection``."""

from functools import partialmethod
from struct import unpack

from ....hdl.cab.addresses import ID_VALUE, REG, REGIONS, VME_REGISTERS, Irq
from ....hdl.cab.regions import DOMAINS, PAGES, AccessKind
from ... import door
from .fiber_in import FiberIn
from .fiber_out import FiberOut
from .protection import Guard
from .timers import Timers

__all__ = ["ModelCab"]

_DATA, _PROGRAM, _PROM, _TABLE = (REGIONS[name] for name in ("data", "program", "prom", "protection"))
#: Of VME the model has these, if there is a node.
_VME = {REG[name].address: REG[name] for name in ("VME_INTERRUPT", "VME_BELL")}
_BY_ADDRESS = {register.address: register for register in REG.values() if register not in VME_REGISTERS}
#: CPU cycles from the edge at which a request is taken to the one at which its response is sampled.
_ANSWER = 3
_STATES = (1 << Irq.PACKET) | (1 << Irq.RECEIVED) | (1 << Irq.REPLY) | (1 << Irq.INPUT)
#: As plain numbers: these are asked for at every access, and enumerations are slow.
_DATA_BASE, _PROGRAM_BASE, _READ, _WRITE = _DATA.base, _PROGRAM.base, int(AccessKind.READ), int(AccessKind.WRITE)
_PACKET, _RECEIVED, _REPLY = int(Irq.PACKET), int(Irq.RECEIVED), int(Irq.REPLY)


class ModelCab(Timers, FiberOut, FiberIn):
    """A CAB without its CPU.

    Members
    -------
    fiber : ModelFiber or None
        Out of its port.
    memory : bytearray
    node : ModelNode or None
    waiting : dict of int → int
        Interrupts to the node that it has not acknowledged: level → status/ID.
    """

    def __init__(self, machine, board, period_ps, first_ps, symbol_ps, memory_bytes):
        self.machine = machine
        self.name = board.name
        self.period_ps = period_ps
        self.first_ps = first_ps  # time of edge 0
        self.symbol_ps = symbol_ps
        self.fiber = None
        self.node = None
        self.memory = bytearray(memory_bytes)
        self._program = bytearray(REGIONS["program"].size)
        self._guard = Guard(lambda: self._raise(Irq.TRAP))
        self._owners = {}  # (address, whether it is written) of a register → what is to be called
        self._forget()

    def _forget(self):
        """As after a reset."""
        self.waiting = {}
        self._events = 0
        self._enable = 0
        self._threshold = 0
        self._levels = dict.fromkeys(Irq, 1)
        self._rank()
        self._timers_begin()
        self._fiber_out_begin()
        self._fiber_in_begin()

    # -- the CPU bus ---------------------------------------------------------------------------------
    @property
    def irq(self):
        """The interrupt line."""
        return bool(self._pending() & self._enable & self._above)

    def _rank(self):
        """Notes which interrupts are above the threshold."""
        self._above = sum(1 << irq for irq, level in self._levels.items() if level > self._threshold)

    def _pending(self):
        return (
            self._events
            | self._rx_shown << _PACKET
            | (self._rx_result is not None) << _RECEIVED
            | bool(self._replies) << _REPLY
        )

    def access(self, request):
        """Carries out a request; returns (data, error)."""
        address, write, select, data, kernel = request
        guard = self._guard
        guard.kernel = kernel
        if not guard.allows(address, _WRITE if write else _READ):
            return 0, True
        memory, offset = self.memory, address - _DATA_BASE
        if not 0 <= offset < len(memory):
            memory, offset = self._program, address - _PROGRAM_BASE
        if 0 <= offset < len(memory):
            if not write:
                return int.from_bytes(memory[offset : offset + 4], "big"), False
            if select == 0xF:
                memory[offset : offset + 4] = data.to_bytes(4, "big")
                return 0, False
            for lane in range(4):
                if select & 8 >> lane:
                    memory[offset + lane] = data >> 8 * (3 - lane) & 0xFF
            return 0, False
        if _PROM.base <= address < _PROM.end:
            return 0, bool(write)
        if _TABLE.base <= address < _TABLE.end:
            if write:
                guard.store(address, data, select)
            return 0 if write else guard.load(address), False
        owner = (self._owners.get((address, write)) or self._owner(address, write)) if select == 0xF else None
        if owner is None:
            return 0, True
        if write:
            return 0, owner[0](data & owner[1]) is False
        return owner[0](), False

    def _owner(self, address, write):
        """What reads or writes the register at ``address``, and the bits that it has; None if there is no such."""
        register = _BY_ADDRESS.get(address) or (_VME.get(address) if self.node is not None else None)
        if register is None or ("w" if write else "r") not in register.access:
            return None
        name = f"{'write' if write else 'read'}_{register.name.lower()}"
        mask = sum(field.mask for field in register.fields) or 0xFFFFFFFF
        owner = self._owners[address, write] = getattr(self._guard, name, None) or getattr(self, f"_{name}"), mask
        return owner

    def block(self, operation, kernel):
        """Does a whole block (``door.Operation``) of data memory, and returns its words; None if it must go word by
        word."""
        self._guard.kernel = kernel
        return self._move(operation) if self._guard.open else None

    def _move(self, operation):
        first = operation.address - _DATA.base
        end = first + operation.size
        if first < 0 or end > len(self.memory):
            return None
        low, high = first & ~3, end + 3 & ~3
        if operation.kind == door.OperationKind.WRITE_BLOCK:
            self.memory[first:end] = operation.value
            return [0] * (high - low >> 2)
        return list(unpack(f">{high - low >> 2}I", self.memory[low:high]))

    @staticmethod
    def answer(write, words=1):
        """Cycles from the edge at which the first of so many words is taken to the last answer."""
        return _ANSWER + words - 1

    def _inside(self, address, length):
        """Whether ``length`` bytes from ``address`` on are data memory."""
        return _DATA.base <= address and address + length <= _DATA.base + len(self.memory)

    # -- VME -----------------------------------------------------------------------------------------
    def vme_access(self, request):
        """An access of the node's; returns (data, error)."""
        self._guard.vme = True
        try:
            return self.access(request)
        finally:
            self._guard.vme = False

    def vme_block(self, operation):
        """As ``block``, for the node."""
        write = operation.kind == door.OperationKind.WRITE_BLOCK
        self._guard.vme = True
        try:
            free = self._guard.permits(
                operation.address, operation.size, AccessKind.WRITE if write else AccessKind.READ
            )
            return self._move(operation) if free else None
        finally:
            self._guard.vme = False

    def acknowledge(self):
        """The node acknowledges the highest interrupt that waits: its level and status/ID; 0 if there is none."""
        if not self.waiting:
            return 0
        level = max(self.waiting)
        self._raise(Irq.VME_TAKEN)
        return level << 8 | self.waiting.pop(level)

    def _read_vme_interrupt(self):
        return REG["VME_INTERRUPT"].pending.put(sum(1 << level - 1 for level in self.waiting))

    def _write_vme_interrupt(self, value):
        register = REG["VME_INTERRUPT"]
        level = register.level.get(value)
        if not level or level in self.waiting:
            return False
        self.waiting[level] = register.vector.get(value)
        self.machine.interrupt(self.node)
        return True

    def _write_vme_bell(self, value):
        self._raise(Irq.VME_BELL)

    def _read_irq_pending(self):
        return self._pending()

    def _write_irq_pending(self, value):
        self._events &= ~value | _STATES

    def _read_irq_enable(self):
        return self._enable

    def _write_irq_enable(self, value):
        self._enable = value

    def _read_irq_vector(self):
        raised = self._pending() & self._enable
        first = max(
            (irq for irq in Irq if raised >> irq & 1 and self._levels[irq] > self._threshold),
            key=lambda irq: (self._levels[irq], -irq),
            default=None,
        )
        vector = REG["IRQ_VECTOR"]
        return (
            0
            if first is None
            else vector.valid.mask | vector.number.put(int(first)) | vector.level.put(self._levels[first])
        )

    def _read_irq_threshold(self):
        return self._threshold

    def _write_irq_threshold(self, value):
        self._threshold = value
        self._rank()

    def _read_level(self, name):
        return sum(field.put(self._levels[Irq[field.name.upper()]]) for field in REG[name].fields)

    def _write_level(self, name, value):
        for field in REG[name].fields:
            self._levels[Irq[field.name.upper()]] = field.get(value)
        self._rank()

    _read_irq_level0, _read_irq_level1 = (
        partialmethod(_read_level, "IRQ_LEVEL0"),
        partialmethod(_read_level, "IRQ_LEVEL1"),
    )
    _write_irq_level0, _write_irq_level1 = (
        partialmethod(_write_level, "IRQ_LEVEL0"),
        partialmethod(_write_level, "IRQ_LEVEL1"),
    )

    def _read_id(self):
        return ID_VALUE

    def _read_config(self):
        config = REG["CONFIG"]
        return (
            config.data.put(len(self.memory).bit_length() - 1)
            | config.program.put(_PROGRAM.size.bit_length() - 1)
            | config.pages.put(PAGES.bit_length() - 1)
            | config.domains.put(DOMAINS.bit_length() - 1)
        )

    def _write_reset(self, value):
        if value:
            self._guard.reset()
            self._forget()

    def _raise(self, irq):
        self._events |= 1 << irq
        self.machine.interrupt(self)

    def _count(self, name):
        self._errors[name] = min(self._errors[name] + 1, 255)
        self._raise(Irq.ERROR)

    def _read_errors(self):
        return sum(REG["ERRORS"].__getattr__(name).put(count) for name, count in self._errors.items())

"""The CAB board of the pure-Python model: what ``docs/cab.md`` says, packet by packet instead of cycle by cycle.

Here are bus, memories and interrupts; the fiber is in ``modelport``, the timers are in ``modeltimers``, the protection is in ``modelguard``.
"""

from functools import partialmethod
from struct import unpack

from ...hdl.cab.addresses import ID_VALUE, REG, REGIONS, VME_REGISTERS, Irq
from ...hdl.cab.regions import DOMAINS, PAGES, Kind
from .. import door
from .modelguard import Guard
from .modelport import ModelPort
from .modeltimers import ModelTimers

__all__ = ["ModelCab"]

_DATA, _PROGRAM, _PROM, _TABLE = (REGIONS[name] for name in ("data", "program", "prom", "protection"))
#: The model has no VME.
_BY_ADDRESS = {register.address: register for register in REG.values() if register not in VME_REGISTERS}
_STATES = (1 << Irq.PACKET) | (1 << Irq.RECEIVED) | (1 << Irq.REPLY) | (1 << Irq.INPUT)


class ModelCab(ModelTimers, ModelPort):
    """A CAB without its CPU.

    Members
    -------
    fiber : ModelFiber or None
        Out of its port.
    memory : bytearray
    """

    def __init__(self, machine, board, period_ps, first_ps, symbol_ps, memory_bytes):
        self.machine = machine
        self.name = board.name
        self.period_ps = period_ps
        self.first_ps = first_ps          # time of edge 0
        self.symbol_ps = symbol_ps
        self.fiber = None
        self.memory = bytearray(memory_bytes)
        self._program = bytearray(REGIONS["program"].size)
        self._guard = Guard(lambda: self._raise(Irq.TRAP))
        self._forget()

    def _forget(self):
        """As after a reset."""
        self._events = 0
        self._enable = 0
        self._threshold = 0
        self._levels = dict.fromkeys(Irq, 1)
        self._timers_begin()
        self._port_begin()

    # -- the CPU bus ---------------------------------------------------------------------------------
    @property
    def irq(self):
        """The interrupt line."""
        raised = self._pending() & self._enable
        return bool(raised) and any(raised >> irq & 1 and level > self._threshold for irq, level in self._levels.items())

    def _pending(self):
        return (self._events | self._rx_shown << Irq.PACKET | (self._rx_result is not None) << Irq.RECEIVED
                | bool(self._replies) << Irq.REPLY)

    def access(self, request):
        """Carries out a request; returns (data, error)."""
        address = request.address
        self._guard.kernel = request.kernel
        if not self._guard.allows(address, Kind.WRITE if request.write else Kind.READ):
            return 0, True
        for memory, base in ((self.memory, _DATA.base), (self._program, _PROGRAM.base)):
            offset = address - base
            if 0 <= offset < len(memory):
                if not request.write:
                    return int.from_bytes(memory[offset:offset + 4], "big"), False
                for lane in range(4):
                    if request.select & 8 >> lane:
                        memory[offset + lane] = request.data >> 8 * (3 - lane) & 0xFF
                return 0, False
        if _PROM.base <= address < _PROM.end:
            return 0, bool(request.write)
        if _TABLE.base <= address < _TABLE.end:
            if request.write:
                self._guard.store(address, request.data, request.select)
            return 0 if request.write else self._guard.load(address), False
        register = _BY_ADDRESS.get(address)
        if register is None or request.select != 0xF or ("w" if request.write else "r") not in register.access:
            return 0, True
        if request.write:
            fields = sum(field.mask for field in register.fields) or 0xFFFFFFFF
            return 0, self._owner("write", register)(request.data & fields) is False
        return self._owner("read", register)(), False

    def block(self, operation, kernel):
        """Does a whole block (``door.Operation``) of data memory, and returns its words; None if it must go word by word."""
        first = operation.address - _DATA.base
        end = first + operation.size
        self._guard.kernel = kernel
        if first < 0 or end > len(self.memory) or not self._guard.open:
            return None
        low, high = first & ~3, end + 3 & ~3
        if operation.kind == door.Kind.WRITE_BLOCK:
            self.memory[first:end] = operation.value
            return [0] * (high - low >> 2)
        return list(unpack(f">{high - low >> 2}I", self.memory[low:high]))

    def _owner(self, verb, register):
        name = f"{verb}_{register.name.lower()}"
        return getattr(self._guard, name, None) or getattr(self, f"_{name}")

    def _cycle(self):
        return (self.machine.time_ps - self.first_ps) // self.period_ps

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
        first = max((irq for irq in Irq if raised >> irq & 1 and self._levels[irq] > self._threshold),
                    key=lambda irq: (self._levels[irq], -irq), default=None)
        vector = REG["IRQ_VECTOR"]
        return 0 if first is None else vector.valid.mask | vector.number.put(int(first)) | vector.level.put(self._levels[first])

    def _read_irq_threshold(self):
        return self._threshold

    def _write_irq_threshold(self, value):
        self._threshold = value

    def _read_level(self, name):
        return sum(field.put(self._levels[Irq[field.name.upper()]]) for field in REG[name].fields)

    def _write_level(self, name, value):
        for field in REG[name].fields:
            self._levels[Irq[field.name.upper()]] = field.get(value)

    _read_irq_level0, _read_irq_level1 = partialmethod(_read_level, "IRQ_LEVEL0"), partialmethod(_read_level, "IRQ_LEVEL1")
    _write_irq_level0, _write_irq_level1 = partialmethod(_write_level, "IRQ_LEVEL0"), partialmethod(_write_level, "IRQ_LEVEL1")

    def _read_id(self):
        return ID_VALUE

    def _read_config(self):
        config = REG["CONFIG"]
        return (config.data.put(len(self.memory).bit_length() - 1) | config.program.put(_PROGRAM.size.bit_length() - 1)
                | config.pages.put(PAGES.bit_length() - 1) | config.domains.put(DOMAINS.bit_length() - 1))

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

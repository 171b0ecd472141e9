"""Reference model of the CAB, written from docs/cab.md and the address map: what happens, not when.

Time does not exist here. Whatever can be done is done at once: entries of the fiber-out list leave, packets are taken
from the input queue as far as software lets them. The real board must show the same whenever it has nothing left to do
(its pin ``idle``). The timers, which are about nothing but time, are not here: see ``test_timer``.
"""

from functools import partial

from nectar.hdl.cab.addresses import ID_VALUE, REG, REGIONS, REGISTERS, Irq
from nectar.hdl.cab.regions import DOMAINS, KERNEL, PAGES, AccessKind, Right
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH, VME_REG, VME_REGISTERS
from nectar.verification.cab.protection_model import ProtectionModel, Refused
from nectar.verification.cab.reference_fiber import INPUT_QUEUE, BusFault, FiberInModel, FiberOutModel, fields, word

__all__ = ["Board", "BusFault", "INPUT_QUEUE", "fields"]

_BY_ADDRESS = {register.address: register for register in REGISTERS}
_VD_FREE = VME_REG["VD_STATUS"].free.put(VME_LIST_DEPTH)
_STATES = (Irq.PACKET, Irq.RECEIVED, Irq.REPLY, Irq.INPUT)


class Board(FiberOutModel, FiberInModel):
    """A CAB without time.

    ``data``: the data memory, ``program``: the program RAM; bytearrays. ``prom``: bytes.
    """

    def __init__(
        self, data_bytes, program_bytes=REGIONS["program"].size, prom=b"", domains=DOMAINS, pages=PAGES, vme=False
    ):
        self.data = bytearray(data_bytes)
        self.program = bytearray(program_bytes)
        self.prom = bytes(prom).ljust(REGIONS["prom"].size, b"\0")
        self.protection = ProtectionModel(domains, pages)
        self.sent = []
        self.vme = vme
        self.vme_words = dict.fromkeys((register.name for register in VME_REGISTERS), 0) | {"VD_STATUS": _VD_FREE}
        self._reset()

    def _reset(self):
        self.protection.reset()
        self.counts = {field.name: 0 for field in REG["ERRORS"].fields}
        self.events = set()
        self.enabled = self.threshold = 0
        self.levels = dict.fromkeys(Irq, 1)
        self.reset_fiber_out()
        self.reset_fiber_in()

    # -- accesses --------------------------------------------------------------------------------------
    def read(self, address, select=0xF, kernel=False, execute=False, vme=False):
        """The word that a read gives; BusFault. Reading REPLY takes a reply out."""
        address, domain = self._begin(address, AccessKind.EXECUTE if execute else AccessKind.READ, kernel, vme)
        for memory, offset in self._memories(address):
            return int.from_bytes(memory[offset : offset + 4], "big")
        offset = address - REGIONS["protection"].base
        if 0 <= offset < REGIONS["protection"].size:
            found = self.protection.word(offset >> 14, offset & 0x3FFF)
            if found is None:
                raise BusFault
            return found
        return self._owner(self._register(address, select, "r"), "read")()

    def write(self, address, value, select=0xF, kernel=False, execute=False, vme=False):
        """Writes the bytes of ``value`` that ``select`` names; BusFault, and then nothing has happened."""
        address, domain = self._begin(address, AccessKind.WRITE, kernel, vme)
        for memory, offset in self._memories(address):
            if memory is self.prom:
                raise BusFault
            for lane, byte in enumerate(value.to_bytes(4, "big")):
                if select >> 3 - lane & 1:
                    memory[offset + lane] = byte
            return
        offset = address - REGIONS["protection"].base
        if 0 <= offset < REGIONS["protection"].size:
            if not self.protection.covers(offset >> 14, offset & 0x3FFF):
                raise BusFault
            self.protection.store(offset >> 14, offset & 0x3FFF, value, select)
            return
        register = self._register(address, select, "w")
        self._domain, self._vme = domain, vme
        try:
            if self._owner(register, "write")(value) is False:
                raise BusFault
        except Refused:
            self.events.add(Irq.TRAP)
            raise BusFault from None
        finally:
            self._domain = KERNEL
        self._settle()

    _domain, _vme = KERNEL, False

    def _begin(self, address, kind, kernel, vme):
        """The word's address and the domain of an access that may be made; BusFault."""
        domain = self.protection.domains - 1 if vme else KERNEL if kernel else self.protection.current
        try:
            self.protection.check(address, kind, domain, vme)
        except Refused:
            self.events.add(Irq.TRAP)
            raise BusFault from None
        return address & ~3, domain

    def _memories(self, address):
        """The memory at an address, and the offset in it; or nothing."""
        for name, memory in (("data", self.data), ("program", self.program), ("prom", self.prom)):
            offset = address - REGIONS[name].base
            if 0 <= offset < len(memory):
                yield memory, offset

    def _register(self, address, select, letter):
        """The register there, if the board has it and it can be accessed so; BusFault."""
        register = _BY_ADDRESS.get(address)
        if (
            register is None
            or select != 0xF
            or letter not in register.access
            or register in VME_REGISTERS
            and not self.vme
        ):
            raise BusFault
        return register

    def _vme_register(self, register, value=None):
        """The registers of VME, whose bus is at rest here: what is read, and the bell."""
        if value is None:
            return self.vme_words[register.name]
        assert register.name == "VME_BELL", "the model knows no transfers"
        self.events.add(Irq.VME_BELL)

    def _owner(self, register, verb):
        if register in VME_REGISTERS:
            return partial(self._vme_register, register)
        name = f"{verb}_{register.name.lower()}"
        return getattr(self.protection, name, None) or getattr(self, f"_{name}")

    def _area(self, address, length):
        """Offset of an area in data memory; BusFault if it is not inside."""
        offset = address - REGIONS["data"].base
        if length and not 0 <= offset <= offset + length <= len(self.data):
            raise BusFault
        return offset

    def _allowed(self, address, length, right):
        """Refused unless the domain that writes a register may let DMA work on an area."""
        self.protection.check_area(
            address, length, AccessKind.WRITE if right == Right.WRITE else AccessKind.READ, self._domain, self._vme
        )

    # -- interrupts and errors -----------------------------------------------------------------------
    @property
    def pending(self):
        """IRQ_PENDING."""
        states = {
            Irq.PACKET: self.packet is not None and self.packet.waits,
            Irq.RECEIVED: self.result is not None,
            Irq.REPLY: bool(self.replies),
            Irq.INPUT: bool(self.rx_mode["direct"] and self.packet is None and self.queue),
        }
        return sum(1 << irq for irq in Irq if states.get(irq) or irq in self.events)

    @property
    def irq(self):
        """The interrupt line."""
        return bool(self._raised())

    def _raised(self):
        raised = self.pending & self.enabled
        return [irq for irq in Irq if raised >> irq & 1 and self.levels[irq] > self.threshold]

    def _read_irq_vector(self):
        first = min(self._raised(), key=lambda irq: (-self.levels[irq], irq), default=None)
        return 0 if first is None else word("IRQ_VECTOR", valid=1, number=first, level=self.levels[first])

    def _read_irq_threshold(self):
        return self.threshold

    def _write_irq_threshold(self, value):
        self.threshold = fields("IRQ_THRESHOLD", value)["level"]

    def _level_word(self, name):
        return sum(field.put(self.levels[Irq[field.name.upper()]]) for field in REG[name].fields)

    def _set_levels(self, name, value):
        for field in REG[name].fields:
            self.levels[Irq[field.name.upper()]] = field.get(value)

    def _read_irq_level0(self):
        return self._level_word("IRQ_LEVEL0")

    def _read_irq_level1(self):
        return self._level_word("IRQ_LEVEL1")

    def _write_irq_level0(self, value):
        self._set_levels("IRQ_LEVEL0", value)

    def _write_irq_level1(self, value):
        self._set_levels("IRQ_LEVEL1", value)

    def _write_reset(self, value):
        if fields("RESET", value)["board"]:
            self._reset()

    def _read_config(self):
        table = self.protection
        return word(
            "CONFIG",
            data=len(self.data).bit_length() - 1,
            program=len(self.program).bit_length() - 1,
            pages=table.pages.bit_length() - 1,
            domains=table.domains.bit_length() - 1,
            vme=self.vme,
        )

    def _error(self, name):
        if self.counts[name] < 255:
            self.counts[name] += 1
            self.events.add(Irq.ERROR)

    def _read_irq_pending(self):
        return self.pending

    def _write_irq_pending(self, value):
        self.events -= {irq for irq in Irq if irq not in _STATES and value >> irq & 1}

    def _read_irq_enable(self):
        return self.enabled

    def _write_irq_enable(self, value):
        self.enabled = value & sum(field.mask for field in REG["IRQ_ENABLE"].fields)

    def _read_errors(self):
        return word("ERRORS", **self.counts)

    def _read_id(self):
        return ID_VALUE

    # -- both ----------------------------------------------------------------------------------------
    def _settle(self):
        while self.entries and not self.waiting:
            self._work(*self.entries.popleft())
        while self._receive():
            pass

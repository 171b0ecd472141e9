"""Reference model of a whole CAB with VME: the board of ``reference``, its VME registers, and a memory on the VME bus.

Like that it knows no time: what DMA is told to do is done at once.
"""

from nectar.hdl.cab.addresses import Irq
from nectar.hdl.cab.regions import Right
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH, VME_REG
from nectar.verification.cab.protection_model import ProtectionModel
from nectar.verification.cab.reference import Board, BusFault
from nectar.verification.cab.whole import SLAVE_BASE

__all__ = ["WholeModel"]

_KEPT = {
    "VD_ADDRESS": 0xFFFFFF,
    "VD_REMOTE": 0xFFFFFFFF,
    "VD_THRESHOLD": 0xFFFFF,
    "VME_WINDOW": sum(field.mask for field in VME_REG["VME_WINDOW"].fields),
}


class _Protection(ProtectionModel):
    """Keeps every refused access, as which of several comes first is a matter of time."""

    def __init__(self, domains, pages):
        self.refused = []
        super().__init__(domains, pages)

    def reset(self):
        self.refused.clear()
        super().reset()

    def refuse(self, address, kind, domain, vme):
        self.refused.append({"address": address, "kind": int(kind), "domain": domain, "vme": int(vme)})
        super().refuse(address, kind, domain, vme)

    def write_trap_info(self, value):
        self.refused.clear()
        super().write_trap_info(value)


class WholeModel(Board):
    """A CAB with VME, and what it finds on the bus.

    Members
    -------
    far : bytearray
        The memory at ``SLAVE_BASE``.
    waiting_interrupts : dict of level → vector
        Interrupts that the node has not acknowledged yet.
    """

    def __init__(self, far, domains, pages, period_ps, **board):
        super().__init__(domains=domains, pages=pages, **board)
        self.protection = _Protection(domains, pages)
        self.far = bytearray(far)
        self.done = self.progress = self.result_word = 0
        self.waiting_interrupts = {}

    def _vme_register(self, register, value=None):
        name = register.name
        if name in _KEPT:
            if value is None:
                return self.vme_words[name]
            self.vme_words[name] = value & _KEPT[name]
            return None
        if value is not None:
            return getattr(self, f"_put_{name.lower()}")(value)
        return {
            "VD_STATUS": VME_REG["VD_STATUS"].free.put(VME_LIST_DEPTH) | VME_REG["VD_STATUS"].done.put(self.done % 256),
            "VD_PROGRESS": self.progress,
            "VD_RESULT": self.result_word,
            "VME_INTERRUPT": VME_REG["VME_INTERRUPT"].pending.put(
                sum(1 << level - 1 for level in self.waiting_interrupts)
            ),
        }[name]

    def _put_vme_bell(self, value):
        self.events.add(Irq.VME_BELL)

    def _put_vd_result(self, value):
        self.result_word = 0

    def _put_vme_interrupt(self, value):
        level = VME_REG["VME_INTERRUPT"].level.get(value)
        if not level or level in self.waiting_interrupts:
            raise BusFault
        self.waiting_interrupts[level] = VME_REG["VME_INTERRUPT"].vector.get(value)

    def acknowledge(self, level):
        """The node has acknowledged an interrupt; its vector."""
        self.events.add(Irq.VME_TAKEN)
        return self.waiting_interrupts.pop(level)

    def _put_vd_send(self, value):
        self._move(value, True)

    def _put_vd_fetch(self, value):
        self._move(value, False)

    def _move(self, value, send):
        register = VME_REG["VD_SEND"]
        length, address = register.length.get(value), self.vme_words["VD_ADDRESS"]
        near = self._area(address, length)
        if self.result_word:
            raise BusFault
        self._allowed(address, length, Right.READ if send else Right.WRITE)
        there = self.vme_words["VD_REMOTE"] - SLAVE_BASE
        if length and not 0 <= there < len(self.far):
            self.progress, self.result_word = 0, VME_REG["VD_RESULT"].berr.put(1)
            self.events.add(Irq.VME_ERROR)
            return
        if length and send:
            self.far[there : there + length] = self.data[near : near + length]
        elif length:
            self.data[near : near + length] = self.far[there : there + length]
        self.progress = length
        if 0 < self.vme_words["VD_THRESHOLD"] <= length:
            self.events.add(Irq.VME_THRESHOLD)
        if register.notify.get(value):
            self.done += 1
            self.events.add(Irq.VME_DONE)

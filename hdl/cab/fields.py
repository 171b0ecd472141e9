"""What a register of the CAB is: an address, a direction, fields.

Plain Python that imports nothing of the hardware.
"""

from dataclasses import dataclass, field

from .regions import REGIONS, Right

__all__ = ["Field", "Register"]


@dataclass(frozen=True)
class Field:
    """Bits ``low`` to ``low + width - 1`` of a register."""

    name: str
    low: int
    width: int
    purpose: str

    @property
    def mask(self):
        """The field's bits in place."""
        return ((1 << self.width) - 1) << self.low

    def get(self, word):
        """The field's value in a register's ``word``."""
        return word >> self.low & ((1 << self.width) - 1)

    def put(self, value):
        """``value`` moved to the field's place; ValueError if it does not fit."""
        if not 0 <= value < 1 << self.width:
            raise ValueError(f"{self.name} has {self.width} bits: {value} does not fit")
        return value << self.low


@dataclass(frozen=True)
class Register:
    """A word of the register region: ``offset`` in bytes, ``access`` one of r, w, rw.

    ``area``, if writing it names an area to DMA: the field with its length, and the Right that DMA needs there.
    ``bank``, if its owner keeps it in a memory with others: the bank's name, and the word's number in it.
    """

    name: str
    offset: int
    access: str
    purpose: str
    fields: tuple[Field, ...] = field(default=())
    area: tuple[str, Right] | None = None
    bank: tuple[str, int] | None = None

    @property
    def address(self):
        """Its byte address in the CAB's address space."""
        return REGIONS["registers"].base + self.offset

    def __getattr__(self, name):
        for item in object.__getattribute__(self, "fields"):
            if item.name == name:
                return item
        raise AttributeError(f"register {self.name} has no field {name!r}")

"""Decoder of the CAB's registers, made from the map in ``addresses``: no number of the map stands here.

Source: docs/cab.md and ``nectar.hdl.cab.addresses``, which are ours; the paper names the registers only as a device
(section 5.2).
"""

from amaranth.hdl import Cat, Module, Shape, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .addresses import ADDRESS_BITS, LENGTH_BITS, REGIONS, REGISTERS
from .regions import Right
from .vme.registers import VME_REGISTERS

__all__ = ["WORD_BITS", "Area", "RegisterDecoder", "RegisterPort", "layout"]

#: Bits of a word on the CPU bus.
WORD_BITS = 32


def layout(register):
    """Shape of a register's word: a flexible layout of its fields, or 32 plain bits if it has none."""
    if not register.fields:
        return unsigned(WORD_BITS)
    return data.FlexibleLayout(WORD_BITS, {f.name: data.Field(unsigned(f.width), f.low) for f in register.fields})


class Area(data.Struct):
    """An area that DMA is to work on: its first byte, its bytes, whether it will be written."""

    address: ADDRESS_BITS
    length: LENGTH_BITS
    write: 1


class RegisterPort(wiring.Signature):
    """What the decoder and the owner of a register have to tell each other; seen from the decoder.

    Members
    -------
    value : In(layout), if the register can be read
        What a read gives in this cycle.
    read : Out(1), if the register can be read
        It is read in this cycle.
    data : Out(layout), if the register can be written
        The word written, while ``write`` is 1; at other times the word of any access that comes by.
    write : Out(1), if the register can be written
        It is written in this cycle.
    refuse : In(1), if the register can be written
        A write of ``data`` in this cycle would be a bus error; ``write`` is then not given.
    area_address : In(24), if writing it names an area
        The area's first byte address.
    """

    def __init__(self, register):
        shape = layout(register)
        members = {}
        if "r" in register.access:
            members |= {"value": In(shape), "read": Out(1)}
        if "w" in register.access:
            members |= {"data": Out(shape), "write": Out(1), "refuse": In(1)}
        if register.area:
            members["area_address"] = In(ADDRESS_BITS)
        super().__init__(members)


class RegisterDecoder(wiring.Component):
    """Leads an access to the register at its address.

    Parameters
    ----------
    vme : bool
        The board has VME: its registers are there.

    Members
    -------
    valid : In(1)
        There is an access in this cycle.
    offset : In
        Word number in the region.
    write : In(1)
    select : In(4)
        Bytes wanted: a register takes whole words only.
    write_data : In(32)
    read_data : Out(32)
        Valid in the same cycle; 0 if there is an error.
    error : Out(1)
        The access is refused and has no effect.
    area : Out(Area)
        What the access would let DMA do, whether ``valid`` is 1 or not; ``length`` is 0 if it names no area, or one
        that its owner refuses.
    *name* : Out(RegisterPort(register))
        One for each register of the map that the board has, its name in lower case.

    Timing
    ------
    No registers of its own: everything happens in the cycle of the access.
    """

    def __init__(self, vme=False):
        self.registers = tuple(r for r in REGISTERS if vme or r not in VME_REGISTERS)
        super().__init__({
            "valid": In(1),
            "offset": In(ceil_log2(REGIONS["registers"].size // (WORD_BITS // 8))),
            "write": In(1),
            "select": In(WORD_BITS // 8),
            "write_data": In(WORD_BITS),
            "read_data": Out(WORD_BITS),
            "error": Out(1),
            "area": Out(Area),
            **{register.name.lower(): Out(RegisterPort(register)) for register in self.registers},
        })

    def elaborate(self, platform):
        """What each register is told; then what they say."""
        m = Module()
        whole, known = Signal(), Signal()
        m.d.comb += whole.eq(self.valid & self.select.all())
        hits = []
        for register in self.registers:
            name = register.name.lower()
            port = getattr(self, name)
            here = Signal(name=f"{name}_here")
            m.d.comb += here.eq(self.offset == register.offset // (WORD_BITS // 8))
            if "r" in register.access:
                m.d.comb += port.read.eq(whole & here & ~self.write)
                hits.append(here & ~self.write)
            if "w" in register.access:
                m.d.comb += [port.data.eq(self.write_data), port.write.eq(whole & here & self.write & ~port.refuse)]
                hits.append(here & self.write & ~port.refuse)
        m.d.comb += [known.eq(Cat(*hits).any()), self.error.eq(self.valid & ~(whole & known))]

        with m.If(whole & ~self.write), m.Switch(self.offset):
            for register in self.registers:
                if "r" in register.access:
                    with m.Case(register.offset // (WORD_BITS // 8)):
                        m.d.comb += self.read_data.eq(getattr(self, register.name.lower()).value)
        with m.If(self.write & self.select.all()), m.Switch(self.offset):
            for register in self.registers:
                if register.area:
                    with m.Case(register.offset // (WORD_BITS // 8)):
                        self._area(m, register)
        return m

    def _area(self, m, register):
        port = getattr(self, register.name.lower())
        length, right = register.area
        m.d.comb += [self.area.address.eq(port.area_address), self.area.write.eq(right == Right.WRITE)]
        with m.If(~port.refuse):
            m.d.comb += self.area.length.eq(port.data[length])

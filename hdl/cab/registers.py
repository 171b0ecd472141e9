"""Decoder of the CAB's registers, made from the map in ``addresses``: no number of the map stands here.

Source: docs/cab.md and ``nectar.hdl.cab.addresses``, which are ours; the paper names the registers only as a device
(section 5.2).
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .addresses import ADDRESS_BITS, LENGTH_BITS, REGIONS, REGISTERS
from .regions import Right
from .vme.registers import VME_REGISTERS

__all__ = ["WORD_BITS", "Area", "BankPort", "RegisterDecoder", "RegisterPort", "banks", "layout"]

#: Bits of a word on the CPU bus.
WORD_BITS = 32


def layout(register):
    """Shape of a register's word: a flexible layout of its fields, or 32 plain bits if it has none."""
    if not register.fields:
        return unsigned(WORD_BITS)
    return data.FlexibleLayout(WORD_BITS, {f.name: data.Field(unsigned(f.width), f.low) for f in register.fields})


class Area(data.Struct):
    """An area that DMA is to work on: its first byte, its bytes, whether it will be written, whether its owner
    refuses it."""

    address: ADDRESS_BITS
    length: LENGTH_BITS
    write: 1
    refused: 1


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


class BankPort(wiring.Signature):
    """What the decoder and the owner of a bank of registers have to tell each other; seen from the decoder.

    Parameters
    ----------
    words : int
        Registers in the bank: all can be read and written, and none is ever refused.

    Members
    -------
    index : Out(range(words))
        Which of them is meant in this cycle, while one is.
    value : In(32)
        What a read of it gives in this cycle.
    data : Out(32)
        The word written, while ``write`` is 1.
    write : Out(1)
        It is written in this cycle.
    """

    def __init__(self, words):
        super().__init__({"index": Out(range(words)), "value": In(WORD_BITS), "data": Out(WORD_BITS), "write": Out(1)})


def banks(registers=REGISTERS):
    """Banks among ``registers``: name → its registers, in their order in the bank."""
    found = {}
    for register in registers:
        if register.bank:
            found.setdefault(register.bank[0], []).append(register)
    return {name: sorted(members, key=lambda register: register.bank[1]) for name, members in found.items()}


class RegisterDecoder(wiring.Component):
    """Leads an access to the register at its address.

    Parameters
    ----------
    vme : bool
        The board has VME: its registers are there.

    Members
    -------
    valid : In(1)
        There is an access: it takes effect in the next cycle, if it may.
    may : In(1)
        That of the cycle before may be done.
    offset : In
        Word number in the region.
    write : In(1)
    select : In(4)
        Bytes wanted: a register takes whole words only.
    write_data : In(32)
    read_data : Out(32)
        What the register holds of which the word was asked for in the cycle before, ``valid`` or not; 0 if it cannot be
        read.
    error : Out(1)
        The access of the cycle before is refused and has no effect.
    area : Out(Area)
        What that of the cycle before, ``valid`` or not, would let DMA do; all 0 if it names no area.
    *name* : Out(RegisterPort(register))
        One for each register of the map that the board has and that is in no bank, its name in lower case.
    *bank* : Out(BankPort(words))
        One for each bank of registers, its name.

    Timing
    ------
    An access in each cycle; everything happens in the cycle after it was given.
    """

    def __init__(self, vme=False):
        there = tuple(r for r in REGISTERS if vme or r not in VME_REGISTERS)
        self.registers = tuple(r for r in there if not r.bank)
        self.banks = banks(there)
        super().__init__(
            {
                "valid": In(1),
                "may": In(1),
                "offset": In(ceil_log2(REGIONS["registers"].size // (WORD_BITS // 8))),
                "write": In(1),
                "select": In(WORD_BITS // 8),
                "write_data": In(WORD_BITS),
                "read_data": Out(WORD_BITS),
                "error": Out(1),
                "area": Out(Area),
                **{register.name.lower(): Out(RegisterPort(register)) for register in self.registers},
                **{name: Out(BankPort(len(members))) for name, members in self.banks.items()},
            }
        )

    def elaborate(self, platform):
        """Which register it is, a cycle before; then what each is told; then what they say."""
        m = Module()
        asked = Signal()
        acts = Signal()
        written = Signal(WORD_BITS)
        m.d.sync += [asked.eq(self.valid), written.eq(self.write_data)]
        m.d.comb += acts.eq(asked & self.may)
        whole_reads = Signal()
        whole_writes = Signal()
        m.d.comb += [
            whole_reads.eq(self.select.all() & ~self.write),
            whole_writes.eq(self.select.all() & self.write),
        ]
        values, taken, refused, areas = [], [], [], []
        for register in self.registers:
            name = register.name.lower()
            port = getattr(self, name)
            here = Signal(name=f"{name}_here")
            m.d.comb += here.eq(self.offset == register.offset // (WORD_BITS // 8))
            if "r" in register.access:
                reads = Signal(name=f"{name}_reads")
                m.d.sync += reads.eq(here & whole_reads)
                m.d.comb += port.read.eq(acts & reads)
                values.append(Mux(reads, port.value, 0))
                taken.append(here & whole_reads)
            if "w" in register.access:
                writes = Signal(name=f"{name}_writes")
                m.d.sync += writes.eq(here & whole_writes)
                m.d.comb += [port.data.eq(written), port.write.eq(acts & writes & ~port.refuse)]
                taken.append(here & whole_writes)
                refused.append(writes & port.refuse)
            if register.area:
                length, right = register.area
                area = Signal(Area, name=f"{name}_area")
                m.d.comb += [
                    area.address.eq(port.area_address),
                    area.length.eq(port.data[length]),
                    area.write.eq(right == Right.WRITE),
                    area.refused.eq(port.refuse),
                ]
                areas.append(Mux(writes, area.as_value(), 0))
        for name, members in self.banks.items():
            port = getattr(self, name)
            here = Signal(name=f"{name}_here")
            number = Signal.like(port.index, name=f"{name}_number")
            reads = Signal(name=f"{name}_reads")
            writes = Signal(name=f"{name}_writes")
            with m.Switch(self.offset):
                for register in members:
                    with m.Case(register.offset // (WORD_BITS // 8)):
                        m.d.comb += [here.eq(1), number.eq(register.bank[1])]
            m.d.sync += [reads.eq(here & whole_reads), writes.eq(here & whole_writes), port.index.eq(number)]
            m.d.comb += [port.data.eq(written), port.write.eq(acts & writes)]
            values.append(Mux(reads, port.value, 0))
            taken.append(here & self.select.all())
        known = Signal()
        m.d.sync += known.eq(Cat(*taken).any())
        m.d.comb += [
            self.read_data.eq(reduce(or_, values)),
            self.error.eq(acts & (~known | Cat(*refused).any())),
            self.area.eq(reduce(or_, areas)),
        ]
        return m

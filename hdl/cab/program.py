"""The CAB's program memory: PROM and RAM, for instructions and for what software keeps away from DMA.

Source: "The Design of Nectar" (1989), section 5.2: 128 kbyte of PROM, 512 kbyte of RAM, the bandwidth of the data
memory; DMA does not reach it.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from .addresses import REGIONS
from .memory import LANES
from .registers import WORD_BITS

__all__ = ["LEAST_PROGRAM_BYTES", "ProgramMemory", "check_program_bytes", "check_prom"]

#: Smallest program RAM.
LEAST_PROGRAM_BYTES = 4 << 10


def check_program_bytes(program_bytes):
    """Raises TypeError or ValueError unless a program RAM may have that size."""
    if not isinstance(program_bytes, int):
        raise TypeError(f"program_bytes must be an integer, not {program_bytes!r}")
    most = REGIONS["program"].size
    if not LEAST_PROGRAM_BYTES <= program_bytes <= most or program_bytes & program_bytes - 1:
        raise ValueError(
            f"program_bytes must be a power of two from {LEAST_PROGRAM_BYTES} to {most}, not {program_bytes}"
        )


def check_prom(prom):
    """Raises TypeError or ValueError unless a PROM may have that content."""
    if not isinstance(prom, bytes):
        raise TypeError(f"prom must be bytes, not {type(prom).__name__}")
    if len(prom) > REGIONS["prom"].size:
        raise ValueError(f"prom has {len(prom)} bytes; there is room for {REGIONS['prom'].size}")


class ProgramMemory(wiring.Component):
    """PROM and RAM with one access in each cycle.

    Parameters
    ----------
    program_bytes : int
        Size of the RAM: a power of two from 4 to 512 kbyte.
    prom : bytes
        Content of the PROM from its first byte on, at most 128 kbyte; the rest of it is zeros.

    Members
    -------
    valid : In(1)
        There is an access in this cycle.
    rom : In(1)
        It reads the PROM; else it reads or writes the RAM.
    address : In
        Word number.
    write : In(1), select : In(4), data : In(32)
        A write to the RAM; never with ``rom``. Bit 3 of ``select`` is the byte at the word's own address.
    may : In(1)
        The access of the cycle before may be done: else, if it was a write, it is not.
    read_data : Out(32)
        The word read in the cycle before; meaningless if none was.

    Timing
    ------
    One access in each cycle. A word is written in the cycle after the access, and can be read from that cycle on.

    Raises
    ------
    TypeError, ValueError
        If the size or the content is not one of those.
    """

    def __init__(self, program_bytes=REGIONS["program"].size, prom=b""):
        check_program_bytes(program_bytes)
        check_prom(prom)
        self.program_bytes = program_bytes
        self.prom = prom
        super().__init__(
            {
                "valid": In(1),
                "rom": In(1),
                "address": In(exact_log2(REGIONS["program"].size // LANES)),
                "write": In(1),
                "select": In(LANES),
                "data": In(WORD_BITS),
                "may": In(1),
                "read_data": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform):
        """RAM; PROM as far as it has content."""
        m = Module()
        m.submodules.ram = ram = memory.Memory(shape=WORD_BITS, depth=self.program_bytes // LANES, init=[])
        write = ram.write_port(granularity=8)
        read = ram.read_port(transparent_for=(write,))
        selected = Signal(LANES)
        from_rom = Signal()
        m.d.sync += [
            from_rom.eq(self.rom),
            write.addr.eq(self.address),
            write.data.eq(self.data),
            selected.eq(Mux(self.valid & self.write, self.select, 0)),
        ]
        m.d.comb += [
            read.addr.eq(self.address),
            read.en.eq(self.valid & ~self.rom & ~self.write),
            write.en.eq(Mux(self.may, selected, 0)),
        ]
        content = self.prom.rstrip(b"\0")
        if not content:
            m.d.comb += self.read_data.eq(Mux(from_rom, 0, read.data))
            return m
        words = [
            int.from_bytes(content[at : at + LANES].ljust(LANES, b"\0"), "big") for at in range(0, len(content), LANES)
        ]
        bits = ceil_log2(len(words))
        m.submodules.rom = rom = memory.Memory(shape=WORD_BITS, depth=1 << bits, init=words)
        fetch = rom.read_port()
        beyond = Signal()
        rom_bits = exact_log2(REGIONS["prom"].size // LANES)
        m.d.sync += beyond.eq(self.address[bits:rom_bits] != 0)
        m.d.comb += [
            fetch.addr.eq(self.address[:bits]),
            fetch.en.eq(self.valid & self.rom),
            self.read_data.eq(Mux(from_rom, Mux(beyond, 0, fetch.data), read.data)),
        ]
        return m

"""The CAB's address map: registers, fields, interrupt numbers.

Plain Python that imports nothing of the hardware: gateware, software, tests and documentation all read
the map from here; regions are in ``regions``, the registers of the later pages in ``timer_registers``,
``vme.registers`` and ``kernel_registers``. Words are 32 bits and big-endian, as on the SPARC: the byte at a word's
own address is bits 31 to 24.

Registers are words; a byte or halfword access to one is a bus error, as is any access to a hole or to a
region that the board does not have. Each of the four pages of the region is for a purpose of its own, so that a
domain can be given one without the others: fiber and interrupts, timers, VME, and the kernel's.
"""

from enum import IntEnum

from .fields import Field, Register
from .kernel_registers import KERNEL_REGISTERS
from .regions import ADDRESS_BITS, REGIONS, Region, Right
from .timer_registers import TIMER_BANK, TIMER_PAGE_REGISTERS, timer_fields
from .vme.registers import VME_REGISTERS

__all__ = [
    "ADDRESS_BITS",
    "Region",
    "REGIONS",
    "Irq",
    "Field",
    "Register",
    "REGISTERS",
    "HEADER_BYTES",
    "CRC_BYTES",
    "TX_LIST_DEPTH",
    "RX_LIST_DEPTH",
    "LENGTH_BITS",
    "Check",
    "REG",
    "ID_VALUE",
    "LEVEL_BITS",
    "LEVEL_REGISTERS",
    "VME_REGISTERS",
]

#: Bytes of a packet that the fiber port holds in registers, for software to choose a place by.
HEADER_BYTES = 16
#: Bytes of the CRC-32 that ends every packet of Nectar's own protocols.
CRC_BYTES = 4
#: Entries of the fiber-out list.
TX_LIST_DEPTH = 32
#: Areas of the fiber-in list, besides that of RX_START.
RX_LIST_DEPTH = 15
#: Bits of a length: areas and packets have 0 to 2**20 - 1 bytes.
LENGTH_BITS = 20
#: What the register ID reads as: "CAB" and the map's version.
ID_VALUE = 0x43414202
#: Bits of an interrupt's level, and the registers that hold the levels, eight in each.
LEVEL_BITS = 4
# fmt: off
LEVEL_REGISTERS = "IRQ_LEVEL0", "IRQ_LEVEL1"
# fmt: on


class Check(IntEnum):
    """What the last bytes of a packet are: RX_MODE.check."""

    CRC32 = 0  # four bytes, the CRC-32 of IEEE 802.3
    INTERNET = 1  # two bytes, the Internet checksum of RFC 1071
    NONE = 2  # nothing but data


class Irq(IntEnum):
    """Interrupt sources: bit numbers in IRQ_PENDING and IRQ_ENABLE.

    PACKET, RECEIVED, REPLY and INPUT follow the state that they report and end with it; the others are set by an
    event and cleared by writing a 1 to their bit in IRQ_PENDING.
    """

    PACKET = 0  # a packet's header is in RX_HEADER; software must name a place for the rest
    RECEIVED = 1  # RX_RESULT tells of a packet that has ended
    REPLY = 2  # a reply waits in REPLY
    SENT = 3  # an entry of the fiber-out list marked *notify* is done
    TIMER = 4  # a timer has fired; TIMER_FIRED tells which
    ERROR = 5  # one of the counters in ERRORS has moved
    TRAP = 6  # an access was refused by the protection; TRAP_INFO tells of the first
    START = 7  # a start of packet has entered the input queue
    TX_THRESHOLD = 8  # TX_PROGRESS has reached TX_THRESHOLD
    RX_THRESHOLD = 9  # RX_PROGRESS has reached RX_THRESHOLD
    INPUT = 10  # a symbol waits in RX_QUEUE
    VME_DONE = 11  # an entry of the VME DMA list marked *notify* is done
    VME_ERROR = 12  # the VME DMA list has ended before its end; VD_RESULT tells why
    VME_THRESHOLD = 13  # VD_PROGRESS has reached VD_THRESHOLD
    VME_TAKEN = 14  # the node has acknowledged an interrupt of VME_INTERRUPT
    VME_BELL = 15  # the node has written VME_BELL


def _level_fields(part):
    return tuple(
        Field(irq.name.lower(), LEVEL_BITS * (irq % 8), LEVEL_BITS, f"level of {irq.name}")
        for irq in Irq
        if irq // 8 == part
    )


def _irq_fields():
    return tuple(Field(irq.name.lower(), int(irq), 1, f"interrupt {irq.name}") for irq in Irq)


# The first eight words are what an interrupt handler needs: one block read takes them all.
REGISTERS = (
    Register("IRQ_PENDING", 0x00, "rw", "interrupts that wait; 1 clears an event", _irq_fields()),
    Register(
        "RX_RESULT",
        0x04,
        "r",
        "the packet that has ended; valid while RECEIVED is pending",
        (
            Field("length", 0, 20, "bytes stored behind the header, the CRC not among them"),
            Field("header", 20, 5, "bytes of header that the packet had, 0 to 16"),
            Field("crc_bad", 28, 1, "the CRC-32 at the packet's end was wrong or missing"),
            Field("too_long", 29, 1, "the packet had more bytes than RX_START allowed; the rest was dropped"),
            Field("framing", 30, 1, "the packet was cut short by a start of packet, or symbols were lost in it"),
            Field("discarded", 31, 1, "the packet was discarded as RX_CONTROL asked"),
        ),
    ),
    Register("RX_HEADER0", 0x08, "r", "bytes 0 to 3 of the packet"),
    Register("RX_HEADER1", 0x0C, "r", "bytes 4 to 7"),
    Register("RX_HEADER2", 0x10, "r", "bytes 8 to 11"),
    Register("RX_HEADER3", 0x14, "r", "bytes 12 to 15"),
    Register(
        "TX_STATUS",
        0x18,
        "r",
        "state of the fiber-out list",
        (
            Field("free", 0, 6, "entries that may still be written"),
            Field("busy", 8, 1, "an entry is being worked on"),
            Field("ready", 9, 1, "the ready bit: the next board's input queue has room for a packet"),
            Field("waiting", 10, 1, "an entry waits for the ready bit"),
            Field("sent", 16, 8, "notify entries done since reset, modulo 256"),
        ),
    ),
    Register(
        "REPLY",
        0x1C,
        "r",
        "the oldest reply; reading it takes it out",
        (
            Field("value", 0, 8, "value byte"),
            Field("hub", 8, 8, "HUB that answered"),
            Field("opcode", 16, 8, "the command's opcode; bit 0: done"),
            Field("valid", 31, 1, "there was a reply"),
        ),
    ),
    Register("IRQ_ENABLE", 0x20, "rw", "interrupts that raise the CPU's interrupt line", _irq_fields()),
    Register("ID", 0x24, "r", "kind of board and version of this map"),
    Register("TIMER_NOW", 0x28, "r", "free-running count of CAB clock cycles"),
    Register(
        "TIMER_COMPARE",
        0x2C,
        "rw",
        "arms timer 0: it fires once TIMER_NOW has reached this (at most 2**31 cycles ahead)",
        bank=(TIMER_BANK, 0),
    ),
    Register("TIMER_STOP", 0x30, "w", "disarms timers", timer_fields()),
    Register(
        "TX_COMMAND",
        0x34,
        "w",
        "adds a HUB command to the fiber-out list",
        (
            Field("param", 0, 8, "parameter"),
            Field("hub", 8, 8, "HUB ID"),
            Field("opcode", 16, 8, "opcode"),
            Field("notify", 30, 1, "count it in TX_STATUS.sent and raise SENT when it has left"),
            Field("wait_ready", 31, 1, "first wait until the ready bit is 1"),
        ),
    ),
    Register("TX_ADDRESS", 0x38, "rw", "bus address of the first byte of the next area, in data memory"),
    Register(
        "TX_AREA",
        0x3C,
        "w",
        "adds the area at TX_ADDRESS to the fiber-out list (gather)",
        (
            Field("length", 0, 20, "bytes, from 0"),
            Field("internet", 27, 1, "with crc: the two bytes of the Internet checksum in place of the CRC-32"),
            Field("crc", 28, 1, "send the packet's CRC-32 behind the area's last byte"),
            Field("end", 29, 1, "send an end of packet behind that"),
            Field("start", 30, 1, "send a start of packet first, and begin a new CRC"),
            Field("notify", 31, 1, "count it in TX_STATUS.sent and raise SENT when it has left"),
        ),
        ("length", Right.READ),
    ),
    Register(
        "TX_SYMBOL",
        0x40,
        "w",
        "adds one symbol, any of the 512, to the fiber-out list",
        (Field("symbol", 0, 9, "the symbol"),),
    ),
    Register("TX_READY", 0x44, "w", "any write sends a ready signal between two symbols"),
    Register(
        "TX_CONTROL",
        0x48,
        "w",
        "recovery of the fiber-out side",
        (
            Field("reset", 0, 1, "empty the list and stop; a packet under way ends with an end of packet"),
            Field("set_ready", 1, 1, "set the ready bit, as a ready signal would"),
        ),
    ),
    Register(
        "RX_ADDRESS",
        0x4C,
        "rw",
        "bus address of the first byte of the next area for what follows the header, in data memory",
    ),
    Register(
        "RX_START",
        0x50,
        "w",
        "starts the DMA of the packet whose header is in RX_HEADER",
        (Field("limit", 0, 20, "bytes that may be stored behind the areas of RX_AREA"),),
        ("limit", Right.WRITE),
    ),
    Register("RX_RELEASE", 0x54, "w", "any write gives RX_RESULT and RX_HEADER back for the next packet"),
    Register(
        "RX_CONTROL",
        0x58,
        "w",
        "recovery of the fiber-in side",
        (
            Field("discard", 0, 1, "drop the packet whose header is in RX_HEADER; RX_RESULT will tell"),
            Field("reset", 1, 1, "empty the input queue and forget the packet under way"),
        ),
    ),
    Register(
        "RX_STATUS",
        0x5C,
        "r",
        "state of the fiber-in side",
        (
            Field("level", 0, 12, "symbols in the input queue"),
            Field("open", 16, 1, "a packet has begun and not yet ended"),
            Field("dma", 17, 1, "the DMA of a packet runs"),
            Field("areas", 20, 4, "areas that RX_AREA may still add; none while the DMA runs"),
        ),
    ),
    Register(
        "ERRORS",
        0x60,
        "r",
        "error counters; each stops at 255",
        (
            Field("overrun", 0, 8, "symbols lost because the input queue was full"),
            Field("stray", 8, 8, "data outside packets, and reserved control codes"),
            Field("framing", 16, 8, "packets cut short, commands and replies cut short"),
            Field("reply_lost", 24, 8, "replies lost because no one took the earlier ones"),
        ),
    ),
    Register(
        "TX_PROGRESS",
        0x64,
        "r",
        "how far fiber out has come",
        (Field("bytes", 0, 20, "data bytes sent since the last start of packet, checksums included, modulo 2**20"),),
    ),
    Register(
        "TX_THRESHOLD",
        0x68,
        "rw",
        "raises TX_THRESHOLD when TX_PROGRESS.bytes reaches it; 0: never",
        (Field("bytes", 0, 20, "bytes"),),
    ),
    Register(
        "RX_AREA",
        0x6C,
        "w",
        "adds the area at RX_ADDRESS to those of the next packet that is stored (scatter)",
        (Field("length", 0, 20, "bytes, from 0"),),
        ("length", Right.WRITE),
    ),
    Register(
        "RX_PROGRESS",
        0x70,
        "r",
        "how far fiber in has come",
        (Field("bytes", 0, 20, "bytes of the packet stored, or about to be"),),
    ),
    Register(
        "RX_THRESHOLD",
        0x74,
        "rw",
        "raises RX_THRESHOLD when RX_PROGRESS.bytes reaches it; 0: never",
        (Field("bytes", 0, 20, "bytes"),),
    ),
    Register(
        "RX_MODE",
        0x78,
        "rw",
        "how packets are taken that open from now on",
        (
            Field("check", 0, 2, "their checksum: 0 CRC-32, 1 Internet checksum, 2 none; 3 is refused"),
            Field("direct", 8, 1, "software takes the symbols itself, by RX_QUEUE"),
            Field(
                "skip",
                16,
                5,
                "bytes at the packet's begin that the Internet checksum does not cover; over 16 is refused",
            ),
        ),
    ),
    Register(
        "RX_QUEUE",
        0x7C,
        "r",
        "the oldest symbol of the input queue, while RX_MODE.direct is 1; reading it takes it out",
        (
            Field("symbol", 0, 9, "the symbol"),
            Field("lost", 16, 1, "symbols were lost just before it"),
            Field("valid", 31, 1, "there was a symbol"),
        ),
    ),
    Register("RX_COUNT", 0x80, "r", "symbols that have arrived, idle not counted, modulo 2**32"),
    Register("TX_COUNT", 0x84, "r", "symbols that the fiber has taken, modulo 2**32"),
    Register(
        "RX_SUM",
        0x88,
        "r",
        "Internet checksum of the packet so far, without its checksum",
        (Field("sum", 0, 16, "the checksum"),),
    ),
    Register(
        "IRQ_VECTOR",
        0x8C,
        "r",
        "the interrupt that comes first of those that raise the interrupt line",
        (
            Field("number", 0, 5, "its number, as in IRQ_PENDING"),
            Field("level", 8, LEVEL_BITS, "its level"),
            Field("valid", 31, 1, "there is one"),
        ),
    ),
    Register(
        "IRQ_THRESHOLD",
        0x90,
        "rw",
        "only interrupts of a higher level raise the line",
        (Field("level", 0, LEVEL_BITS, "level; 0 after reset"),),
    ),
    *(
        Register(name, 0x94 + 4 * part, "rw", "levels of interrupts; 1 after reset", _level_fields(part))
        for part, name in enumerate(LEVEL_REGISTERS)
    ),
    Register(
        "CONFIG",
        0x9C,
        "r",
        "what the board has",
        (
            Field("data", 0, 5, "bytes of data memory: a power of 2"),
            Field("program", 8, 5, "bytes of program RAM: a power of 2"),
            Field("pages", 16, 4, "pages in the protection table: a power of 2"),
            Field("domains", 20, 3, "protection domains: a power of 2"),
            Field("vme", 31, 1, "it has VME"),
        ),
    ),
    *TIMER_PAGE_REGISTERS,
    *VME_REGISTERS,
    *KERNEL_REGISTERS,
)

REG = {r.name: r for r in REGISTERS}

"""The address map of the iPSC/2's node: memory, registers, fields, interrupt numbers.

Plain Python that imports nothing of the hardware: gateware, software, tests and documentation all read the map from
here. ``docs/ipsc2-node.md`` explains it. The map is ours; the papers give none.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from ...cab.fields import Field

__all__ = [
    "ADDRESS_BITS",
    "BASE",
    "CPU_CYCLES",
    "DMA_CYCLES",
    "Irq",
    "MEMORY_BYTES",
    "REG",
    "REGISTERS",
    "NodeRegister",
    "WORDS_BITS",
]

#: Bits of a byte address on the CPU bus: 16 Mbyte.
ADDRESS_BITS = 24
#: Bits of a number of words of 32 bits.
WORDS_BITS = ADDRESS_BITS - 2
#: First byte address of the registers; memory begins at 0.
BASE = 0xFFF000
#: Memory of a node that is simulated; Node and Board take other sizes, too.
MEMORY_BYTES = 1 << 20
#: Cycles of 62.5 ns that an access of the CPU has the bus: two of the 80386, two wait states of the DRAM (node paper,
#: 2.3.2).
CPU_CYCLES = 4
#: The same for a word of DMA: 4 bytes in 375 ns are 10.7 Mbyte/s (node paper, 2.4.1).
DMA_CYCLES = 6


class Irq(IntEnum):
    """Interrupts: bit numbers in IRQ_PENDING and IRQ_ENABLE. ARRIVED ends with the state that it reports, the others by
    a 1 written to IRQ_PENDING."""

    ARRIVED = 0  # IN_RESULT tells of a message
    SENT = 1  # a message is in the network as a whole
    REFUSED = 2  # a message was refused by the router
    ABORTED = 3  # a message that was given up has ended
    CHECKSUM = 4  # a message has arrived bad
    TIMER = 5  # TIMER_NOW is TIMER_COMPARE


@dataclass(frozen=True)
class NodeRegister:
    """A word of the registers: ``offset`` in bytes, ``access`` one of r, w, rw."""

    name: str
    offset: int
    access: str
    purpose: str
    fields: tuple[Field, ...] = field(default=())

    @property
    def address(self):
        """Its byte address."""
        return BASE + self.offset

    def field(self, name):
        """The field of that name; KeyError if there is none."""
        return {each.name: each for each in self.fields}[name]


def _irqs():
    return tuple(Field(irq.name.lower(), int(irq), 1, f"interrupt {irq.name}") for irq in Irq)


_PLACE = (Field("words", 0, WORDS_BITS, "words of 32 bits"),)

REGISTERS = (
    NodeRegister("IRQ_PENDING", 0x00, "rw", "interrupts that wait; 1 clears an event", _irqs()),
    NodeRegister(
        "IN_RESULT",
        0x04,
        "r",
        "the message that has arrived; 0 while ARRIVED is not pending",
        (
            Field("words", 0, WORDS_BITS, "words stored, in the head and behind it in the body"),
            Field("too_long", 27, 1, "the message had more words than there was place for; the rest was dropped"),
            Field("in_body", 28, 1, "the body has been used: IN_BODY is over"),
            Field("bad", 29, 1, "the checksum was wrong, or words were lost"),
            Field("cut", 30, 1, "the message has ended without its EOM, or with half a word"),
            Field("valid", 31, 1, "there is a message"),
        ),
    ),
    NodeRegister(
        "STATUS",
        0x08,
        "r",
        "what goes on",
        (
            Field("out_areas", 0, 3, "areas of OUT_AREA that wait or are being sent"),
            Field("out_busy", 4, 1, "the serializer has a message"),
            Field("asking", 5, 1, "it asks for the channel"),
            Field("granted", 6, 1, "it has the channel"),
            Field("allowed", 7, 1, "allow data: the destination is ready"),
            Field("receiving", 8, 1, "a message is coming in from the network"),
            Field("armed", 9, 1, "there is a place for the next message, or it is being filled"),
            Field("in_words", 16, 8, "words that wait in the FIFO for DMA in"),
            Field("out_words", 24, 8, "words that wait in the FIFO for the serializer"),
        ),
    ),
    NodeRegister("IRQ_ENABLE", 0x0C, "rw", "interrupts that raise the CPU's interrupt line", _irqs()),
    NodeRegister(
        "CONTROL",
        0x10,
        "w",
        "recovery",
        (
            Field("abort", 0, 1, "the message that is being sent is given up"),
            Field("drop", 1, 1, "the message that is coming in is given up"),
            Field("reset", 2, 1, "resets the channels of DMA, their FIFOs, serializer, deserializer and router"),
        ),
    ),
    NodeRegister("TIMER_NOW", 0x14, "r", "cycles since reset, modulo 2**32"),
    NodeRegister("TIMER_COMPARE", 0x18, "rw", "writing it arms the timer, for the cycle in which TIMER_NOW is this"),
    NodeRegister("TIMER_STOP", 0x1C, "w", "writing it disarms the timer"),
    NodeRegister("OUT_ADDRESS", 0x20, "rw", "byte address of the next area to send"),
    NodeRegister(
        "OUT_AREA",
        0x24,
        "w",
        "sends an area of memory at OUT_ADDRESS; at most 4 wait",
        (*_PLACE, Field("last", 31, 1, "the message ends with this area")),
    ),
    NodeRegister("IN_BODY_ADDRESS", 0x28, "rw", "byte address of the place for what does not fit into the head"),
    NodeRegister("IN_BODY", 0x2C, "rw", "size of the place at IN_BODY_ADDRESS; a message that uses it ends it", _PLACE),
    NodeRegister("IN_HEAD_ADDRESS", 0x30, "rw", "byte address of the place for the next message"),
    NodeRegister(
        "IN_HEAD", 0x34, "w", "size of the place at IN_HEAD_ADDRESS; releases IN_RESULT and arms DMA in", _PLACE
    ),
)

#: Name → register.
REG = {register.name: register for register in REGISTERS}

"""Registers of the VME interface: the third page of the register region.

Plain Python that imports nothing of the hardware. Source: "The Design of Nectar" (1989), sections 5.1 and 5.2 (DMA to
and from VME memory, VME interrupts); the registers are ours.
"""

from ..fields import Field, Register
from ..regions import Right
from .numbers import LEVELS

__all__ = ["VME_LENGTH_BITS", "VME_LIST_DEPTH", "VME_REG", "VME_REGISTERS"]

#: Bits of a length, as everywhere on the CAB.
VME_LENGTH_BITS = 20
#: Entries of the VME DMA list.
VME_LIST_DEPTH = 16


def _entry():
    return (
        Field("length", 0, VME_LENGTH_BITS, "bytes, from 0"),
        Field(
            "modifier", 20, 6, "address modifier; a block transfer's: blocks wherever they fit, else single transfers"
        ),
        Field("half", 26, 1, "transfers of at most 16 bits"),
        Field("notify", 31, 1, "count it in VD_STATUS.done and raise VME_DONE when it has ended"),
    )


# fmt: off
VME_REGISTERS = (
    Register("VD_STATUS", 0x800, "r", "state of the VME DMA list", (
        Field("free", 0, 5, "entries that may still be written"),
        Field("busy", 8, 1, "an entry is being worked on"),
        Field("owner", 9, 1, "the CAB is master of the VME bus"),
        Field("done", 16, 8, "notify entries done since reset, modulo 256"),
    )),
    Register("VD_ADDRESS", 0x804, "rw", "bus address of the first byte of the next entry, in data memory"),
    Register("VD_REMOTE", 0x808, "rw", "VME byte address of the next entry"),
    Register("VD_SEND", 0x80C, "w", "adds an entry: from data memory to VME", _entry(), ("length", Right.READ)),
    Register("VD_FETCH", 0x810, "w", "adds an entry: from VME to data memory", _entry(),
             ("length", Right.WRITE)),
    Register("VD_PROGRESS", 0x814, "r", "bytes of the entry at work, or of the last one, that have arrived", (
        Field("bytes", 0, VME_LENGTH_BITS, "those before them have arrived too"),
    )),
    Register("VD_THRESHOLD", 0x818, "rw", "VME_THRESHOLD is raised when VD_PROGRESS reaches it; 0: never", (
        Field("bytes", 0, VME_LENGTH_BITS, "bytes"),
    )),
    Register("VD_CONTROL", 0x81C, "w", "recovery", (
        Field("stop", 0, 1, "empty the list; the entry at work ends after the transfer under way"),
    )),
    Register("VD_RESULT", 0x820, "rw", "how the list ended before its end; any write forgets it", (
        Field("berr", 0, 1, "a slave, or the bus timer, answered with BERR*"),
        Field("timeout", 1, 1, "nobody answered, or the bus was not granted"),
        Field("stopped", 2, 1, "software stopped it"),
    )),
    Register("VME_WINDOW", 0x824, "rw", "where the CPU's window lies on the VME bus", (
        Field("modifier", 0, 6, "address modifier of the CPU's accesses"),
        Field("page", 23, 9, "address bits 31 to 23"),
    )),
    Register("VME_INTERRUPT", 0x828, "rw", "interrupts to the node", (
        Field("vector", 0, 8, "status/ID that the handler is to read; reads as 0"),
        Field("level", 8, 3, f"1 to {LEVELS}: raise it; reads as 0"),
        Field("pending", 16, LEVELS, "bit n - 1: level n waits for its acknowledgment; read only"),
    )),
    Register("VME_BELL", 0x82C, "w", "any write raises VME_BELL: how the node calls the CAB"),
)
# fmt: on

VME_REG = {r.name: r for r in VME_REGISTERS}

"""The numbers that the C++ core shares with Python, each written once, in Python: ``header`` makes C++ of them.

Numbers of the boards come from the modules of numbers in ``hdl``; those of the calls between Python and the core stand
here. ``build`` writes the header into the folder in which it compiles, as ``nectar_numbers.h``.
"""

from enum import IntEnum

from ..hdl.cab.addresses import (
    CRC_BYTES,
    HEADER_BYTES,
    ID_VALUE,
    LENGTH_BITS,
    REG,
    REGIONS,
    RX_LIST_DEPTH,
    TX_LIST_DEPTH,
    Check,
    Irq,
)
from ..hdl.cab.kernel_registers import KERNEL_PAGE
from ..hdl.cab.regions import ADDRESS_BITS, DOMAIN_BITS, DOMAINS, KERNEL, PAGE_BITS, PAGES, AccessKind, Right
from ..hdl.cab.timer_registers import TIMERS
from ..hdl.cab.vme.numbers import (
    BLOCK_BYTES,
    GRANT_NS,
    LEVELS,
    NODE_MEMORY,
    NODE_MEMORY_BYTES,
    NODE_PAGE_BYTES,
    NODE_PAGES,
    TIMEOUT_NS,
    Modifier,
    Ns,
)
from ..hdl.cab.vme.registers import VME_LIST_DEPTH
from ..hdl.host.events import (
    EVENT,
    EVENT_ALIGN,
    HEAD_BYTES,
    QUEUE_STEP,
    EventGroup,
    EventKind,
    FaultMark,
    PacketMark,
    ReceivedMark,
    VmeMark,
)
from ..hdl.host.numbers import RESET_EDGES, Level, OperationKind
from ..hdl.hub import commands, monitor_map
from ..hdl.hub.profile import PROTOTYPE as PROTOTYPE_HUB
from ..hdl.ipsc2 import formats
from ..hdl.link.code4b5b import DATA, VIOLATION, WORD_BITS
from ..hdl.link.symbol import ANY_HUB, COMMAND_LENGTH, CONTROL_BIT, MAX_PACKET, Control
from . import texts
from .profile import PROTOTYPE
from .wiring import DEFAULT_LENGTH_M, PS_PER_METRE

__all__ = [
    "DISARMED",
    "FILE",
    "OPERATION_WORDS",
    "Code",
    "FaultEffect",
    "FaultWord",
    "FstFunction",
    "Result",
    "SymbolClass",
    "Word",
    "header",
]

#: Name of the header.
FILE = "nectar_numbers.h"
#: What a CAB's ``wake_in`` shows when no timer is armed (docs/cab.md).
DISARMED = 0xFFFF_FFFF
#: Words of an operation of the software, as ``Engine.answer`` gives them: kind, address, size, value.
OPERATION_WORDS = 4
#: Frames on links of lines: pairs of each, what begins them, EOM, and what is put to a pair that has a strobe.
_LINES = {
    "LINE_NIBBLE_PAIRS": formats.NIBBLE_PAIRS,
    "LINE_PROBE_PAIRS": formats.SHORT_PROBE_PAIRS,
    "LINE_WORD_PAIRS": formats.WORD_PAIRS,
    "LINE_NIBBLE_START": formats.NIBBLE_START,
    "LINE_DATA_START": formats.DATA_START,
    "LINE_EOM": formats.word(0, end=True)[formats.RDY_PLACE],
    "LINE_STROBE": 1 << formats.PAIR_BITS,
}


class Code(IntEnum):
    """Why ``Engine.run`` has returned."""

    TIME = 0  # the time given is reached
    QUIET = 1  # nothing can ever happen again
    PAUSE = 2  # some 50 ms of real time have passed; call again
    RESUME = 3  # a level of a CAB's software gets the result of its await
    INTERRUPT = 4  # a CAB's interrupt handler is to be called
    UNHANDLED = 5  # a store was refused and no await of the software follows
    FAULT = 6  # software or board have broken the rules


class Result(IntEnum):
    """What a resumed level gets."""

    NOTHING = 0
    NUMBER = 1
    BYTES = 2
    BUS_ERROR = 3


class FaultEffect(IntEnum):
    """What a fault does to symbols (docs/faults.md)."""

    ERRORS = 0
    LOST = 1
    DOUBLED = 2
    CUT = 3
    DELAY = 4


class SymbolClass(IntEnum):
    """Which symbols a fault strikes."""

    SYMBOL = 0
    DATA = 1
    START = 2
    END = 3
    READY = 4
    COMMAND = 5
    REPLY = 6


class Word(IntEnum):
    """Words of the exchange: after a run whose turn it is and what goes with it, then what goes into a run."""

    BOARD = 0
    LEVEL = 1
    RESULT = 2
    NUMBER = 3  # RESUME with a number; with bytes, and of a FAULT's text: the address
    LENGTH = 4  # of the bytes
    ADDRESS = 5  # of a bus error
    WRITE = 6  # whether that was a store
    TIME_PS = 7
    UNTIL = 8  # how far to run, in picoseconds
    WORDS = 9  # of the operations that the software whose turn it was has left; -1: it was nobody's turn
    BYTES = 10  # of its block writes


class FaultWord(IntEnum):
    """Words by which a fault on a direction of a fiber is told."""

    KEY = 0  # of its random numbers
    THRESHOLD = 1  # rate * 2**53; -1: by place
    NTH = 2
    TIMES = 3
    LENGTH = 4
    FROM = 5  # ps
    UNTIL = 6  # ps
    DELAY = 7  # ps


class FstFunction(IntEnum):
    """What the writer of FST is asked for (``waves``, fst.cpp): names in its library, less ``fstWriter``."""

    Create = 0
    Close = 1
    SetTimescaleFromString = 2
    SetScope = 3
    SetUpscope = 4
    CreateVar = 5
    EmitTimeChange = 6
    EmitValueChange = 7
    EmitVariableLengthValueChange = 8


#: Numbers of the HUB's commands and of its monitor that are not in an enumeration.
_HUB_BYTES = (
    "FORCE",
    "HELLO",
    "HELLO_ASK",
    "HELLO_HUB",
    "KIND_UNKNOWN",
    "REPLY",
    "RETRY",
    "STATUS_IN_USE",
    "SUPERVISOR",
)
_HUB_BYTES += ("TEST",)
_MONITOR = ("COUNTER_BITS", "EVENT_DEPTH", "TIME_BITS", "EVENT_BYTES", "POP", "VERSION")
_TYPES = {"q": "std::int64_t", "I": "std::uint32_t", "H": "std::uint16_t", "B": "std::uint8_t"}


def _enum(made, of="int", strict=True):
    """An enumeration as C++: ``enum class`` unless its names are to stand alone."""
    members = ", ".join(f"{member.name} = {int(member):#x}" for member in made)
    return f"enum {'class ' * strict}{made.__name__} : {of} {{ {members} }};"


def _struct(name, members):
    """A structure: ``members`` are name → C++ type."""
    return f"struct {name} {{ {' '.join(f'{of} {member};' for member, of in members.items())} }};"


def _constants(of, values):
    """Constants of the type ``of``: ``values`` are name → number."""
    return [f"constexpr {of} {name} = {int(value):#x};" for name, value in values.items()]


def header():
    """Text of the header. Namespaces: ``vme`` (times in ps), ``region`` (where each begins, and its bytes), ``reg``
    (addresses, and masks of fields by REGISTER_FIELD), ``irq`` (masks), ``cab``, ``hub`` (commands, monitor),
    ``prototype`` (times in ps)."""
    fields = {
        f"{register.name}_{field.name.upper()}": field.mask for register in REG.values() for field in register.fields
    }
    lines = [
        "// Written by sim/numbers.py.",
        "#pragma once",
        "#include <cstddef>",
        "#include <cstdint>",
        "namespace nectar {",
        _enum(Code),
        _enum(Result, "std::int64_t"),
        _enum(FaultEffect),
        _enum(SymbolClass),
        _enum(FstFunction),
        _enum(OperationKind, "std::uint8_t"),
        _enum(EventKind, "std::uint8_t"),
        _enum(EventGroup, "unsigned"),
        _enum(PacketMark, "unsigned"),
        _enum(ReceivedMark, "unsigned"),
        _enum(VmeMark, "unsigned"),
        _enum(FaultMark, "unsigned"),
        _enum(Level, strict=False),
        _enum(Control, "std::uint16_t"),
        _struct("Exchange", {word.name.lower(): _TYPES["q"] for word in Word}),
        _struct("FaultWords", {word.name.lower(): _TYPES["q"] for word in FaultWord}),
        _struct("Event", {name: _TYPES[code] for name, code in EVENT.items()}),
        *_constants(
            "std::size_t",
            {
                "OPERATION_WORDS": OPERATION_WORDS,
                "EVENT_ALIGN": EVENT_ALIGN,
                "HEAD_BYTES": HEAD_BYTES,
                "QUEUE_STEP": QUEUE_STEP,
            },
        ),
        *_constants("std::int64_t", {"RESET_EDGES": RESET_EDGES}),
        *_constants("unsigned", {"WORD_BITS": WORD_BITS, "COMMAND_LENGTH": COMMAND_LENGTH}),
        *_constants("std::uint16_t", {"CONTROL_BIT": CONTROL_BIT, "VIOLATION": VIOLATION}),
        *_constants("std::uint32_t", {"DISARMED": DISARMED}),
        *_constants("std::uint8_t", _LINES),
        f"constexpr std::uint8_t CODE_GROUPS[] = {{ {', '.join(map(hex, DATA))} }};",
        "namespace vme {",
        *_constants("std::uint8_t", {member.name: member for member in Modifier}),
        *_constants("std::int64_t", {f"{name}_PS": ns * 1000 for name, ns in Ns.__members__.items()}),
        *_constants("std::int64_t", {"GRANT_PS": GRANT_NS * 1000, "TIMEOUT_PS": TIMEOUT_NS * 1000}),
        *_constants("std::uint32_t", {"BLOCK_BYTES": BLOCK_BYTES, "LEVELS": LEVELS}),
        *_constants(
            "std::uint32_t",
            {
                "NODE_MEMORY": NODE_MEMORY,
                "NODE_MEMORY_BYTES": NODE_MEMORY_BYTES,
                "NODE_PAGE_BYTES": NODE_PAGE_BYTES,
                "NODE_PAGES": NODE_PAGES,
            },
        ),
        "}",
        "namespace region {",
        *_constants("std::uint32_t", {name.upper(): region.base for name, region in REGIONS.items()}),
        *_constants("std::uint32_t", {f"{name.upper()}_BYTES": region.size for name, region in REGIONS.items()}),
        "}",
        "namespace reg {",
        *_constants("std::uint32_t", {register.name: register.address for register in REG.values()} | fields),
        "}",
        "namespace irq {",
        *_constants("std::uint32_t", {irq.name: 1 << irq for irq in Irq}),
        "}",
        "namespace cab {",
        _enum(Check, "std::uint8_t", strict=False),
        _enum(Right, "std::uint8_t", strict=False),
        _enum(AccessKind, "std::uint8_t"),
        *_constants(
            "std::uint32_t",
            {
                "HEADER_BYTES": HEADER_BYTES,
                "CRC_BYTES": CRC_BYTES,
                "TX_LIST_DEPTH": TX_LIST_DEPTH,
                "RX_LIST_DEPTH": RX_LIST_DEPTH,
                "VME_LIST_DEPTH": VME_LIST_DEPTH,
                "LENGTH_BITS": LENGTH_BITS,
                "ID_VALUE": ID_VALUE,
                "KERNEL_PAGE": KERNEL_PAGE,
                "ADDRESS_BITS": ADDRESS_BITS,
                "PAGE_BITS": PAGE_BITS,
                "PAGES": PAGES,
                "DOMAINS": DOMAINS,
                "DOMAIN_BITS": DOMAIN_BITS,
                "KERNEL": KERNEL,
                "TIMERS": TIMERS,
            },
        ),
        "}",
        "namespace hub {",
        *_constants("std::uint32_t", {op.name: op for op in commands.Op} | {"ANY_HUB": ANY_HUB}),
        *_constants("std::uint8_t", {name: getattr(commands, name) for name in _HUB_BYTES}),
        *_constants("unsigned", {name: getattr(commands, name) for name in ("WATCHDOG_DEFAULT", "WATCHDOG_MAX")}),
        *_constants("unsigned", {name: getattr(monitor_map, name) for name in _MONITOR}),
        *_constants("unsigned", {"MAX_PACKET": MAX_PACKET}),
        *_constants("unsigned", {"TRANSFER": PROTOTYPE_HUB.transfer, "SET_UP": PROTOTYPE_HUB.setup_and_transfer}),
        _enum(commands.Error, "std::uint8_t", strict=False),
        *(_enum(made, "std::uint8_t") for made in (monitor_map.CounterId, monitor_map.Event, monitor_map.Select)),
        *(_enum(made, "std::uint8_t") for made in (monitor_map.Clear, monitor_map.Flag)),
        "}",
        *texts.lines(),
        "namespace prototype {",
        *_constants(
            "std::int64_t",
            {
                "HUB_PERIOD_PS": PROTOTYPE.hub_period_ps,
                "CAB_PERIOD_PS": PROTOTYPE.cab_period_ps,
                "SYMBOL_PS": PROTOTYPE.symbol_ps,
                "DELAY_PS": DEFAULT_LENGTH_M * PS_PER_METRE,
            },
        ),
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"

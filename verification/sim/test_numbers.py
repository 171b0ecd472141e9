"""The header of numbers that the C++ core is compiled with: a C++ compiler finds in it what Python has, and no C++ file
has a number of its own."""

import re
import subprocess
from enum import IntEnum
from importlib.resources import files

import pytest

from nectar.hdl.cab import addresses, kernel_registers, regions, timer_registers
from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.cab.vme.numbers import BLOCK_BYTES, GRANT_NS, LEVELS, Modifier, Ns
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH
from nectar.hdl.host.events import EVENT_ALIGN, HEAD_BYTES, EventGroup, EventKind, FaultMark, PacketMark
from nectar.hdl.host.numbers import RESET_EDGES, Level, OperationKind
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.code4b5b import DATA, VIOLATION, WORD_BITS
from nectar.hdl.link.symbol import ANY_HUB, COMMAND_LENGTH, CONTROL_BIT, Control
from nectar.sim import build, numbers
from nectar.sim.machines.nectar import boards_of
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import RECORD
from nectar.sim.wiring import DEFAULT_LENGTH_M, PS_PER_METRE
from nectar.software import door

ENUMS = (
    *(numbers.Code, numbers.Result, numbers.FaultEffect, numbers.SymbolClass),
    *(EventKind, EventGroup, FaultMark, PacketMark),
    *(numbers.FstFunction, OperationKind, Control, Level),
)
#: Constants of the CAB.
CAB = {
    addresses: ("CRC_BYTES", "HEADER_BYTES", "ID_VALUE", "LENGTH_BITS", "RX_LIST_DEPTH", "TX_LIST_DEPTH"),
    kernel_registers: ("KERNEL_PAGE",),
    regions: ("ADDRESS_BITS", "DOMAINS", "DOMAIN_BITS", "KERNEL", "PAGES", "PAGE_BITS"),
    timer_registers: ("TIMERS",),
}


def expected():
    """C++ expression → its value."""
    found = {f"{made.__name__}::{member.name}": int(member) for made in ENUMS for member in made}
    found |= {f"reg::{register.name}": register.address for register in REG.values()}
    found |= {
        f"reg::{register.name}_{field.name.upper()}": field.mask
        for register in REG.values()
        for field in register.fields
    }
    found |= {f"region::{name.upper()}": region.base for name, region in REGIONS.items()}
    found |= {f"region::{name.upper()}_BYTES": region.size for name, region in REGIONS.items()}
    found |= {
        f"cab::{made.__name__}::{member.name}": int(member)
        for made in (addresses.Check, regions.Right, regions.AccessKind)
        for member in made
    }
    found |= {f"cab::{name}": getattr(module, name) for module, names in CAB.items() for name in names}
    found |= {f"irq::{irq.name}": 1 << irq for irq in Irq}
    found |= {f"hub::{op.name}": int(op) for op in Op}
    found |= {f"vme::{modifier.name}": int(modifier) for modifier in Modifier}
    found |= {f"vme::{name}_PS": 1000 * ns for name, ns in Ns.__members__.items()}
    found |= {f"CODE_GROUPS[{half}]": group for half, group in enumerate(DATA)}
    found |= {f"offsetof(Exchange, {word.name.lower()})": 8 * word for word in numbers.Word}
    found |= {f"offsetof(FaultWords, {word.name.lower()})": 8 * word for word in numbers.FaultWord}
    return found | {
        "sizeof(Exchange)": 8 * len(numbers.Word),
        "sizeof(FaultWords)": 8 * len(numbers.FaultWord),
        "sizeof(Event)": RECORD.size,
        "offsetof(Event, a)": 12,
        "offsetof(Event, b)": 16,
        "offsetof(Event, size)": 28,
        "EVENT_ALIGN": EVENT_ALIGN,
        "HEAD_BYTES": HEAD_BYTES,
        "OPERATION_WORDS": len(door.Operation._fields),
        "RESET_EDGES": RESET_EDGES,
        "WORD_BITS": WORD_BITS,
        "COMMAND_LENGTH": COMMAND_LENGTH,
        "CONTROL_BIT": CONTROL_BIT,
        "VIOLATION": VIOLATION,
        "DISARMED": 0xFFFF_FFFF,
        "hub::ANY_HUB": ANY_HUB,
        "vme::BLOCK_BYTES": BLOCK_BYTES,
        "vme::GRANT_PS": 1000 * GRANT_NS,
        "vme::LEVELS": LEVELS,
        "cab::VME_LIST_DEPTH": VME_LIST_DEPTH,
        "prototype::HUB_PERIOD_PS": PROTOTYPE.hub_period_ps,
        "prototype::CAB_PERIOD_PS": PROTOTYPE.cab_period_ps,
        "prototype::SYMBOL_PS": PROTOTYPE.symbol_ps,
        "prototype::DELAY_PS": DEFAULT_LENGTH_M * PS_PER_METRE,
    }


def compiled(folder, text):
    """What the C++ compiler says of a file that includes the header; empty if nothing."""
    (folder / numbers.FILE).write_text(numbers.header())
    source = folder / "numbers.cpp"
    source.write_text(f'#include "{numbers.FILE}"\nusing namespace nectar;\n{text}')
    command, _ = build.compiler()
    done = subprocess.run(
        [*command, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-invalid-offsetof", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
    )
    return done.stderr


def test_the_compiler_finds_the_numbers_of_python(tmp_path):
    lines = [f"static_assert(static_cast<long long>({name}) == {value});" for name, value in expected().items()]
    assert len(lines) > 400
    assert not compiled(tmp_path, "\n".join(lines))


def test_the_compiler_would_find_a_wrong_number(tmp_path):
    assert "static assertion failed" in compiled(tmp_path, "static_assert(RESET_EDGES == 3);")


def test_levels_and_kinds_of_the_door_are_those_of_the_header():
    assert (door.THREAD, door.INTERRUPT) == tuple(Level) and door.OperationKind is OperationKind
    assert [int(kind) for kind in OperationKind] == list(range(11))


def test_no_file_of_the_core_has_a_number_of_its_own():
    """Neither an enumeration or structure of the header, nor a symbol, address or time."""
    made = re.findall(r"^(?:enum (?:class )?|struct )(\w+)", numbers.header(), re.M)
    assert {"Code", "Exchange", "Level", "Event"} <= set(made)
    own = re.compile(rf"\b(?:enum(?: class)?|struct) (?:{'|'.join(made)})\b[^;]*{{")
    shared = {CONTROL_BIT, VIOLATION, *Control, *(1000 * ns for ns in Ns)}
    shared |= {register.address for register in REG.values()} | {region.base for region in REGIONS.values()} - {0}
    shared |= {PROTOTYPE.hub_period_ps, PROTOTYPE.cab_period_ps, PROTOTYPE.symbol_ps, DEFAULT_LENGTH_M * PS_PER_METRE}
    for path in files("nectar.sim").iterdir():
        if path.name.endswith((".cpp", ".h")):
            text = re.sub(r"//.*", "", path.read_text())
            # Small decimal numbers count something else.
            words = re.findall(r"\b(?:0[xX][\dA-Fa-f']+|[1-9][\d']{3,})\b", text)
            found = {int(word.replace("'", ""), 0) for word in words}
            assert not own.search(text) and not shared & found, path


def renumbered(made):
    """An enumeration with its numbers one higher."""
    return IntEnum(made.__name__, {member.name: member + 1 for member in made})


@pytest.mark.parametrize(
    "name, value",
    [
        ("RESET_EDGES", 5),
        ("VIOLATION", 0x1FE),
        ("OperationKind", renumbered(OperationKind)),
        ("Code", renumbered(numbers.Code)),
        ("Word", IntEnum("Word", ["NEW", *(word.name for word in numbers.Word)], start=0)),
        ("EVENT", {**numbers.EVENT, "more": "I"}),
        ("REG", {**REG, "IRQ_ENABLE": REG["IRQ_PENDING"]}),
    ],
)
def test_a_number_changed_in_python_changes_the_header_and_the_key(monkeypatch, tmp_path, name, value):
    def key():
        return build.Build(boards_of((2,)), tmp_path, None).ours

    header, before = numbers.header(), key()
    assert numbers.header() == header and key() == before
    monkeypatch.setattr(numbers, name, value)
    assert numbers.header() != header and key() != before

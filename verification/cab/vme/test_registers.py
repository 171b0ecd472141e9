"""The VME interface's registers: their place in the map, and what they share with the rest of it."""

import pytest

from nectar.hdl.cab.addresses import LENGTH_BITS, REGISTERS
from nectar.hdl.cab.fields import Register
from nectar.hdl.cab.vme.numbers import Modifier, cycles
from nectar.hdl.cab.vme.registers import VME_LENGTH_BITS, VME_LIST_DEPTH, VME_REG, VME_REGISTERS


def test_the_registers_are_words_of_the_third_page():
    """docs/vme.md: a page of their own, so that a domain can be given it without the others."""
    offsets = [register.offset for register in VME_REGISTERS]
    assert offsets == list(range(0x800, 0x800 + 4 * len(offsets), 4))
    others = {register.offset: register for register in REGISTERS if register not in VME_REGISTERS}
    assert not set(offsets) & set(others)
    assert all(isinstance(register, Register) for register in VME_REGISTERS)


@pytest.mark.parametrize("register", VME_REGISTERS, ids=lambda register: register.name)
def test_fields_do_not_overlap(register):
    """Every bit has one meaning at most."""
    taken = 0
    for field in register.fields:
        assert not taken & field.mask and field.mask < 1 << 32
        taken |= field.mask


def test_numbers_agree_with_the_rest_of_the_map():
    """A length has as many bits as everywhere; the free count can tell of the whole list."""
    assert VME_LENGTH_BITS == LENGTH_BITS
    assert VME_REG["VD_STATUS"].free.mask >= VME_LIST_DEPTH


def test_modifiers_tell_space_privilege_and_kind_by_their_bits():
    """ANSI/IEEE 1014, table of address modifiers."""
    for modifier in Modifier:
        space, privilege, kind = modifier.name.split("_")
        assert modifier >> 4 == (3 if space == "A24" else 0) and modifier & 8
        assert bool(modifier & 4) == (privilege == "SUPER")
        assert modifier & 3 == {"DATA": 1, "PROGRAM": 2, "BLOCK": 3}[kind]


@pytest.mark.parametrize(
    "ns, period_ps, expected", [(35, 62_500, 1), (35, 12_500, 3), (90, 62_500, 2), (100, 12_500, 8), (0, 12_500, 0)]
)
def test_a_time_becomes_the_least_number_of_cycles(ns, period_ps, expected):
    """docs/vme.md, the clock."""
    assert cycles(ns, period_ps) == expected

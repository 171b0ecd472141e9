"""What machines can do: each back end has the members of Machine and of the capabilities that it states, and no others;
where a capability is missing, one error says so."""

import contextlib
import inspect
import re

import pytest

from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.software import machine as door
from nectar.software.backends.cable.machine import CableMachine
from nectar.software.backends.cocotb.machine import CocotbMachine
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.errors import CapabilityError, ProgramError
from nectar.software.machine import Capability, Machine, require
from nectar.software.system import System
from nectar.verification.imports import ROOT, imported
from nectar.verification.software.helpers import BOARDS

CLASSES = (EngineMachine, CocotbMachine, CableMachine)
PROTOCOLS = {capability: getattr(door, f"MachineWith{capability.name.title()}") for capability in Capability}


def members(protocol):
    """Names that a Protocol asks for."""
    return {name for name in {*vars(protocol), *protocol.__annotations__} if not name.startswith("_")}


def has(made, name):
    """Whether a class gives its objects the member ``name``: in its body, or by storing it in ``__init__``."""
    return hasattr(made, name) or f"self.{name} = " in inspect.getsource(made.__init__)


def test_each_capability_has_a_page_of_members():
    assert set(PROTOCOLS) == set(Capability)
    for capability, protocol in PROTOCOLS.items():
        assert members(protocol) and protocol.__doc__.startswith(f"{capability.name}: ")


@pytest.mark.parametrize("made", CLASSES)
def test_a_machine_has_the_members_of_what_it_states(made):
    assert isinstance(made.capabilities, frozenset) and made.capabilities <= set(Capability)
    wanted = members(Machine).union(*(members(PROTOCOLS[capability]) for capability in made.capabilities))
    assert not {name for name in wanted if not has(made, name)}


@pytest.mark.parametrize("made", CLASSES)
def test_a_machine_that_has_all_members_of_a_capability_states_it(made):
    able = [each for each, protocol in PROTOCOLS.items() if all(has(made, name) for name in members(protocol))]
    assert set(able) == made.capabilities


def test_the_calls_take_what_the_page_says():
    made = EngineMachine
    for protocol in (Machine, *(PROTOCOLS[capability] for capability in made.capabilities)):
        for name in members(protocol):
            if inspect.isfunction(inspect.getattr_static(protocol, name, None)):
                assert inspect.signature(getattr(made, name)) == inspect.signature(getattr(protocol, name)), name


@pytest.mark.parametrize("boards", BOARDS)
def test_the_members_are_there_when_it_is_made(boards):
    with contextlib.closing(EngineMachine(load("hub:2"), PROTOTYPE, boards=boards)) as machine:
        for protocol in (Machine, *(PROTOCOLS[capability] for capability in machine.capabilities)):
            assert all(hasattr(machine, name) for name in members(protocol))


@pytest.mark.parametrize("capability", Capability)
def test_what_is_missing_is_told(capability):
    for made in CLASSES:
        if capability in made.capabilities:
            require(made, capability)
            continue
        with pytest.raises(CapabilityError) as caught:
            require(made, capability)
        assert str(caught.value) == (
            f"{made.__name__} has no {capability.value}: take another back end (docs/software.md, 'The back ends')"
        )


class Bare(EngineMachine):
    """The engine's machine without what a machine need not have."""

    capabilities = frozenset()
    fibers = hub_ports = plan = property(lambda self: pytest.fail("was asked for"), lambda self, value: None)


def test_a_system_on_a_machine_without_capabilities_asks_for_none():
    shape = load("hub:2")
    with contextlib.closing(System.of(Bare(shape, PROTOTYPE, boards="fast"), shape)) as system:
        assert system.recorder is None
        with pytest.raises(CapabilityError, match="Bare has no nodes behind its CABs"):
            system.node("CAB1")
        with pytest.raises(CapabilityError, match="Bare has no faults on demand"):
            system.faults.cut("CAB1")
        with pytest.raises(ProgramError, match="no CAB 'CAB9'"):
            system.node("CAB9")


def test_the_table_of_the_manual_says_what_the_machines_state():
    """docs/software.md, "The back ends"."""
    page = (ROOT / "docs" / "software.md").read_text().partition("## The back ends")[2].partition("\n## ")[0]
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line[:1] == "|"]
    names = [cell.strip("`") for cell in head[2:]]
    assert set(names) == {capability.name for capability in Capability}
    told = {
        re.search(r"\w+Machine", row[1])[0]: {name for name, cell in zip(names, row[2:], strict=True) if cell}
        for row in rows
    }
    assert told == {made.__name__: {capability.name for capability in made.capabilities} for made in CLASSES}


def test_no_back_end_imports_another():
    folder = ROOT / "software" / "backends"
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert rooms == {"cable", "cocotb", "engine"}
    wrong = {
        str(path.relative_to(folder)): sorted(others)
        for room in rooms
        for path in (folder / room).glob("*.py")
        if (
            others := {
                name
                for name in imported(path)
                for other in rooms - {room}
                if f"{name}.".startswith(f"nectar.software.backends.{other}.")
            }
        )
    }
    assert not wrong

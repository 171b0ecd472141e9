"""Parameters of the HUB's components: bad ones are refused with a message that says why; all sizes become Verilog."""

import re

import pytest

from nectar.hdl.hub.commands import COMMANDS, commands_of
from nectar.hdl.hub.control.arbiter import Arbiter
from nectar.hdl.hub.control.controller import Controller
from nectar.hdl.hub.control.status_table import StatusTable
from nectar.hdl.hub.crossbar import Crossbar
from nectar.hdl.hub.hub import Hub
from nectar.hdl.hub.port.head import Head
from nectar.hdl.hub.port.input_port import InputPort
from nectar.hdl.hub.port.input_queue import InputQueue
from nectar.hdl.hub.profile import HUB_PROFILES, PROTOTYPE
from nectar.hdl.hub.reply_bus import ReplyBus
from nectar.hdl.verilog import convert


@pytest.mark.parametrize(
    "make",
    [Hub, Controller, Crossbar, ReplyBus, StatusTable, lambda ports: Head(ports, 0), lambda ports: InputPort(ports, 0)],
)
def test_a_hub_has_2_to_128_ports(make):
    """H1, docs/hub.md."""
    for ports in (1, 0, -16, 129):
        with pytest.raises(ValueError, match=f"2 to 128 ports, not {ports}"):
            make(ports)
    for ports in ("16", 16.0, None, True):
        with pytest.raises(TypeError, match="number of ports must be an int"):
            make(ports)
    for ports in (2, 128):
        make(ports)


@pytest.mark.parametrize("make", [Head, InputPort])
def test_a_port_is_one_of_the_hub(make):
    """A port's number is below the number of ports."""
    for port in (-1, 4):
        with pytest.raises(ValueError, match=f"a HUB of 4 ports has no port {port}"):
            make(4, port)
    with pytest.raises(TypeError, match="number of a port must be an int"):
        make(4, "2")


def test_the_profile_is_a_profile():
    """docs/hub.md, Timing."""
    with pytest.raises(TypeError, match="profile of a HUB must be a HubProfile, not 'prototype'"):
        Hub(profile="prototype")


def test_parts_and_queue_of_a_hub_are_what_it_can_have():
    """docs/hub.md, "Parts that may be left out"."""
    for part in ("monitor", "locks"):
        with pytest.raises(TypeError, match=f"whether a HUB has {part} must be True or False, not 0"):
            Hub(4, **{part: 0})
    for queue in (255, 4097, -1):
        with pytest.raises(ValueError, match=f"a queue of a HUB holds 256 to 4096 symbols, not {queue}"):
            Hub(4, queue=queue)
    for queue in ("512", True):
        with pytest.raises(TypeError, match="symbols in a queue of a HUB must be an int"):
            Hub(4, queue=queue)
    for queue in (256, 4096):
        assert Hub(4, queue=queue, monitor=False, locks=False).queue == queue


def test_the_commands_of_absent_parts_are_those_of_the_page():
    """docs/hub.md, "Parts that may be left out": ten commands of locks, three of the monitor."""
    names = {row.name for row in COMMANDS}
    without_locks = {row.name for row in commands_of(locks=False)}
    without_monitor = {row.name for row in commands_of(monitor=False)}
    assert names - without_monitor == {"monitor select reply", "monitor read reply", "monitor clear reply"}
    assert names - without_locks == {name for name in names if "lock" in name}
    assert len(names - without_locks) == 10
    assert {row.name for row in commands_of(monitor=False, locks=False)} == without_locks & without_monitor
    assert commands_of() == COMMANDS


@pytest.mark.parametrize("make", [InputQueue, lambda capacity: InputPort(4, 0, capacity)])
def test_a_queue_holds_some_symbols_at_least(make):
    """H8: room for a command, and for what the registers behind the memory hold."""
    with pytest.raises(ValueError, match="a queue must hold 9 symbols or more, not 3"):
        make(3)
    with pytest.raises(TypeError, match="capacity of a queue must be an int"):
        make("1024")


def test_an_arbiter_chooses_from_something():
    """Round robin."""
    with pytest.raises(ValueError, match="at least 1"):
        Arbiter(0)
    with pytest.raises(TypeError, match="count of an arbiter must be an int"):
        Arbiter(None)


def test_the_figures_of_the_prototype():
    """H2, H3."""
    assert HUB_PROFILES["prototype"] is PROTOTYPE
    assert (PROTOTYPE.setup_and_transfer, PROTOTYPE.transfer) == (10, 5)


@pytest.mark.parametrize(
    "ports",
    [
        2,
        3,
        pytest.param(5, marks=pytest.mark.nightly),
        pytest.param(16, marks=pytest.mark.nightly),
        pytest.param(32, marks=pytest.mark.nightly),
        pytest.param(64, marks=pytest.mark.nightly),
        pytest.param(128, marks=pytest.mark.nightly),
    ],
)
def test_every_size_becomes_verilog_with_the_specified_pins(ports):
    """H1: larger crossbars are foreseen; docs/hub.md, Pins."""
    header = re.search(r"^module hub\((.*?)\);", convert(Hub(ports), "hub"), re.M | re.S)
    pins = {pin.strip() for pin in header[1].split(",")}
    assert pins == {
        "clk",
        "rst",
        "hub_id",
        "idle",
        *(
            f"port_{n}__{pin}"
            for n in range(ports)
            for pin in ("rx__payload", "rx__valid", "tx__payload", "tx__valid", "tx__ready")
        ),
    }

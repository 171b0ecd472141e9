"""What the engine asks of the machine that it runs on."""

import pytest

from nectar.sim import host
from nectar.sim.engine import Engine
from nectar.sim.topology import load
from nectar.sim.wiring import TopologyError


def test_a_topology_that_does_not_fit_into_memory_is_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(host, "free_memory", lambda: 100_000_000)
    monkeypatch.setattr("nectar.sim.build.library", lambda *arguments: pytest.fail("the library was built"))
    line = (
        "^topology mesh:8x8: 64 HUBs and 64 CABs need about 131 Mbyte of memory, and 100 Mbyte are free; "
        "take a smaller topology$"
    )
    with pytest.raises(TopologyError, match=line):
        Engine(load("mesh:8x8"))


def test_memory_that_the_operating_system_does_not_tell_is_no_reason_to_refuse(monkeypatch):
    monkeypatch.setattr(host, "free_memory", lambda: None)
    host.check_memory(load("mesh:8x8"))


def test_there_are_cores_and_memory():
    assert host.cores() >= 1
    assert host.free_memory() is None or host.free_memory() > 1_000_000

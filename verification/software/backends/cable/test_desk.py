"""The cable back end with several boards, each a lone CAB: turns in their order, times of their own, circuits that
are packets."""

import contextlib
import os
import time

import pytest

from nectar.boards.simulated import DeskShape, SimulatedBoard
from nectar.hdl.host.numbers import Request
from nectar.sim.topology import Topology, load
from nectar.software.backends.cable.board import Board
from nectar.software.backends.cable.desk import OPTIONS
from nectar.software.backends.cable.line import Line, listen
from nectar.software.backends.cable.machine import CableMachine
from nectar.software.datalink.options import Options
from nectar.software.errors import CableError
from nectar.software.machine import STOPPED, TIME
from nectar.verification.software.helpers import simulated
from nectar.verification.software.test_engine_machine import run


@pytest.fixture(scope="module")
def desk():
    with SimulatedBoard(DeskShape()) as board:
        yield board


@pytest.fixture
def machine(desk):
    boards = {f"CAB{n}": Board(path) for n, path in enumerate(desk.paths, 1)}
    with contextlib.closing(CableMachine.desk(boards, load("hub:2"))) as machine:
        yield machine


def busy(machine, name, counts, cycles):
    """Software that has turn upon turn, ``cycles`` apart."""

    async def main():
        while True:
            machine.doors[name].spend(cycles)
            await machine.doors[name].now()
            counts[name] += 1

    return main()


@pytest.mark.nightly
def test_no_board_starves(machine):
    """docs/cable.md: each board has its turns, however many another has; between two runs all stand still, and the
    next goes on from there."""
    counts = {"CAB1": 0, "CAB2": 0}
    machine.start("CAB1", busy(machine, "CAB1", counts, 0))
    machine.start("CAB2", busy(machine, "CAB2", counts, 2000))
    for total in (30, 60):
        assert run(machine, lambda total=total: sum(counts.values()) >= total) == STOPPED
        assert not any(board.going for board in machine.boards)
        assert min(counts.values()) >= total // 6
    assert (
        machine.time_ps
        == max(board.time_ps for board in machine.boards)
        >= 2000 * counts["CAB2"] * machine.profile.cab_period_ps
    )


@pytest.mark.nightly
def test_each_cab_has_a_time_of_its_own(machine):
    """One computes; the other has nothing to do, so that its clock gets to the limit first, and the run is over."""

    async def wait():
        await machine.doors["CAB2"].wait()

    counts = {"CAB1": 0}
    machine.start("CAB1", busy(machine, "CAB1", counts, 10))
    machine.start("CAB2", wait())
    assert run(machine, until_ps=10**9) == TIME
    assert machine.time_ps == 10**9
    slow, fast = (board.time_ps for board in sorted(machine.boards, key=lambda board: board.names))
    assert slow < fast <= 10**9
    assert counts["CAB1"] > 0


def test_a_host_that_does_not_listen_hears_no_silence():
    """While the software of other CABs runs nobody listens; a board that could not be heard then has not stopped
    answering."""
    master, slave = os.openpty()
    with contextlib.closing(Line(os.ttyname(slave), patience=(0.3, 0.3), again=0.1)) as line:
        line.begin(Request.GO, [])
        time.sleep(0.5)
        assert line.answer() is None
        begin = time.monotonic()
        with pytest.raises(CableError, match="the board has stopped answering"):
            while line.answer() is None:
                listen([line])
        assert time.monotonic() - begin >= 0.3
    os.close(master)
    os.close(slave)


@pytest.mark.nightly
def test_a_cab_that_hangs_on_no_hub_is_refused(desk):
    topology = Topology("two").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2")
    with pytest.raises(
        CableError, match=r"^two: CAB1 hangs on no HUB, so that no HUB could take its packets; wire it to one$"
    ):
        CableMachine.desk({"CAB1": Board(desk.paths[0])}, topology)


@pytest.mark.parametrize("switching", ["circuit", "auto"])
def test_without_circuits_packets_take_their_place(switching):
    """docs/cable.md: what is sent by a circuit arrives all the same."""

    async def send(cab):
        await cab.datagram.send((2, 1), bytes(range(256)) * 20, switching)

    async def receive(cab):
        return await (await cab.mailbox(1).receive()).read()

    counts = []
    for options in (Options(), OPTIONS):
        with simulated("hub:2", options=options) as system:
            system.spawn("CAB1", send)
            receiver = system.spawn("CAB2", receive)
            system.go()
            assert receiver.result == bytes(range(256)) * 20
            counts.append(system.cab("CAB1").datalink.counters.circuits)
    assert counts == [1, 0]


def test_nobody_is_called_ready_who_has_not_been_asked():
    """docs/cable.md: a packet may wait before a CAB that stood still when it came; with a spare ready signal, as
    elsewhere, too many would be sent there."""

    async def send(cab):
        await cab.datagram.send((2, 1), b"message")

    counts = []
    for options in (Options(), OPTIONS):
        with simulated("hub:2", options=options) as system:
            system.spawn("CAB1", send)
            system.go()
            run(system.machine, until_ps=10**12)
            counts.append(system.cab("CAB2").datalink.counters.ready_repeated)
    assert counts == [5, 0]

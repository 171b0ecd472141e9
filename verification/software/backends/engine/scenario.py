"""Plays a scenario of registers on fast boards or on RTL boards."""

import contextlib

from nectar.hdl.cab.addresses import REGIONS
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import Topology
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.machine import QUIET

from ...helpers import drive
from ...registers import Board

__all__ = ["DATA", "pair", "playing", "silent"]

DATA = REGIONS["data"]


def pair():
    """Two CABs joined by a fiber, without a HUB."""
    return Topology("pair").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2")


async def silent(board):
    """The main of a CAB that does nothing."""
    return None


@contextlib.contextmanager
def playing(boards):
    """play(topology, main of CAB1, main of CAB2): runs until all is quiet; the mains get a Board each. Returns what
    the mains returned."""
    with contextlib.ExitStack() as machines:

        def play(topology, *mains):
            machine = machines.enter_context(contextlib.closing(EngineMachine(topology, PROTOTYPE, boards=boards)))
            results = []

            async def collect(main, board):
                results.append((board.name, await main(board)))

            for name, main in zip(topology.cabs, mains):
                machine.start(name, collect(main, Board(name, machine.doors[name])))
            assert drive(machine.run(lambda: False, 10**11)) == QUIET
            assert len(results) == len(mains)
            return [value for _, value in sorted(results)]

        yield play

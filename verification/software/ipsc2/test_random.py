"""Random programs of NX and MPI on nodes of the iPSC/2 in RTL, against the replays that judge them on Nectar."""

import asyncio

import hypothesis.strategies as st
import pytest
from hypothesis import given, note

from nectar.software.nx import NX
from nectar.verification.properties import properties
from nectar.verification.software.ipsc2.cube import cube, ranks_on
from nectar.verification.software.mpi import test_random_messages as messages
from nectar.verification.software.mpi.replay import judge
from nectar.verification.software.nx import test_random as programs

STEP = st.one_of(programs.SEND, programs.SEND, programs.SEND, programs.PAUSE, programs.RECEIVE, programs.LOOK)
LIMIT = 10**13


def _check(dimensions, processes, steps):
    note(f"{2**dimensions} nodes with {processes} processes: {steps}")
    with cube(dimensions) as system:
        nx = NX(system)
        log = programs.loaded(nx, False, processes, steps)
        asyncio.run(nx.run(LIMIT))
        assert all(node.memory.used == 0 for node in system.cabs)
    programs.replay(log)


@properties(max_examples=3)
@given(st.integers(1, 2), st.integers(1, 3), st.lists(st.lists(STEP, max_size=8), min_size=12, max_size=12))
def test_random_programs_of_nx_do_what_a_replay_allows(dimensions, processes, steps):
    _check(dimensions, processes, steps)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@properties(max_examples=60)
@given(st.integers(1, 3), st.integers(1, 5), st.lists(st.lists(STEP, max_size=12), min_size=40, max_size=40))
def test_many_random_programs_of_nx_do_what_a_replay_allows(dimensions, processes, steps):
    _check(dimensions, processes, steps)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 30))])
def test_random_programs_of_mpi_receive_what_the_standard_allows(seed):
    """Some messages are longer than a packet of Nectar's."""
    size = 2 + seed % 5
    program = messages.drawn(f"ipsc2 {seed}", size, 40, large=seed % 3)

    def play(MPI, comm):
        return messages.Rank(MPI, comm).run(program.actions[comm.rank])

    with cube((size - 1).bit_length()) as system:
        judge(program, ranks_on(system, play, size))
        assert all(node.memory.used == 0 for node in system.cabs)

"""A random program of NX/2 and one of MPI on the cocotb back end: the same replays judge them as on all others."""

import cocotb
import pytest

from nectar.sim.profile import PROTOTYPE
from nectar.software.backends.cocotb.machine import CocotbMachine
from nectar.software.mpi.python import Program
from nectar.software.mpi.world import World
from nectar.software.nx import NX
from nectar.software.system import System
from nectar.verification.bench import Bench
from nectar.verification.software.mpi.programs import LIMIT, calling
from nectar.verification.software.mpi.replay import judge
from nectar.verification.software.mpi.test_random_messages import Rank
from nectar.verification.software.mpi.test_random_messages import drawn as drawn_messages
from nectar.verification.software.nx.test_random import drawn, loaded, replay
from nectar.verification.system.topologies import ONE_HUB
from nectar.verification.system.verilog import TOP, system

claim = cocotb.test(timeout_time=50, timeout_unit="ms")


@claim
async def processes_of_nx_receive_what_the_replay_allows(dut):
    machine = CocotbMachine(ONE_HUB, PROTOTYPE)
    try:
        nx = NX(System.of(machine, ONE_HUB), 2)
        log = loaded(nx, True, 2, drawn("cocotb", 4, 5))
        await nx.run(LIMIT)
        replay(log)
    finally:
        machine.close()


@claim
async def ranks_receive_what_the_standard_allows(dut):
    program = drawn_messages("cocotb", 2, 10)
    machine = CocotbMachine(ONE_HUB, PROTOTYPE)
    try:
        with calling(lambda MPI, comm: Rank(MPI, comm).run(program.actions[comm.rank]), 2) as (text, results):
            ranks = Program("cocotb", compile(text, "cocotb", "exec"), [])
            await World(System.of(machine, ONE_HUB), ranks, 2).run(LIMIT)
        judge(program, results)
    finally:
        machine.close()


# Compiled as in test_send_file, which shares the model.
bench = Bench(__name__, {"one HUB": lambda: system(ONE_HUB, PROTOTYPE)}, top=TOP, ports_only=True, optimisation="-O0")


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=["one HUB"]))
def test_cocotb_messages(configuration, claim):
    bench.check(configuration, claim)

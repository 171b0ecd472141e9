"""The naive way of co-simulation, for comparison: all boards as one Verilator model under cocotb, Python on every clock
edge.

The boards, the software and the traffic are those of ``workloads.ring``; the machine is the CocotbMachine of
``software.backends.cocotb.machine``. cocotb sees the pins of the boards only; by itself its runner makes all signals
public, which is several times slower still."""

from ...sim.profile import PROTOTYPE
from ...sim.topology import load
from .under_cocotb import found
from .workloads import Run

__all__ = ["TOPOLOGY", "ring"]

TOPOLOGY = "hub:16"


def ring(talkers, messages):
    """As ``workloads.ring``; returns the same Run. The first call takes minutes to compile.

    Raises NotInstalled without cocotb, BuildError when it cannot be compiled or run.
    """

    def text():
        from ..system.verilog import system

        return system(load(TOPOLOGY), PROTOTYPE)

    return Run(**found(text, "naive_sim", top="system", order={"talkers": talkers, "messages": messages}))

"""What ``naive`` has cocotb run: the ring of ``workloads`` on a CocotbMachine. Imported inside the simulator only."""

import dataclasses
import json
import os
from pathlib import Path

import cocotb

from ...sim.topology import load
from ...software.backends.cocotb.machine import CocotbMachine
from . import naive, under_cocotb, workloads


@cocotb.test()
async def ring(dut):
    """Runs what was ordered, and leaves the result in a file."""
    order = json.loads(os.environ[under_cocotb.ORDER])
    topology = load(naive.TOPOLOGY)
    run = await workloads.measure(CocotbMachine(topology), topology, workloads.ring_tasks(**order))
    Path(under_cocotb.RESULT).write_text(json.dumps(dataclasses.asdict(run)))

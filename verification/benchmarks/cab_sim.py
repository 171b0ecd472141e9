"""What ``cab`` has cocotb run. Imported inside the simulator only."""

import dataclasses
import json
import os
from pathlib import Path

import cocotb

from ..cab.rates import all_at_once, protection_latency
from ..cab.whole import Whole
from . import cab, under_cocotb


@cocotb.test()
async def all_users(dut):
    """Everybody at once, then the CPU alone with protection and without; leaves the result in a file."""
    order = json.loads(os.environ[under_cocotb.ORDER])
    whole = await Whole(dut, cab.BOARD["period_ps"]).start()
    rates = await all_at_once(whole, cab.BOARD["data_bytes"], order["cycles"])
    on, off = await protection_latency(whole.board, cab.BOARD["data_bytes"])
    Path(under_cocotb.RESULT).write_text(
        json.dumps({"rates": dataclasses.asdict(rates) | {"total": rates.total}, "on": on, "off": off})
    )

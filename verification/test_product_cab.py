"""The CAB's Verilog file, driven as a file: what ``nectar verilog cab`` writes does what the specification says."""

import functools

import cocotb
import pytest

from nectar.verification.bench import Bench, inside
from nectar.verification.cab.driver import BoardDriver
from nectar.verification.cab.reference import Board
from nectar.verification.cab.scenario import Scenario
from nectar.verification.cab.traffic import Traffic
from nectar.verification.cab.whole import Whole
from nectar.verification.cab.whole_model import WholeModel
from nectar.verification.test_product import text

SMALL = {"data_bytes": 16 << 10, "program_bytes": 4 << 10, "domains": 4, "pages": 64}
FILES = {"CAB": SMALL, "CAB with VME": SMALL | {"vme": True, "period_ps": 50_000}}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_board_of_the_file_does_what_the_model_does(dut):
    """docs/cab.md, docs/vme.md: random operations of all kinds, with VME those of everybody at once, against the
    reference model."""
    parameters = FILES[inside()]
    if "vme" in parameters:
        whole = await Whole(dut, parameters["period_ps"], delay=(31, 120)).start()
        traffic = Traffic(whole, WholeModel(whole.slave.bytes, **parameters))
        await traffic.open_up()
        await traffic.round(6000)
        return
    board, model = BoardDriver(dut), Board(**parameters)
    await board.start()
    scenario = Scenario(board, model)
    await scenario.begin()
    weights = {
        "receive_anything": 10,
        "answer": 8,
        "release": 6,
        "send": 10,
        "send_ready": 2,
        "interrupts": 3,
        "memory": 3,
        "protection": 3,
        "scatter": 2,
        "mode": 1,
        "anywhere": 5,
    }
    await scenario.run(120, weights)
    await scenario.reset_receiver()
    await scenario.compare()
    await scenario.compare_memory()


bench = Bench(
    __name__,
    {name: functools.partial(text, "cab", **parameters) for name, parameters in FILES.items()},
    top="cab",
    ports_only=True,
)


@pytest.mark.nightly
@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_product_cab(configuration, claim):
    """Each file."""
    bench.check(configuration, claim)

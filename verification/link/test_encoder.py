"""Bench of hdl/link/encoder.py: every symbol, against the published table."""

import cocotb
import pytest
from cocotb.triggers import Timer

from nectar.hdl.link.encoder import Encoder
from nectar.verification.bench import Bench
from nectar.verification.link.channel import RESERVED, WORD_OF


@cocotb.test(timeout_time=10, timeout_unit="us")
async def every_symbol_has_its_word(dut):
    """docs/serial.md, "Code"; reserved codes are sent as SS."""
    for symbol in range(512):
        dut.symbol.value = symbol
        await Timer(1, "ns")
        assert f"{int(dut.word.value):010b}" == WORD_OF.get(symbol, WORD_OF[RESERVED]), f"{symbol:#x}"


bench = Bench(__name__, {"encoder": Encoder}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_encoder(configuration, claim):
    bench.check(configuration, claim)

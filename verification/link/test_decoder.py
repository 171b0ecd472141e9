"""Bench of hdl/link/decoder.py: every word, against the published table."""

import cocotb
import pytest
from cocotb.triggers import Timer

from nectar.hdl.link.decoder import Decoder
from nectar.verification.bench import Bench
from nectar.verification.link.channel import SYMBOL_OF, VIOLATION


@cocotb.test(timeout_time=10, timeout_unit="us")
async def every_word_is_its_symbol_or_a_violation(dut):
    """docs/serial.md, "Code": what is no word comes out as a reserved code, never as a valid one."""
    for word in range(1024):
        dut.word.value = word
        await Timer(1, "ns")
        text = f"{word:010b}"
        assert int(dut.symbol.value) == SYMBOL_OF.get(text, VIOLATION), text
        assert int(dut.violation.value) == (text not in SYMBOL_OF), text


bench = Bench(__name__, {"decoder": Decoder}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_decoder(configuration, claim):
    bench.check(configuration, claim)

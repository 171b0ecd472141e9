"""Proof of hdl/hub/receiver.py."""

import pytest

from nectar.hdl.hub.receiver import Receiver
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.receiver import ReceiverProof

FAULTS = {
    "a fragment is not taken back": ("self.cut.eq(self.command_cut | (command_byte & self.full))", "self.cut.eq(command_byte & self.full)"),
    "a command is shown byte by byte": ("~start_command & (~command_byte | last)", "~start_command"),
    "the rest of a spoiled command is written": ("& ~(command_byte & spoiled)", ""),
    "close all is taken out of the stream": ("& (op != Op.CLOSE_ALL)", ""),
    "commands for others are taken out too": ("(hub == self.hub_id) & ", ""),
    "a full queue is written": ("wanted & ~self.full & ~(", "wanted & ~("),
    "ready signals are missed while the queue is full": ("kind.eq(ready)", "kind.eq(ready & ~self.full.replicate(6))"),
}


def test_writes_whole_commands_and_nothing_into_a_full_queue():
    """docs/wire.md, "Frames"; H15."""
    outcome = prove(ReceiverProof(Receiver), "receiver")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.receiver", *FAULTS[fault]).Receiver
    outcome = prove(ReceiverProof(faulty), f"receiver {fault}", mode="bmc", depth=7)
    assert outcome.status == "FAIL", outcome

"""MPI is a layer of a recording: its messages are told beside those that were sent for them. docs/recording.md."""

from nectar.hdl.host.events import LEVELS, Layer
from nectar.software.packet import Protocol
from nectar.verification.software.mpi.programs import LIMIT, world
from nectar.views.spans import Spans, layer_name

PROGRAM = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    comm.Send(bytes(500), 1)
elif comm.rank == 1:
    comm.Recv(bytearray(500), 0)
comm.Bcast(bytearray(2000))
"""


def test_each_message_of_mpi_is_told_with_what_was_sent_for_it():
    with world(PROGRAM, 3, recorded=LEVELS["messages"]) as made:
        made.go(LIMIT)
        system = made.system
        system.recorder.end(round(system.time_ns * 1000))
        with system.recorder.recording() as recording:
            messages = Spans(recording).messages
    ours = [message for message in messages if message.layer == Layer.MPI]
    below = {message.parent: message.layer for message in messages if message.parent >= 0}
    layers = {below[number] for number, message in enumerate(messages) if message.layer == Layer.MPI}
    assert layers == {Layer.NECTARINE, Protocol.MULTICAST} and layer_name(Layer.MPI) == "MPI"
    assert [message.length for message in ours if message.board == "CAB1"][0] == 500
    assert all(message.done_ps is not None for message in ours)

"""Processes of NX/2 on workstations behind CABs. docs/nx.md, "Processes on workstations"."""

import pytest

from nectar.software.errors import ProgramError, UnfinishedRun
from nectar.software.nx import (
    cprobe,
    crecv,
    csend,
    flick,
    gcol,
    gdsum,
    gsync,
    hrecv,
    infocount,
    infonode,
    infotype,
    iprobe,
    irecv,
    isend,
    masktrap,
    msgdone,
    msgwait,
    mynode,
    numnodes,
)
from nectar.verification.software.helpers import pattern
from nectar.verification.software.nectarine.applications import SETTLE
from nectar.verification.software.nx.programs import run

MIXED = ["CAB1.node", "CAB2", "CAB3.node"]


def ring(process):
    """A word goes round, and grows."""
    me, room = mynode(), bytearray(4000)
    if me == 0:
        csend(1, pattern(1500), 1500, 1, 0)
    crecv(1, room, len(room))
    word = bytes(room[: infocount()]) + bytes([me])
    assert (infonode(), infotype()) == ((me - 1) % numnodes(), 1)
    if me:
        csend(1, word, len(word), (me + 1) % numnodes(), 0)
    return word


async def ring_async(process):
    me, room = process.mynode(), bytearray(4000)
    if me == 0:
        await process.csend(1, pattern(1500), 1500, 1, 0)
    await process.crecv(1, room, len(room))
    word = bytes(room[: process.infocount()]) + bytes([me])
    if me:
        await process.csend(1, word, len(word), (me + 1) % process.numnodes(), 0)
    return word


@pytest.mark.parametrize("program", [ring, ring_async])
@pytest.mark.parametrize("boards", ["fast", "rtl"])
def test_a_ring_of_cabs_and_workstations(program, boards):
    """Section 7: the same calls, wherever a process is; plain and async."""
    results = run((program,), (program,), (program,), places=MIXED, boards=boards)
    assert results[0] == pattern(1500) + bytes([1, 2, 0])


def test_asynchronous_calls_probes_and_selectors():
    def one(process):
        mids = [isend(type, pattern(size, type), size, 1, 0) for type, size in ((1, 10), (2, 300), (3, 0))]
        for mid in mids:
            msgwait(mid)
        room = bytearray(100)
        mid = irecv(9, room, 100)
        done = 0
        while not msgdone(mid):
            flick()
            done += 1
        return bytes(room[: infocount()]), done > 0

    def two(process):
        got = []
        for selector in (2, 0x80000002, -1):
            cprobe(selector)
            size = infocount()
            assert iprobe(selector) and not iprobe(50)
            room = bytearray(size)
            crecv(selector, room, size)
            got.append((infotype(), bytes(room)))
        process.cab.sleep(2000)
        csend(9, b"end", 3, 0, 0)
        return got

    for places in (["CAB1.node", "CAB2.node"], ["CAB1", "CAB2.node"], ["CAB1.node", "CAB2"]):
        first, second = run((one,), (two,), places=places)
        assert first == (b"end", True)
        assert second == [(2, pattern(300, 2)), (1, pattern(10, 1)), (3, b"")]


def test_handlers_run_in_the_process_while_it_waits_and_when_it_calls():
    def one(process):
        seen, room, other = [], bytearray(200), bytearray(10)

        def handler(type, count, node, pid):
            seen.append((type, count, node, pid, bytes(room[:count])))

        hrecv(5, room, 200, handler)
        crecv(6, other, 10)  # type 5 comes first
        assert len(seen) == 1
        masktrap(1)
        hrecv(5, room, 200, handler)
        crecv(7, other, 10)
        assert len(seen) == 1
        masktrap(0)
        assert len(seen) == 2
        return seen

    def two(process):
        for type in (5, 6, 5, 7):
            csend(type, b"x" * type, type, 0, 0)
            process.cab.sleep(1000)

    seen, _ = run((one,), (two,), places=["CAB1.node", "CAB2"])
    assert seen == [(5, 5, 1, 0, b"xxxxx")] * 2


def test_global_operations_over_cabs_and_workstations():
    def program(process):
        x, y = [float(mynode()), 1.5], bytearray(10)
        gdsum(x, 2, [0.0, 0.0])
        gsync()
        return x, gcol(bytes([mynode()]) * 2, 2, y, 10), bytes(y[:6])

    assert run(*[(program,)] * 3, places=MIXED) == [([3.0, 4.5], 6, bytes([0, 0, 1, 1, 2, 2]))] * 3


def test_messages_that_come_early_are_kept_and_their_senders_go_on():
    """As on a CAB: by a thread of the CAB."""

    def sender(process):
        for number in range(30):
            csend(number, pattern(150, number), 150, 1, 0)
        return process.cab.now_us()

    def late(process):
        process.cab.sleep(60_000)
        begin, room = process.cab.now_us(), bytearray(150)
        for number in reversed(range(30)):
            crecv(number, room, 150)
            assert bytes(room) == pattern(150, number)
        return begin

    sent, begun = run((sender,), (late,), places=["CAB1", "CAB2.node"], settle_ps=SETTLE)
    assert sent < begun


def test_errors_name_the_call():
    def one(process):
        with pytest.raises(
            ProgramError, match="crecv: the message of type 7 from node 1, process 0 has 500 bytes, the b"
        ):
            crecv(7, bytearray(400), 400)
        crecv(7, bytearray(500), 500)
        with pytest.raises(ProgramError, match="csend: the length is 0 to 3, the bytes of the buffer, not 4"):
            csend(1, b"123", 4, 1, 0)
        with pytest.raises(ProgramError, match="msgwait: there is no message id 3"):
            msgwait(3)

    run((one,), (lambda process: csend(7, bytes(500), 500, 0, 0),), places=["CAB1.node", "CAB2.node"])
    with pytest.raises(UnfinishedRun, match=r"process 0\.0 on CAB1\.node waits in crecv of type 5 \(.*\d\)$"):
        run((lambda process: crecv(5, None, 0),), (lambda process: None,), places=["CAB1.node", "CAB2"], leaks=True)

"""Asynchronous and interrupt-driven calls: P. Pierce, "The NX/2 Operating System" (1988), sections 4.3 and 4.4."""

import pytest

from nectar.software.nx import (
    cprobe,
    crecv,
    csend,
    flick,
    gsync,
    hrecv,
    infocount,
    infonode,
    infopid,
    infotype,
    iprobe,
    irecv,
    isend,
    masktrap,
    msgdone,
    msgwait,
)
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.nx.programs import run

SIZES = [0, 40, 3000]


@pytest.mark.parametrize("size", SIZES)
def test_isend_and_irecv_return_at_once(size):
    def program(process):
        begin = process.cab.now_us()
        other = 1 - process.node
        room = bytearray(size)
        into = irecv(1, room, size)
        out = isend(1, pattern(size, process.node), size, other, 0)
        took = process.cab.now_us() - begin
        msgwait(out)
        msgwait(into)
        assert room == pattern(size, other)
        return took

    assert max(run((program,), (program,))) < 60 + size * 0.2  # the CPU copies the bytes of Python that are sent


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("size", SIZES)
def test_msgwait_and_msgdone_tell_when_a_receive_is_over_and_info_tells_of_it(size, boards):
    def sender(process):
        process.cab.sleep(1000)
        csend(7, pattern(size), size, 1, 0)
        csend(8, pattern(size, 1), size, 1, 0)

    def receiver(process):
        rooms = [bytearray(size + 1) for _ in range(2)]
        first, second = irecv(7, rooms[0], size + 1), irecv(-1, rooms[1], size + 1)
        assert msgdone(second) is False and msgdone(first) is False and process.cab.now_us() < 500
        msgwait(second)
        assert (infotype(), infocount(), infonode(), infopid()) == (8, size, 0, 0)
        while not msgdone(first):
            pass
        assert (infotype(), infocount(), infonode(), infopid()) == (7, size, 0, 0)
        assert rooms == [bytearray(pattern(size, seed) + b"\0") for seed in range(2)]

    run((sender,), (receiver,), boards=boards)


def test_msgdone_of_a_send_is_true_once_the_buffer_is_free():
    def sender(process):
        buffer = process.task.buffer(5000)
        mid = isend(1, buffer, 5000, 1, 0)
        looks = 0
        while not msgdone(mid):
            looks += 1
        return looks

    def receiver(process):
        crecv(1, bytearray(5000), 5000)

    assert run((sender,), (receiver,))[0] > 3


def test_posted_receives_take_messages_in_the_order_of_their_calls():
    def sender(process):
        gsync()
        for number in range(4):
            csend(number % 2, bytes([number]), 1, 1, 0)

    def receiver(process):
        rooms = [bytearray(1) for _ in range(4)]
        ids = [irecv(typesel, room, 1) for typesel, room in zip((-1, 1, -1, 1), rooms, strict=True)]
        gsync()
        for mid in reversed(ids):
            msgwait(mid)
        return [room[0] for room in rooms]

    assert run((sender,), (receiver,))[1] == [0, 1, 2, 3]


def test_a_message_that_a_receive_was_posted_for_is_not_probed():
    def sender(process):
        csend(1, b"a", 1, 1, 0)
        csend(2, b"b", 1, 1, 0)

    def receiver(process):
        mid = irecv(1, bytearray(1), 1)
        cprobe(2)
        assert not iprobe(1)
        msgwait(mid)
        crecv(2, bytearray(1), 1)

    run((sender,), (receiver,))


# -- hrecv ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "async"])
def test_a_handler_gets_its_message_while_the_process_waits_in_a_call(size, plain):
    def sender(process):
        process.cab.sleep(1000)
        csend(5, pattern(size), size, 1, 0)
        process.cab.sleep(1000)
        csend(6, b"", 0, 1, 0)

    def receiver(process):
        seen, room = [], bytearray(size)

        def handler(type, count, node, pid):
            seen.append((type, count, node, pid, bytes(room), process.cab.now_us() < 1950))

        async def awaiting(type, count, node, pid):
            await process.flick()
            seen.append((type, count, node, pid, bytes(room), await process.cab.now_us() < 1950))

        hrecv(5, room, size, handler if plain else awaiting)
        crecv(6, None, 0)
        return seen

    assert run((sender,), (receiver,))[1] == [(5, size, 0, 0, pattern(size), True)]


@pytest.mark.parametrize("wait", ["crecv", "cprobe", "msgwait", "gsync", "csend"])
def test_a_handler_runs_in_each_call_that_waits(wait):
    """And the process's call goes on waiting for what it waited for."""

    size = 300_000  # too much to be kept until it is received

    def sender(process):
        room = process.task.buffer(size)
        process.cab.sleep(1000)
        csend(5, b"x", 1, 1, 0)
        process.cab.sleep(1000)
        if wait == "gsync":
            gsync()
        elif wait == "csend":
            crecv(7, room, size)
        else:
            csend(6, b"", 0, 1, 0)

    def receiver(process):
        seen = []
        hrecv(5, bytearray(1), 1, lambda *_: seen.append(process.cab.now_us()))
        if wait == "csend":
            csend(7, process.task.buffer(size), size, 0, 0)
        elif wait == "gsync":
            gsync()
        elif wait == "cprobe":
            cprobe(6)
        elif wait == "msgwait":
            msgwait(irecv(6, None, 0))
        else:
            crecv(6, None, 0)
        assert process.cab.now_us() > 1900
        return seen

    (at,) = run((sender,), (receiver,))[1]
    assert 1000 < at < 1950


def test_a_handler_does_not_run_in_the_midst_of_the_code_of_its_process():
    """It runs at the next call."""

    def sender(process):
        csend(5, b"", 0, 1, 0)

    def receiver(process):
        seen = []
        hrecv(5, None, 0, lambda *_: seen.append("handler"))
        process.cab.compute(3000)
        process.cab.sleep(1000)
        seen.append("code")
        flick()
        return seen

    assert run((sender,), (receiver,))[1] == ["code", "handler"]


def test_masktrap_holds_handlers_off():
    def sender(process):
        csend(5, b"", 0, 1, 0)
        csend(6, b"", 0, 1, 0)

    def receiver(process):
        seen = []
        assert masktrap(1) == 0
        hrecv(5, None, 0, lambda *_: seen.append("handler"))
        crecv(6, None, 0)
        flick()
        assert seen == [] and masktrap(1) == 1
        assert masktrap(0) == 1
        assert seen == ["handler"] and masktrap(0) == 0

    run((sender,), (receiver,))


def test_handlers_do_not_interrupt_each_other_and_may_call_everything():
    """A handler that receives, sends and posts itself anew; the info calls of the process are not disturbed."""
    count = 5

    def sender(process):
        for number in range(count):
            csend(5, bytes([number]), 1, 1, 0)
            csend(6, bytes([number]), 1, 1, 0)
        for number in range(count):
            room = bytearray(1)
            crecv(7, room, 1)
            assert room[0] == number
        csend(8, b"end", 3, 1, 0)

    def receiver(process):
        seen, room, inside = [], bytearray(1), []

        def handler(type, size, node, pid):
            assert not inside
            inside.append(1)
            more = bytearray(1)
            crecv(6, more, 1)
            assert infotype() == 6 and more == room
            csend(7, more, 1, node, pid)
            seen.append(room[0])
            if len(seen) < count:
                hrecv(5, room, 1, handler)
            masktrap(0)
            flick()
            inside.pop()

        hrecv(5, room, 1, handler)
        crecv(8, bytearray(3), 3)
        assert infotype() == 8
        return seen

    assert run((sender,), (receiver,))[1] == [*range(count)]


def test_the_info_calls_tell_after_a_handler_what_they_told_before():
    def sender(process):
        for type in (5, 6, 7):
            csend(type, b"", 0, 1, 0)

    def receiver(process):
        process.cab.sleep(1000)
        hrecv(5, None, 0, lambda *_: crecv(6, None, 0))
        crecv(7, None, 0)
        assert infotype() == 7
        masktrap(1)
        hrecv(8, None, 0, lambda *_: crecv(9, bytearray(1), 1))
        csend(9, b"x", 1, 1, 0)
        csend(8, b"", 0, 1, 0)
        process.cab.sleep(1000)
        masktrap(0)
        assert not iprobe(9) and (infotype(), infonode(), infocount()) == (7, 0, 0)

    run((sender,), (receiver,))


def test_a_handler_costs_an_entry_and_an_exit_of_an_interrupt():
    def sender(process):
        csend(5, b"", 0, 1, 0)

    def receiver(process, handled):
        if handled:
            hrecv(5, None, 0, lambda *_: None)
        else:
            irecv(5, None, 0)
        process.cab.sleep(2000)
        begin = process.cab.now_us()
        flick()
        return process.cab.now_us() - begin

    times = [run((sender,), (receiver, handled))[1] for handled in (False, True)]
    assert times[1] - times[0] == pytest.approx((14 + 12) / 16, abs=0.01)

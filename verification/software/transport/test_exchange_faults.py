"""Calls and multicasts while fibers and CABs fail: what can be answered is, once; who is gone is named, and holds up
nobody else for ever.

The faults are those of docs/faults.md, and the datalink's recovery has its part in it; docs/transports.md says what
must hold."""

import pytest

from nectar.software.errors import MulticastFailed, ServerSilent
from nectar.verification.software.helpers import BOARDS, FAST_RECOVERY, pattern, simulated
from nectar.verification.software.transport.exchange import hasten

SERVICE, BOX = 7, 3


async def echo(cab, executed):
    service = cab.request.serve(SERVICE)
    while True:
        request = await service.receive()
        data = await request.read()
        executed.append(data)
        await request.reply(data[::-1])


async def sink(cab, got):
    while True:
        message = await cab.mailbox(BOX).take()
        got.append(await message.read())
        message.free()


def rest(system, used):
    """The memory that the CABs in ``used`` hold when it is as ``used`` tells, or 400 ms have passed."""

    async def idle(cab):
        await cab.sleep(20_000)

    for _ in range(20):
        for name in used:
            system.spawn(name, idle)
        system.go()
        held = {name: system.cab(name).memory.used for name in used}
        if held == used:
            break
    return held


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("fault", ["CAB2-HUB1.P1:errors=1e-4", "CAB1-HUB1.P0:errors=1e-4", "cut"])
def test_fibers_with_errors_and_cuts_delay_calls_and_multicasts_but_spoil_none(fault, boards):
    executed, got = [], {2: [], 3: []}
    requests = [bytes([number]) + pattern([0, 1500, 4000][number % 3], number) for number in range(18)]

    async def client(cab):
        for data in requests:
            assert await cab.request.call((2, SERVICE), data, timeout_us=900_000) == data[::-1]

    async def sender(cab):
        for data in requests:
            await cab.multicast.send(([2, 3], BOX), data, timeout_us=900_000)

    with simulated("hub:3", boards=boards, options=FAST_RECOVERY) as system:
        used = {cab.name: hasten(cab, attempts=1000, keep_us=100_000).memory.used for cab in system.cabs}
        if fault == "cut":
            system.faults.cut("HUB1.P1", at_us=3000, for_us=5000)
        else:
            system.faults.add(fault)
        system.cab("CAB2").spawn(echo, executed)
        for number in (2, 3):
            system.cab(f"CAB{number}").spawn(sink, got[number])
        system.spawn("CAB1", client)
        system.spawn("CAB1", sender)
        system.go()
        assert rest(system, used) == used
        assert executed == requests and got == {2: requests, 3: requests}


@pytest.mark.parametrize("boards", BOARDS)
def test_a_server_that_stops_is_silent_and_others_are_still_served(boards):
    """The errors come in time, though packets for it stick in the HUB; calls of another CAB pass when they have been
    flushed."""
    executed = []

    async def client(cab):
        assert await cab.request.call((2, SERVICE), b"before") == b"erofeb"
        await cab.sleep(4000)
        for data in (b"small", pattern(4000)):
            begin = await cab.now_us()
            with pytest.raises(ServerSilent, match="CAB 2 is silent"):
                await cab.request.call((2, SERVICE), data, timeout_us=30_000)
            assert await cab.now_us() - begin < 30_300
        return await cab.request.call((3, SERVICE), b"after", timeout_us=900_000)

    with simulated("hub:3", boards=boards, options=FAST_RECOVERY) as system:
        used = {cab.name: hasten(cab, attempts=1000).memory.used for cab in system.cabs if cab.name != "CAB2"}
        for name in ("CAB2", "CAB3"):
            system.cab(name).spawn(echo, executed)
        system.faults.stop("CAB2", at_us=2500)
        thread = system.spawn("CAB1", client)
        system.go()
        assert thread.result == b"retfa" and executed == [b"before", b"after"]
        assert rest(system, used) == used


@pytest.mark.parametrize(
    "topology, members, gone, boards",
    [
        ("hub:4", [2, 3, 4], 3, "fast"),
        ("figure7", [2, 4, 5], 5, "fast"),
        pytest.param("hub:4", [2, 3, 4], 3, "rtl", marks=pytest.mark.nightly),
        pytest.param("figure7", [2, 4, 5], 5, "rtl", marks=pytest.mark.nightly),
    ],
)
def test_a_member_that_stops_is_named_and_only_that(topology, members, gone, boards):
    """Each message reaches all others, also the later ones, whose packets for it stick in the HUBs."""
    got = {member: [] for member in members}
    messages = [pattern(2000, number) for number in range(5)]

    async def sender(cab):
        for number, data in enumerate(messages):
            begin = await cab.now_us()
            if number < 2:
                await cab.multicast.send((members, BOX), data)
                continue
            if number == 2:
                await cab.sleep(4000)
            with pytest.raises(MulticastFailed) as caught:
                await cab.multicast.send((members, BOX), data, timeout_us=100_000)
            assert caught.value.missing == {gone: "has not acknowledged it"}
            assert 100_000 <= await cab.now_us() - begin < 110_000

    with simulated(topology, boards=boards, options=FAST_RECOVERY) as system:
        used = {cab.name: hasten(cab).memory.used for cab in system.cabs if cab.id != gone}
        for member in members:
            system.cab(f"CAB{member}").spawn(sink, got[member])
        system.faults.stop(f"CAB{gone}", at_us=2500)
        system.spawn("CAB1", sender)
        system.go()
        assert rest(system, used) == used
        assert got == {member: messages[:2] if member == gone else messages for member in members}

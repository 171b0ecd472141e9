"""Each mistake of docs/errors.md is made: its own error to the caller, in the time that stands there; nothing leaks,
and nobody else notices."""

import re
from pathlib import Path

import pytest

from nectar.software import errors
from nectar.software.kernel.mailbox import Mailbox
from nectar.software.transport.datagram import MAX_MESSAGE
from nectar.verification.software.helpers import BOARDS, drive, held, pattern, simulated

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
BOX, SERVICE, PORT, OTHER, SILENT, TIMEOUT = 5, 7, 9, 99, 2, 3000
#: Simulated time in which all that has gone wrong must be forgotten, in picoseconds.
FORGET = 10**12
CASES = {}


def rows():
    """(what, call) -> (name of the error, longest time in microseconds), as the page has them."""
    text = PAGE.read_text().partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ") and "`" in line]
    table = {}
    for what, call, error, longest in ([cell.strip() for cell in line] for line in lines):
        assert (what, call) not in table
        table[what, call.strip("`")] = (error, TIMEOUT + 100 if longest == "the time-out given" else int(longest))
    return table


def case(what, call, peer=None, ready=None):
    """Notes a mistake: ``await mistake(cab)`` is made on CAB1, 3 ms after ``peer(cab)`` has begun on CAB2, and after
    ``await ready(cab)`` on CAB1, whose result it gets, too, if it wants it."""

    def note(mistake):
        assert (what, call) not in CASES
        CASES[what, call] = (mistake, peer, ready)
        return mistake

    return note


# -- what the other side does, or the caller's before
# --------------------------------------------------------------------------------------------------------------------
async def ends(cab):
    """A protected task that has had a mailbox, a service and a listener."""

    async def task(user):
        user.mailbox(BOX).open()
        user.request.serve(SERVICE)
        user.stream.listen(PORT)

    await cab.spawn(task, protected=True).join()


async def serves_and_ends(cab):
    cab.request.serve(SERVICE)


async def takes_and_ends(cab):
    await cab.request.serve(SERVICE).receive()
    await cab.sleep(2000)


async def accepts_and_ends(cab):
    async def task(user):
        await user.stream.listen(PORT).accept()
        await user.sleep(2000)

    await cab.spawn(task, protected=True).join()


async def fill(cab):
    """A mailbox for one message holds one."""
    cab.mailboxes[BOX] = box = Mailbox(cab.kernel, BOX, capacity=1)
    box.commit(await box.reserve(4))
    return box


async def is_full(cab):
    """For 250 ms."""
    box = await fill(cab)
    await cab.sleep(250_000)
    (await box.take()).free()


async def has_a_small_service(cab):
    """For one request that waits, 20 ms long."""
    service = cab.request.serve(SERVICE, 1)
    await cab.sleep(20_000)
    service.close()


async def fills_the_service(cab):
    """With a call that is given up when the service is closed."""
    call = await cab.request.start((2, SERVICE), b"waits")

    async def wait(cab):
        with pytest.raises(errors.ServiceEnded):
            await call.result()

    cab.spawn(wait)
    await cab.sleep(1000)


async def closes(cab):
    cab.mailbox(BOX).close()
    cab.request.serve(SERVICE).close()
    cab.stream.listen(PORT).close()


async def has_a_message(cab):
    """A message taken out of another mailbox."""
    elsewhere = cab.mailbox(BOX + 1)
    elsewhere.commit(await elsewhere.reserve(4))
    return await elsewhere.take()


async def uses_up_memory(cab):
    """For 50 ms."""
    blocks = []
    while (block := cab.memory.try_allocate(2048)) is not None:
        blocks.append(block)

    async def keep(cab):
        await cab.sleep(50_000)
        for block in blocks:
            cab.memory.free(block)

    cab.spawn(keep)


# -- there is no such CAB; it does not run
# --------------------------------------------------------------------------------------------------------------------
for _what, _id, _peer in (("there is no such CAB", 77, None), ("the CAB is there, but does not run", 2, SILENT)):
    case(_what, "request.call", _peer)(lambda cab, id=_id: cab.request.call((id, SERVICE), b"x"))
    case(_what, "stream.connect", _peer)(lambda cab, id=_id: cab.stream.connect((id, PORT)))
    case(_what, "multicast.send", _peer)(lambda cab, id=_id: cab.multicast.send(([3, id], BOX), b"x"))
case("there is no such CAB", "datagram.send")(lambda cab: cab.datagram.send((77, BOX), b"x"))

# -- the task has ended
# --------------------------------------------------------------------------------------------------------------------
case("the task has ended", "request.call", serves_and_ends)(lambda cab: cab.request.call((2, SERVICE), b"x"))
case("the task has ended, with the request in its hands", "request.call", takes_and_ends)(
    lambda cab: cab.request.call((2, SERVICE), b"x")
)
case("the protected task has ended", "request.call", ends)(lambda cab: cab.request.call((2, SERVICE), b"x"))
case("the protected task has ended", "stream.connect", ends)(lambda cab: cab.stream.connect((2, PORT)))
case("the protected task has ended", "multicast.send", ends)(lambda cab: cab.multicast.send(([2, 3], BOX), b"x"))


@case("the protected task has ended, which had the connection", "stream.send", accepts_and_ends)
async def sends_on(cab):
    connection = await cab.stream.connect((2, PORT))
    while True:
        await connection.send(b"x")
        await cab.sleep(500)


async def has_a_message_when_the_reader_has_ended(cab):
    await ends(cab)
    return await has_a_message(cab)


@case("the protected task has ended", "mailbox.put", ready=has_a_message_when_the_reader_has_ended)
async def puts(cab, message, **options):
    try:
        await cab.mailbox(BOX).put(message, **options)
    finally:
        message.free()


# -- too large
# --------------------------------------------------------------------------------------------------------------------
case("more than 65,536 bytes", "datagram.send")(lambda cab: cab.datagram.send((2, BOX), bytes(MAX_MESSAGE + 1)))
case("more than 65,536 bytes", "request.call")(lambda cab: cab.request.call((2, SERVICE), bytes(MAX_MESSAGE + 1)))
case("more than 65,536 bytes", "multicast.send")(lambda cab: cab.multicast.send(([2, 3], BOX), bytes(MAX_MESSAGE + 1)))
case("more than the data memory", "memory.allocate")(lambda cab: cab.memory.allocate((1 << 20) + 1))
case("more than the data memory", "mailbox.reserve")(lambda cab: cab.mailbox(BOX).reserve((1 << 20) + 1))


@case("more than the mailbox's `capacity_bytes`", "mailbox.reserve")
async def reserves_too_much(cab):
    cab.mailboxes[BOX] = Mailbox(cab.kernel, BOX, capacity_bytes=1000)
    await cab.mailbox(BOX).reserve(1001)


# -- full
# --------------------------------------------------------------------------------------------------------------------
async def has_a_message_and_a_full_mailbox(cab):
    await fill(cab)
    return await has_a_message(cab)


@case("the mailbox is full", "mailbox.put", ready=has_a_message_and_a_full_mailbox)
async def puts_into_a_full_one(cab, message):
    try:
        await puts(cab, message, timeout_us=TIMEOUT)
    finally:
        (await cab.mailbox(BOX).take()).free()


case("the mailbox is full", "multicast.send", is_full)(lambda cab: cab.multicast.send(([2, 3], BOX), b"x"))
case("the service is full", "request.call", has_a_small_service, fills_the_service)(
    lambda cab, _: cab.request.call((2, SERVICE), b"x")
)
case("the data memory is full", "request.call", None, uses_up_memory)(
    lambda cab, _: cab.request.call((2, SERVICE), bytes(4000), timeout_us=TIMEOUT)
)
case("the data memory is full", "stream.connect", None, uses_up_memory)(
    lambda cab, _: cab.stream.connect((2, PORT), timeout_us=TIMEOUT)
)
case("the data memory is full", "multicast.send", None, uses_up_memory)(
    lambda cab, _: cab.multicast.send(([2, 3], BOX), bytes(4000), timeout_us=TIMEOUT)
)
case("the data memory is full", "memory.allocate", None, uses_up_memory)(
    lambda cab, _: cab.memory.allocate(4000, timeout_us=TIMEOUT)
)


# -- closed, or never there
# --------------------------------------------------------------------------------------------------------------------
@case("the mailbox is closed", "mailbox.take")
async def takes_from_a_closed_one(cab):
    cab.mailbox(BOX).close()
    await cab.mailbox(BOX).take()


@case("the mailbox is closed", "mailbox.put", ready=has_a_message)
async def puts_into_a_closed_one(cab, message):
    cab.mailbox(BOX).close()
    await puts(cab, message)


case("the mailbox is closed", "multicast.send", closes)(lambda cab: cab.multicast.send(([2, 3], BOX), b"x"))
case("the service is closed", "request.call", closes)(lambda cab: cab.request.call((2, SERVICE), b"x"))
case("there was never such a service", "request.call")(lambda cab: cab.request.call((2, SERVICE), b"x"))
case("the listener is closed", "stream.connect", closes)(lambda cab: cab.stream.connect((2, PORT)))
case("nobody has ever listened at the port", "stream.connect")(lambda cab: cab.stream.connect((2, PORT)))


# -- what must be so at each
# --------------------------------------------------------------------------------------------------------------------
async def echo(cab):
    service = cab.request.serve(OTHER)
    while True:
        request = await service.receive()
        await request.reply((await request.read())[::-1])


async def bystander(cab, servers, over):
    """Calls the servers in turn until the mistake is over, and ten times at least; the longest time of a call in
    microseconds."""
    worst = calls = 0
    while calls < 10 or not over:
        data = pattern(300, calls)
        begin = await cab.now_us()
        assert await cab.request.call((servers[calls % len(servers)], OTHER), data) == data[::-1]
        worst = max(worst, await cab.now_us() - begin)
        await cab.sleep(500 if calls < 20 else 20_000)
        calls += 1
    return worst


async def make(cab, mistake, ready, over):
    """(the error of the mistake, the microseconds that it took)."""
    await cab.sleep(3000)
    prepared = () if ready is None else (await ready(cab),)
    begin = await cab.now_us()
    try:
        await mistake(cab, *prepared)
    except errors.ProgramError as error:
        return error, await cab.now_us() - begin
    finally:
        over.append(True)
    raise AssertionError("the call has done what it was asked for")


def test_each_row_of_the_page_has_its_case():
    assert set(CASES) == set(rows())


def test_the_pages_agree_with_each_other_and_with_what_is_looked_at_here():
    """When a silent server is given up, and when all that an error has left is forgotten."""
    transports = (PAGE.parent / "transports.md").read_text()
    said = re.search(r"askings in a row were in vain: at most ([\d.]+) s", transports)
    assert float(said[1]) * 1e6 == rows()["the CAB is there, but does not run", "request.call"][1]
    assert "at the latest one second after the error" in PAGE.read_text() and FORGET == 10**12


def cases():
    """Each mistake on each kind of boards; those of which each takes half a minute by night."""
    for (what, call), (_, peer, _) in CASES.items():
        for boards in BOARDS:
            slow = boards == "rtl" and peer == SILENT and call != "multicast.send"
            yield pytest.param(what, call, boards, marks=[pytest.mark.nightly] if slow else [])


@pytest.mark.parametrize("what, call, boards", list(cases()))
def test_a_mistake_has_an_error_of_its_own_in_time_and_nobody_else_notices(what, call, boards):
    name, longest = rows()[what, call]
    mistake, peer, ready = CASES[what, call]
    over = []
    with simulated("hub:4", boards=boards) as system:
        before = held(system)
        running = [cab for cab in system.cabs if cab.name != "CAB2" or peer != SILENT]
        for cab in running:
            cab.spawn(echo)
        system.cab("CAB3").mailbox(BOX).on_arrival = lambda message: message.free() or True
        if peer == SILENT:
            system.faults.stop("CAB2")
        elif peer is not None:
            system.cab("CAB2").spawn(peer)
        caller = system.spawn("CAB1", make, mistake, ready, over)
        others = [
            system.spawn("CAB3", bystander, [4, 1], over),
            system.spawn("CAB4", bystander, [cab.id for cab in running if cab.name in ("CAB2", "CAB3")], over),
        ]
        system.go()
        error, took = caller.result
        assert type(error) is getattr(errors, name) and len(str(error).splitlines()) == 1
        assert took <= longest
        assert others[1].result < 2000
        # CAB1's answers wait behind what it has sent to a CAB that does not run, until that is flushed or the HUB's
        # watchdog closes it; and for data memory.
        assert others[0].result < (150_000 if peer == SILENT or ready is uses_up_memory else 2000)
        kept = {cab.name for cab in running}
        drive(
            system.machine.run(
                lambda: all(held(system)[name] == before[name] for name in kept), system.machine.time_ps + FORGET
            )
        )
        assert {name: held(system)[name] for name in kept} == {name: before[name] for name in kept}

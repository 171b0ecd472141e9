"""The command sequences of "The Design of Nectar" (1989), sections 4.2.1 to 4.2.4, as software for bare CABs.

All are for the four HUBs of its Figure 7 (topology ``figure7``). Each function gives {CAB: script} for ``raw.play``;
the commands stand there in the paper's order, with its HUBs and ports. When the transfer is over, one CAB on each HUB
asks its HUB for the state of every port and notes what it learns.
"""

from ...hdl.hub.commands import Op
from ...hdl.link.symbol import ANY_HUB
from .. import seeds

__all__ = [
    "AUDIT_CYCLE",
    "HUB1",
    "HUB2",
    "HUB3",
    "HUB4",
    "LONG",
    "SHORT",
    "circuit",
    "circuit_closed_in_reverse",
    "circuit_multicast",
    "circuit_retried",
    "packet",
    "packet_multicast",
    "packets_one_behind_the_other",
]

#: HUB IDs.
HUB1, HUB2, HUB3, HUB4 = 1, 2, 3, 4
PORTS = 16
#: CPU cycle at which the HUBs are asked what state they are in: long after the last symbol.
AUDIT_CYCLE = 12_000
#: What is sent: more than an input queue holds, for circuits; what one packet holds with its CRC.
LONG = seeds.rng(421).randbytes(3000)
SHORT = seeds.rng(423).randbytes(1020)
#: CPU cycles after which a reply is given up, in the paper's words "does not receive a reply soon enough".
PATIENCE = 800


async def _audit(cab, hub):
    await cab.sleep_until(AUDIT_CYCLE)
    await cab.note({"hub": hub, **await cab.audit(hub, PORTS)})


async def _take(cab, count=1, ready=True):
    """Receives packets and notes them."""
    for _ in range(count):
        got = await cab.receive(ready=ready)
        await cab.note({"good": got.good, "packet": (got.header + got.data).hex()})


def _auditor(hub, before=None):
    async def script(cab):
        if before is not None:
            await before(cab)
        await _audit(cab, hub)

    return script


def circuit():
    """Section 4.2.1: CAB3 sends to CAB1 over a circuit, and takes it down by *close all*."""

    async def send(cab):
        cab.command(Op.OPEN_RETRY, HUB2, 8)
        cab.command(Op.OPEN_RETRY_REPLY, HUB1, 8)
        await cab.note({"reply": await cab.reply()})
        cab.packet(LONG)
        cab.command(Op.CLOSE_ALL, ANY_HUB)

    return {"CAB3": _auditor(HUB2, send), "CAB1": _auditor(HUB1, _take), "CAB4": _auditor(HUB4), "CAB5": _auditor(HUB3)}


def circuit_closed_in_reverse():
    """Section 4.2.1: as ``circuit``, but taken down by individual *close* commands, the far connection first."""

    async def send(cab):
        cab.command(Op.OPEN_RETRY, HUB2, 8)
        cab.command(Op.OPEN_RETRY_REPLY, HUB1, 8)
        await cab.note({"reply": await cab.reply()})
        cab.packet(LONG)
        cab.command(Op.CLOSE, HUB1, 8)
        cab.command(Op.CLOSE, HUB2, 8)

    return {**circuit(), "CAB3": _auditor(HUB2, send)}


def circuit_retried():
    """Section 4.2.1: no reply comes, since CAB2 holds the way to CAB1. CAB3 asks what stands, takes it down by *close
    all*, sees that it is gone, and sets the whole route up again; this time CAB2 lets go."""

    async def hold(cab):
        cab.command(Op.OPEN_RETRY_REPLY, HUB1, 8)
        await cab.note({"reply": await cab.reply()})
        await cab.sleep_until(3000)
        cab.command(Op.CLOSE_ALL, ANY_HUB)

    async def send(cab):
        await cab.sleep_until(400)
        cab.command(Op.OPEN_RETRY, HUB2, 8)
        cab.command(Op.OPEN_RETRY_REPLY, HUB1, 8)
        await cab.note({"reply": await cab.reply(PATIENCE)})
        await cab.note({"HUB2 P8": await cab.ask(Op.STATUS_OUTPUT, HUB2, 8)})
        cab.command(Op.CLOSE_ALL, ANY_HUB)
        await cab.note({"HUB2 P8": await cab.ask(Op.STATUS_OUTPUT, HUB2, 8)})
        cab.command(Op.OPEN_RETRY, HUB2, 8)
        cab.command(Op.OPEN_RETRY_REPLY, HUB1, 8)
        # The first request still waits in HUB1, so there is an answer to it and one to the second.
        for _ in range(2):
            await cab.note({"reply": await cab.reply()})
        cab.packet(LONG)
        cab.command(Op.CLOSE_ALL, ANY_HUB)

    return {**circuit(), "CAB2": hold, "CAB3": _auditor(HUB2, send)}


def _multicast(send):
    return {
        "CAB2": _auditor(HUB1, send),
        "CAB4": _auditor(HUB4, _take),
        "CAB5": _auditor(HUB3, _take),
        "CAB3": _auditor(HUB2),
    }


def circuit_multicast():
    """Section 4.2.2: CAB2 sends to CAB4 and CAB5 over circuits."""

    async def send(cab):
        cab.command(Op.OPEN_RETRY, HUB1, 6)
        cab.command(Op.OPEN_RETRY_REPLY, HUB4, 5)
        cab.command(Op.OPEN_RETRY, HUB4, 3)
        cab.command(Op.OPEN_RETRY_REPLY, HUB3, 4)
        for _ in range(2):
            await cab.note({"reply": await cab.reply()})
        cab.packet(LONG)
        cab.command(Op.CLOSE_ALL, ANY_HUB)

    return _multicast(send)


def packet():
    """Section 4.2.3: CAB3 sends to CAB1 by packet switching."""

    async def send(cab):
        cab.command(Op.TEST_OPEN_RETRY, HUB2, 8)
        cab.command(Op.TEST_OPEN_RETRY, HUB1, 8)
        cab.packet(SHORT)
        cab.command(Op.CLOSE_ALL, ANY_HUB)

    return {**circuit(), "CAB3": _auditor(HUB2, send)}


def packets_one_behind_the_other(count=3, pause=2000):
    """Section 4.2.3: ``count`` packets as fast as the ready bits let them; CAB1 says *ready* only ``pause`` CPU cycles
    after each, so the *test open* of the next one holds it back in HUB1."""

    async def send(cab):
        for number in range(count):
            cab.command(Op.TEST_OPEN_RETRY, HUB2, 8, wait_ready=True)
            cab.command(Op.TEST_OPEN_RETRY, HUB1, 8)
            cab.packet(SHORT[number:])
            cab.command(Op.CLOSE_ALL, ANY_HUB)
            await cab.sent_all()

    async def take(cab):
        for _ in range(count):
            await _take(cab, ready=False)
            cab.door.spend(pause)
            await cab.note("ready")
            cab.ready()

    return {**circuit(), "CAB3": _auditor(HUB2, send), "CAB1": _auditor(HUB1, take)}


def packet_multicast():
    """Section 4.2.4: CAB2 sends to CAB4 and CAB5 by packet switching."""

    async def send(cab):
        cab.command(Op.TEST_OPEN_RETRY, HUB1, 6)
        cab.command(Op.TEST_OPEN_RETRY, HUB4, 5)
        cab.command(Op.TEST_OPEN_RETRY, HUB4, 3)
        cab.command(Op.TEST_OPEN_RETRY, HUB3, 4)
        cab.packet(SHORT)
        cab.command(Op.CLOSE_ALL, ANY_HUB)

    return _multicast(send)

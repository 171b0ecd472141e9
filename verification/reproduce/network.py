"""Figures of whole systems: messages between tasks on CABs, HUBs between them, all boards in RTL, software with its
table of costs."""

from ...hdl.hub.commands import COMMANDS, Op
from ...hdl.link.symbol import COMMAND_LENGTH
from ...sim.profile import PROTOTYPE
from .facts import Found
from .runs import PARTS, latency, simulate, throughput

__all__ = [
    "circuit_rate",
    "command_bytes",
    "message",
    "packet_rate",
    "ports",
    "supervisor_commands",
    "thread_switch",
    "user_commands",
]

#: Bytes of the smallest message.
SMALLEST = 1


def user_commands():
    """H7: user commands in the table from which decoder, software and page are made."""
    return _count(False)


def supervisor_commands():
    """H7: supervisor commands in it."""
    return _count(True)


def _count(supervisor):
    rows = [row for row in COMMANDS if row.supervisor == supervisor]
    return Found(len(rows), "rows of the table of commands, each with claims of its own in the regression")


def command_bytes():
    """H8: bytes of a command behind its control code."""
    return Found(COMMAND_LENGTH - 1, "length of the frame less its control code")


async def _size(cab):
    return await cab.datalink.command(Op.SIZE_REPLY, cab.datalink.route(2).hops[0][0])


def ports():
    """H1: ports of a HUB, as it answers."""
    results, _ = simulate("hub:2", [("CAB1", _size, ())])
    return Found(results[0], "answer of a simulated HUB to the command 'size reply'")


def message():
    """S1: the smallest message from task to task on two CABs."""
    parts = latency(SMALLEST)
    text = ", ".join(f"{name} {parts[name]:.2f}" for name in PARTS if parts[name])
    return Found(
        round(sum(parts.values()), 3), f"{SMALLEST} byte between tasks on two CABs over one HUB, in us: {text}"
    )


async def _switches(cab, turns):
    async def other(cab):
        for _ in range(turns):
            await cab.pause()

    thread = cab.spawn(other)
    begin = await cab.now_us()
    for _ in range(turns):
        await cab.pause()
    end = await cab.now_us()
    await thread.join()
    return (end - begin) / (2 * turns)


def thread_switch():
    """S2: from one thread to another that is ready."""
    turns = 200
    results, _ = simulate("hub:1", [("CAB1", _switches, (turns,))])
    return Found(
        round(results[0], 3), f"{2 * turns} turns of two threads that do nothing but give the CPU to each other"
    )


def packet_rate():
    """S13: one CAB sends packets of 1 kbyte to another."""
    rate = throughput(1 << 16, 6, "packet")
    return Found(
        round(rate, 2),
        f"messages of 64 kbyte in packets of 1 kbyte, a route each, over one HUB; {rate / _link():.1%} of the fiber's "
        f"rate",
    )


def circuit_rate():
    """The goal of ours beside S13: one CAB sends long messages over circuits to another."""
    rate = throughput(1 << 16, 12, "circuit")
    return Found(
        round(rate, 2), f"datagrams of 64 kbyte, a circuit each, over one HUB; {rate / _link():.1%} of the fiber's rate"
    )


def _link():
    return 8e6 / PROTOTYPE.symbol_ps

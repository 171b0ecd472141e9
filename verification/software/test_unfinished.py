"""What is said of a run that cannot come to its end: who waits for what, on which line. docs/software.md, "A run that
cannot end"."""

import inspect
import re

import pytest

from nectar.software.errors import UnfinishedRun
from nectar.software.nectarine import Application

from .helpers import drive, simulated
from .nodes import BOTH


def line_of(function, text):
    """``FILE:LINE`` of the line of ``function`` that holds ``text``."""
    lines, first = inspect.getsourcelines(function)
    return f"{inspect.getsourcefile(function)}:{first + next(i for i, line in enumerate(lines) if text in line)}"


def said(system, limit=10**12):
    """The message of a run that cannot end: its first line, and the others."""
    with pytest.raises(UnfinishedRun) as caught:
        system.go(limit)
    first, *lines = str(caught.value).splitlines()
    assert all(line.startswith("  ") for line in lines)
    return first, [line.strip() for line in lines]


async def takes(cab):
    await cab.mailbox(5).receive()


def takes_plainly(cab):
    cab.mailbox(5).receive()


async def helped(cab):
    await asked(cab)


async def asked(cab):
    await cab.mailbox(5).receive()


def sorts(cab):
    return sorted([1, 2], key=lambda _: cab.mailbox(5).receive())


def within(cab):
    cab.within(1e6, lambda: cab.mailbox(5).receive())


async def locked(cab):
    lock = cab.lock("the lock of the stock")
    await lock.acquire()
    async with lock:
        pass


@pytest.mark.parametrize(
    "task, what, where, text",
    [
        (takes, "mailbox 5 of CAB1", takes, "receive()"),
        (takes_plainly, "mailbox 5 of CAB1", takes_plainly, "receive()"),
        (helped, "mailbox 5 of CAB1", asked, "receive()"),
        (sorts, "mailbox 5 of CAB1", sorts, "lambda"),
        (within, "mailbox 5 of CAB1", within, "lambda"),
        (locked, "the lock of the stock", locked, "with lock"),
    ],
)
def test_the_innermost_line_of_the_program_is_told(task, what, where, text):
    with simulated() as system:
        system.spawn("CAB1", task, name="job")
        first, lines = said(system, 10**11)
        told = f"task job on CAB1 waits for {what} ({line_of(where, text)})"
        assert first.endswith(f": {told}") and not lines, first


def test_a_protected_task_and_a_process_of_a_node_have_their_lines():
    async def process(node):
        await node.sleep(10**6)

    with simulated(nodes=BOTH) as system:
        system.spawn("CAB1", takes, name="guarded", protected=True)
        system.node("CAB1").spawn(process)
        _, lines = said(system, 10**10)
        assert lines[0] == f"task guarded on CAB1 waits for mailbox 5 of CAB1 ({line_of(takes, 'receive()')})"
        assert re.fullmatch(rf"process \d on \S+ runs \({line_of(process, 'sleep')}\)", lines[1])


def test_several_tasks_have_a_line_each_and_a_join_names_the_thread():
    async def joins(cab, thread):
        await thread.join()

    async def ends(cab):
        return cab.name

    with simulated() as system:
        first = system.spawn("CAB1", takes, name="reader")
        system.spawn("CAB1", joins, first, name="joiner")
        system.spawn("CAB2", ends)
        start, lines = said(system)
        assert re.fullmatch(r"nothing can happen any more at [\d.]+ us, where", start)
        assert lines == [
            f"task reader on CAB1 waits for mailbox 5 of CAB1 ({line_of(takes, 'receive()')})",
            f"task joiner on CAB1 waits for the end of reader ({line_of(joins, 'join()')})",
        ]


def test_equal_ones_stand_together_and_the_list_is_cut():
    def waits(cab, mailbox):
        cab.mailbox(mailbox).receive()

    with simulated() as system:
        for index in range(16):
            system.spawn("CAB1", takes, name=f"rank {index}")
        for index in range(20):
            system.spawn("CAB2", waits, index, name=f"t{index}")
        _, lines = said(system)
        assert len(lines) == 17
        assert lines[0] == (
            "rank 0 on CAB1, rank 1 on CAB1, rank 2 on CAB1, rank 3 on CAB1 and 12 more wait for mailbox 5 of CAB1 "
            f"({line_of(takes, 'receive()')})"
        )
        assert lines[15] == f"task t14 on CAB2 waits for mailbox 14 of CAB2 ({line_of(waits, 'receive()')})"
        assert lines[16] == "and 5 more tasks"


def test_a_task_that_computes_when_the_time_is_up_runs():
    async def busy(cab):
        await cab.sleep(1)
        while True:
            cab.compute(10)
            await cab.now_us()

    with simulated() as system:
        system.spawn("CAB1", busy)
        first, _ = said(system, 10**9)
        assert re.fullmatch(rf"the time limit was reached at .*: task busy \d on CAB1 runs \(.*{__file__}:\d+\)", first)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda task: task.receive(source="b", type=7), "receive from b, type 7"),
        (lambda task: task.receive(), "receive from any task, any type"),
        (lambda task: task.ireceive(type=-(1 << 31) + 5).wait(), "receive from any task, type 0 or 2"),
        (lambda task: task.send("b", bytes(101), type=3), "send to b, type 3"),
        (lambda task: task.probe(source="b", timeout_us=None), "probe of messages from b"),
        (lambda task: task.select(["b", task.ireceive(type=1)]), "select of b, receive from any task, type 1"),
    ],
)
def test_calls_of_nectarine_are_named_in_their_own_words(call, words):
    with simulated() as system:
        application = Application(system)
        application.spawn("a", call, on="CAB1")
        application.spawn("b", lambda task: task.receive(type=999), on="CAB2")
        with pytest.raises(UnfinishedRun) as caught:
            drive(application.run(4 * 10**12))
        place = f"{__file__}:{call.__code__.co_firstlineno}"
        assert f"\n  task a on CAB1 waits in {words} ({place})\n" in str(caught.value)


def test_of_calls_inside_each_other_the_outermost_is_told():
    async def collective(task):
        thread = task.cab.kernel.current
        with thread.calling("Bcast from rank 0"):
            with thread.calling("Recv"):
                pass
            await task.receive(source="b", type=7)

    with simulated() as system:
        application = Application(system)
        application.spawn("a", collective, on="CAB1")
        application.spawn("b", lambda task: None, on="CAB2")
        with pytest.raises(UnfinishedRun, match="task a on CAB1 waits in Bcast from rank 0 "):
            drive(application.run(4 * 10**12))

"""Protected tasks of an application: the same calls, in a protection domain of their own. docs/nectarine.md."""

import pytest

from nectar.software.errors import NotYours, ProgramError, TaskEnded, TimedOut
from nectar.software.nectarine import End
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.nectarine.applications import application
from nectar.verification.software.nectarine.test_random import TASKS, drawn, follow, replay


def run(*tasks, boards="fast", leaks=False):
    """Runs functions as protected tasks ``a`` on CAB1, ``b`` on CAB2, …; their Records."""
    with application(f"hub:{max(2, len(tasks))}", boards=boards, leaks=leaks) as made:
        for index, function in enumerate(tasks):
            made.spawn(chr(ord("a") + index), function, on=f"CAB{index + 1}", protected=True)
        made.go()
        return list(made.tasks)


@pytest.mark.parametrize("boards", BOARDS)
def test_messages_between_buffers_and_objects_of_python(boards):
    async def one(task):
        buffer = await task.buffer(5000)
        buffer.write(pattern(5000))
        await task.send("b", buffer[1000:4000], 1)
        await task.send("b", pattern(300), 2)
        await task.send("b", buffer[:50], 3)
        assert task.copies.cpu_out == 300 + 50
        buffer.free()
        return task.cab.name

    def two(task):
        buffer = task.buffer(4000)
        got = task.receive(buffer[10:])
        assert (got.source.name, got.type, got.length, got.data) == ("a", 1, 3000, None)
        assert buffer.read(10, 3000) == pattern(5000)[1000:4000]
        assert task.receive(source="a").data == pattern(300)
        assert task.receive(type=3).data == pattern(5000)[:50]

    first, second = run(one, two, boards=boards)
    assert (first.result, first.end, second.end) == ("CAB1", End.RETURNED, End.RETURNED)


def test_handles_select_probe_spawn_end_and_exit():
    async def other(task):
        await task.send("a", b"hello", 4)
        await task.receive(type=99)

    async def one(task):
        started = await task.spawn("c", other, on="CAB2", protected=True)
        wanted = [await task.ireceive(type=number) for number in (3, 4)]
        assert await task.select(wanted) is wanted[1] and wanted[1].ready
        assert (await wanted[1].wait()).data == b"hello" and await wanted[1].test()
        await wanted[0].cancel()
        assert await task.probe() is None
        with pytest.raises(TimedOut):
            await task.receive(timeout_us=100)
        handle = await task.isend("c", pattern(1000))
        await task.end(started)
        with pytest.raises(TaskEnded):
            await handle.wait()
        task.exit(5)

    first, second = run(one)
    assert (first.end, first.status, second.end) == (End.EXIT, 5, End.ENDED)


def test_a_task_that_touches_what_is_not_its_own_ends_and_the_others_go_on():
    async def bad(task):
        held = await task.isend("b", await task.buffer(3000), 1)
        buffer = await task.buffer(100)
        buffer.free()
        try:
            await task.cab.memory.read(buffer.address, 4)  # it was
        finally:
            assert not held.done

    async def good(task):
        buffer = await task.buffer(100)
        with pytest.raises(NotYours):
            task.cab.memory.free(buffer.address + 1)
        await task.cab.sleep(3000)
        with pytest.raises(TaskEnded):
            await task.send("a", pattern(500))
        return "done"

    first, second = run(bad, good)
    assert (first.end, first.status, second.result) == (End.FAULT, None, "done")


def test_buffers_of_messages_under_way_are_given_back_when_these_are_over():
    """``application`` sees to it that nothing is left."""

    async def one(task):
        buffer = await task.buffer(3000)
        buffer.write(pattern(3000))
        await task.isend("b", buffer)
        buffer.free()
        await task.isend("b", await task.buffer(2000), 2)
        await task.cab.sleep(2000)

    async def two(task):
        await task.cab.sleep(1000)
        assert (await task.receive()).data == pattern(3000)

    run(one, two)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_of_protected_tasks_end_as_their_replay(seed):
    doing = replay(drawn(f"protected {seed}", 60))
    with application(f"hub:{TASKS}") as plain, application(f"hub:{TASKS}") as protected:
        for made in (plain, protected):
            for number in range(TASKS):
                guarded = made is protected and number != 1
                made.spawn(f"t.{number}", follow, doing[number], on=f"CAB{number + 1}", protected=guarded)
            made.go()
        assert [record.result for record in protected.tasks] == [record.result for record in plain.tasks]


def test_tasks_on_nodes_are_not_protected():
    with (
        application(nodes=["CAB1"]) as made,
        pytest.raises(ProgramError, match=r"task a cannot be protected on CAB1\.node: protection domains are of CABs"),
    ):
        made.spawn("a", lambda task: None, on="CAB1.node", protected=True)

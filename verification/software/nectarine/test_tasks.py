"""Tasks: where they run, how they start others and end them, and how they end."""

import pytest

from nectar.software.errors import CabStopped, ProgramError, TaskEnded
from nectar.software.nectarine import Application, End
from nectar.verification.software.helpers import BOARDS, drive, simulated
from nectar.verification.software.nectarine.applications import application


async def where(task, *args):
    """A task: tells where it is."""
    return task.name, task.number, task.cab.name, args


async def waits(task):
    """A task that waits for ever."""
    await task.receive()


def results(made):
    """What the tasks have returned."""
    return [record.result for record in made.tasks]


def test_tasks_get_the_cabs_in_turns_unless_they_are_placed():
    with application("hub:3") as made:
        made.spawn("one", where, 1)
        made.spawn("two", where, on="CAB3")
        made.spawn("many", where, "x", count=3)
        made.go()
        assert results(made) == [
            ("one", 0, "CAB1", (1,)),
            ("two", 1, "CAB3", ()),
            ("many.0", 2, "CAB2", ("x",)),
            ("many.1", 3, "CAB3", ("x",)),
            ("many.2", 4, "CAB1", ("x",)),
        ]


def test_a_file_places_tasks_and_starts_them(tmp_path):
    path = tmp_path / "tasks.toml"
    path.write_text(
        """
[tasks.fft]
function = "where"
on = ["CAB3", "CAB2"]
count = 3
args = [5]

[tasks.main]
function = "where"

[tasks.late]
on = "CAB3"
"""
    )
    with application("hub:3", placement=path, functions={"where": where}) as made:
        made.spawn("late", where)
        made.go()
        assert results(made) == [
            ("fft.0", 0, "CAB3", (5,)),
            ("fft.1", 1, "CAB2", (5,)),
            ("fft.2", 2, "CAB3", (5,)),
            ("main", 3, "CAB1", ()),
            ("late", 4, "CAB3", ()),
        ]


@pytest.mark.parametrize(
    "text, said",
    [
        ("[tasks.a]\nwhere = 3", "placement of task a: .* not with where"),
        ("[tasks.a]\non = 'CAB9'", "task a is placed on 'CAB9'; there are: CAB1, CAB2"),
        ("[tasks.a]\nfunction = 'f'", "task a: there is no function 'f' among those given"),
        ("[tasks", "is no TOML"),
        (None, "cannot be read"),
    ],
)
def test_a_file_with_mistakes_is_refused_in_one_line(tmp_path, text, said):
    path = tmp_path / "tasks.toml"
    if text is not None:
        path.write_text(text)
    with simulated() as system, pytest.raises(ProgramError, match=said) as caught:
        Application(system, path)
    assert "\n" not in str(caught.value)


def test_a_name_is_given_once_and_a_system_has_one_application():
    with application() as made:
        made.spawn("a", where)
        with pytest.raises(ProgramError, match="there is a task 'a' already"):
            made.spawn("a", where)
        with pytest.raises(ProgramError, match="has an application already"):
            Application(made.system)
        with pytest.raises(TypeError, match="a task is a function"):
            made.spawn("b", 5)
        made.go()


@pytest.mark.parametrize("boards", BOARDS)
def test_tasks_start_others_anywhere_while_they_run(boards):
    async def parent(task):
        children = [await task.spawn(f"child.{index}", child, index) for index in range(4)]
        for record in children:
            await task.send(record, b"go")
        return sorted([(await task.receive()).data for _ in children])

    async def child(task, index):
        await task.receive(source="parent")
        await task.send("parent", bytes([index]) + task.cab.name.encode())

    with application("hub:3", boards=boards) as made:
        made.spawn("parent", parent)
        made.go()
        assert made.tasks["parent"].result == [b"\0CAB2", b"\1CAB3", b"\2CAB1", b"\3CAB2"]
        assert len(made.tasks) == 5 and all(record.end is End.RETURNED for record in made.tasks)


@pytest.mark.parametrize("cab", ["CAB1", "CAB2"])
def test_a_task_ends_another_and_whoever_sends_to_it_is_told(cab):
    async def killer(task):
        await task.cab.sleep(1000)
        await task.end("victim")
        with pytest.raises(TaskEnded, match="task victim has ended"):
            await task.send("victim", bytes(1000))
        with pytest.raises(TaskEnded, match="task victim has ended"):
            await task.send("victim", b"")
        await task.end("victim")
        with pytest.raises(ProgramError, match="ends itself by exit"):
            await task.end("killer")
        task.exit(7)

    with application() as made:
        made.spawn("killer", killer, on="CAB1")
        made.spawn("victim", waits, on=cab)
        made.go()
        assert (made.tasks["victim"].end, made.tasks["victim"].status) == (End.ENDED, None)
        assert (made.tasks["killer"].end, made.tasks["killer"].status) == (End.EXIT, 7)


def test_a_task_that_is_ended_before_it_has_begun_leaves_nothing():
    async def parent(task):
        record = await task.spawn("child", waits, on="CAB1")
        await task.send(record, b"unread")
        await task.end(record)

    with application() as made:
        made.spawn("parent", parent, on="CAB1")
        made.go()
        assert made.tasks["child"].end is End.ENDED


@pytest.mark.parametrize("cab", ["CAB1", "CAB2"])
def test_what_a_task_has_not_received_when_it_ends_is_counted_and_long_senders_are_told(cab):
    async def sender(task):
        for number in range(3):
            await task.send("deaf", bytes([number]))
        with pytest.raises(TaskEnded, match="deaf has ended"):
            await task.send("deaf", bytes(5000))

    async def deaf(task):
        await task.cab.sleep(5000)

    with application() as made:
        made.spawn("sender", sender, on="CAB1")
        made.spawn("deaf", deaf, on=cab)
        made.go()
        assert made.tasks["deaf"].unreceived == 4


@pytest.mark.parametrize("cab", ["CAB1", "CAB2"])
def test_a_task_that_ends_takes_back_what_it_sends_and_lets_what_is_fetched_be_fetched(cab):
    async def hasty(task):
        buffer = await task.buffer(60_000)
        await task.isend("other", buffer, 1)
        await task.isend("other", bytes(2000), 2)
        await task.receive()
        task.exit()

    async def other(task):
        handle = await task.ireceive(type=1)
        await task.cab.sleep(1000)
        await task.send("hasty")
        await handle.wait()
        await task.cab.sleep(20_000)
        assert await task.probe() is None
        return handle.length

    with application() as made:
        made.spawn("hasty", hasty, on="CAB1")
        made.spawn("other", other, on=cab)
        made.go()
        assert made.tasks["other"].result == 60_000


def test_a_task_that_raises_ends_all_others_with_its_own_traceback():
    ended = []

    async def wrong(task):
        await task.cab.sleep(100)
        raise KeyError("mistake")

    async def other(task):
        try:
            await task.receive()
        finally:
            await task.cab.sleep(10)
            ended.append(task.name)

    with application("hub:3") as made:
        made.spawn("wrong", wrong)
        made.spawn("other", other, count=2)
        with pytest.raises(ProgramError, match="task wrong on CAB1 failed at .*KeyError: 'mistake'") as caught:
            made.go()
        assert isinstance(caught.value.__cause__, KeyError)
        assert sorted(ended) == ["other.0", "other.1"]
        assert [record.end for record in made.tasks] == [End.FAILED, End.ENDED, End.ENDED]


def test_a_deadlock_names_each_task_and_what_it_waits_for():
    async def waiter(task, source, type):
        await task.receive(source=source, type=type)

    async def sender(task):
        await task.send("fft.1", bytes(200), 9)

    with application("hub:3", leaks=True) as made:
        made.spawn("fft.1", waiter, "fft.3", 7)
        made.spawn("fft.3", waiter, ["fft.1", "send"], -(2**31) | 6)
        made.spawn("send", sender)
        with pytest.raises(ProgramError, match="nothing can happen any more") as caught:
            drive(made.run(20 * 10**12))
        words = str(caught.value)
        assert "task fft.1 on CAB1 waits in receive from fft.3, type 7" in words
        assert "task fft.3 on CAB2 waits in receive from fft.1 or send, type 1 or 2" in words
        assert "task send on CAB3 waits in send to fft.1, type 9" in words


def test_no_task_can_be_started_on_a_cab_that_is_stopped():
    async def later(task):
        await task.cab.sleep(3000)

    with application(leaks=True) as made:
        made.system.faults.stop("CAB2", at_us=1000)
        made.spawn("later", later, on="CAB1")
        made.go()
        with pytest.raises(CabStopped, match="CAB2 has been stopped"):
            made.spawn("never", where, on="CAB2")
        assert made.tasks["never"].end is End.STOPPED

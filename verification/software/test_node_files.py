"""Files of the node, for tasks of its CAB: by VME interrupt, on fast boards and on the RTL; docs/nodes.md."""

import os

import pytest

from nectar.software.errors import FileError, FileMissing, FileRefused, MessageTooLong, NodeAbsent, NodeSilent, TimedOut
from nectar.software.node.fileserver import MOST_FILES
from nectar.software.node.layout import CHUNK, FILES, FileStatus
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS, nothing_leaks, pattern, simulated


@pytest.fixture(params=BOARDS)
def boards(request):
    return request.param


def run(task, *arguments, folder=None, protected=False, boards="fast", prepare=None, nodes=("CAB1",)):
    """Runs ``task(cab, ...)`` on CAB1, whose node lends ``folder``; its result. Nothing may be left, open files
    neither."""
    with simulated("hub:1", boards=boards, nodes=nodes) as system, nothing_leaks(system):
        if folder is not None:
            system.node("CAB1").lend(folder)
        if prepare is not None:
            prepare(system)
        thread = system.spawn("CAB1", task, *arguments, protected=protected)
        system.go()
        assert not nodes or not system.node("CAB1").files.open
        return thread.result


async def store(cab, path, data, mode="w"):
    file = await cab.node.open(path, mode)
    await file.write(data)
    await file.close()


async def fetch(cab, path, length=1 << 20):
    file = await cab.node.open(path)
    data = await file.read(length)
    await file.close()
    return data


@pytest.mark.parametrize("protected", [False, True], ids=["plain", "protected"])
@pytest.mark.parametrize("size", [0, 1, CHUNK, 3 * CHUNK + 7])
def test_what_is_written_is_read(size, protected, boards, tmp_path):
    data = pattern(size)

    async def task(cab):
        await store(cab, "a", data)
        return await fetch(cab, "a")

    assert run(task, folder=tmp_path, protected=protected, boards=boards) == data
    assert (tmp_path / "a").read_bytes() == data


def test_a_file_goes_on_where_the_last_call_has_stopped(boards, tmp_path):
    (tmp_path / "in").write_bytes(b"0123456789")

    async def task(cab):
        file = await cab.node.open("in")
        parts = [await file.read(3), await file.read(3), await file.read(30), await file.read(1)]
        await file.close()
        await file.close()
        await store(cab, "out", b"one,")
        await store(cab, "out", b"two,", "a")
        await store(cab, "out", b"three", "a")
        return parts

    assert run(task, folder=tmp_path, boards=boards) == [b"012", b"345", b"6789", b""]
    assert (tmp_path / "out").read_bytes() == b"one,two,three"


def test_many_tasks_use_files_at_the_same_time(boards, tmp_path):
    """More than there are slots; plain tasks and protected ones."""
    many = 2 * FILES + 1
    random = seeds.rng("node files")
    contents = [random.randbytes(random.randrange(1, 6000)) for _ in range(many if boards == "fast" else FILES + 2)]

    async def one(cab, number):
        await store(cab, f"{number}", contents[number])
        return await fetch(cab, f"{number}") == contents[number]

    async def task(cab):
        threads = [cab.spawn(one, number, protected=number % 2 == 0) for number in range(len(contents))]
        return [await thread.join() for thread in threads]

    assert all(run(task, folder=tmp_path, boards=boards))
    assert [(tmp_path / f"{number}").read_bytes() for number in range(len(contents))] == contents


def failing(attempt):
    """A task that gives the error that ``attempt(cab)`` raises."""

    async def task(cab):
        with pytest.raises(Exception) as caught:
            await attempt(cab)
        return caught.value

    return task


@pytest.mark.parametrize("protected", [False, True], ids=["plain", "protected"])
@pytest.mark.parametrize(
    "path, mode, kind, status",
    [
        ("nothing", "r", FileMissing, FileStatus.MISSING),
        ("nowhere/new", "w", FileMissing, FileStatus.MISSING),
        ("x" * 300, "r", FileMissing, FileStatus.MISSING),
        ("zero\0", "r", FileMissing, FileStatus.MISSING),
        ("../secret", "r", FileRefused, FileStatus.REFUSED),
        ("../new", "w", FileRefused, FileStatus.REFUSED),
        ("in/../../secret", "a", FileRefused, FileStatus.REFUSED),
        ("/etc/hostname", "r", FileRefused, FileStatus.REFUSED),
        ("way out", "r", FileRefused, FileStatus.REFUSED),
        ("way out", "w", FileRefused, FileStatus.REFUSED),
        ("in", "r", FileError, FileStatus.WRONG_KIND),
        ("file/x", "r", FileError, FileStatus.WRONG_KIND),
        ("", "w", FileError, FileStatus.WRONG_KIND),
        ("pipe", "r", FileError, FileStatus.WRONG_KIND),
        ("locked", "w", FileError, FileStatus.DENIED),
    ],
)
def test_errors_of_files_come_back_as_such(path, mode, kind, status, protected, tmp_path):
    lent = tmp_path / "lent"
    (lent / "in").mkdir(parents=True)
    (lent / "file").write_text("x")
    (tmp_path / "secret").write_text("not for CABs")
    (lent / "way out").symlink_to(tmp_path / "secret")
    os.mkfifo(lent / "pipe")
    (lent / "locked").write_text("x")
    (lent / "locked").chmod(0o400)
    if path == "locked" and os.access(lent / "locked", os.W_OK):
        pytest.skip("this user may write everything")
    error = run(failing(lambda cab: cab.node.open(path, mode)), folder=lent, protected=protected)
    assert type(error) is kind and error.status == status and "on the node of CAB1" in str(error)
    assert (tmp_path / "secret").read_text() == "not for CABs" and not (tmp_path / "new").exists()


def test_a_node_that_lends_nothing_refuses_everything(boards):
    error = run(failing(lambda cab: cab.node.open("a", "w")), boards=boards)
    assert type(error) is FileRefused and "or the node lends none" in str(error)


def test_a_file_is_used_as_it_was_opened(tmp_path):
    (tmp_path / "a").write_text("abc")

    async def task(cab):
        reader = await cab.node.open("a")
        first = await failing(lambda cab: reader.write(b"x"))(cab)
        await reader.close()
        writer = await cab.node.open("b", "w")
        second = await failing(lambda cab: writer.read(1))(cab)
        await writer.close()
        third = await failing(lambda cab: writer.write(b"x"))(cab)
        return [(type(error), error.status) for error in (first, second, third)]

    assert run(task, folder=tmp_path) == [(FileError, FileStatus.BAD_HANDLE)] * 3


def test_calls_that_make_no_sense_are_refused_before_the_node_hears_of_them(tmp_path):
    async def task(cab):
        return [
            type(await failing(attempt)(cab))
            for attempt in (lambda cab: cab.node.open("a", "rw"), lambda cab: cab.node.open("x" * (CHUNK + 1)))
        ]

    with simulated("hub:1", nodes=["CAB1"]) as system:
        thread = system.spawn("CAB1", task)
        system.go()
        assert thread.result == [ValueError, MessageTooLong] and not system.node("CAB1").files.served
    with (
        simulated("hub:1", nodes=["CAB1"]) as system,
        pytest.raises(ValueError, match="is no folder that a node could lend"),
    ):
        system.node("CAB1").lend(tmp_path / "nothing")


def test_no_more_files_than_a_node_opens(tmp_path):
    async def task(cab):
        files = [await cab.node.open(f"{number}", "w") for number in range(MOST_FILES)]
        error = await failing(lambda cab: cab.node.open("one more", "w"))(cab)
        for file in files:
            await file.close()
        return error

    error = run(task, folder=tmp_path)
    assert error.status == FileStatus.TOO_MANY and "too many files are open" in str(error)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_is_told_of(tmp_path, monkeypatch):
    full = open("/dev/full", "wb", buffering=0)
    monkeypatch.setattr("nectar.software.node.fileserver.open", lambda *arguments, **options: full, raising=False)

    async def task(cab):
        file = await cab.node.open("a", "w")
        error = await failing(lambda cab: file.write(b"x"))(cab)
        await file.close()
        return error

    assert run(task, folder=tmp_path).status == FileStatus.NO_SPACE


def test_a_cab_without_node_says_so(boards):
    error = run(failing(lambda cab: cab.node.open("a")), boards=boards, nodes=())
    assert type(error) is NodeAbsent and "CAB1 has no node: name it in the program's NODES" in str(error)


@pytest.mark.parametrize("protected", [False, True], ids=["plain", "protected"])
def test_a_stopped_node_is_silent(protected, boards, tmp_path):
    """Each call ends in its time; more calls than slots, too."""

    async def task(cab):
        begin = await cab.now_us()
        errors = [await failing(lambda cab: cab.node.open("a", timeout_us=700))(cab) for _ in range(FILES + 3)]
        return errors, await cab.now_us() - begin

    errors, time = run(
        task, folder=tmp_path, protected=protected, boards=boards, prepare=lambda system: system.stop_node("CAB1")
    )
    assert {type(error) for error in errors} == {NodeSilent} and "has not answered within 700 us" in str(errors[0])
    assert 700 * (FILES + 3) <= time < 760 * (FILES + 3)


def test_a_node_that_stops_in_the_midst_of_a_file(boards, tmp_path):
    async def task(cab):
        file = await cab.node.open("a", "w")
        written = 0
        while True:
            try:
                await file.write(bytes(CHUNK), timeout_us=20_000)
            except NodeSilent:
                return written
            written += 1

    with simulated("hub:1", boards=boards, nodes=["CAB1"]) as system, nothing_leaks(system):
        system.node("CAB1").lend(tmp_path)
        system.machine.plan(15_000_000_000, lambda: system.stop_node("CAB1"))
        thread = system.spawn("CAB1", task)
        system.go()
        assert thread.result > 2 and not system.node("CAB1").files.open


def test_a_file_that_is_opened_too_late_is_closed_again(boards, tmp_path):
    """The node is busy; the caller gives up; what the node opens after all, nobody would ever close."""

    async def busy(node):
        await node.attached()
        for _ in range(20):
            node.compute(200)
            await node.pause()

    async def task(cab):
        await cab.sleep(500)
        errors = [
            await failing(lambda cab: cab.node.open(f"{number}", "w", timeout_us=300))(cab) for number in range(3)
        ]
        await cab.sleep(30_000)
        return errors

    with simulated("hub:1", boards=boards, nodes=["CAB1"]) as system, nothing_leaks(system):
        system.node("CAB1").lend(tmp_path)
        system.node("CAB1").spawn(busy)
        thread = system.spawn("CAB1", task)
        system.go()
        assert [type(error) for error in thread.result] == [NodeSilent] * 3
        assert (
            not system.node("CAB1").files.open
            and system.node("CAB1").files.served == 6
            and len(os.listdir(tmp_path)) == 3
        )


def test_a_task_that_ends_in_the_midst_of_a_call(boards, tmp_path):
    """By ``within`` and by ``end``, at any time: no slot is lost, no file stays open."""

    async def victim(cab):
        await store(cab, "a", bytes(100))

    async def task(cab):
        for step in range(12):
            thread = cab.spawn(victim)
            await cab.sleep(50 + 137 * step)
            thread.end()
            with pytest.raises(TimedOut):
                await cab.within(60 + 31 * step, store(cab, "b", bytes(100)))
        await cab.sleep(20_000)
        await store(cab, "c", b"good")

    with simulated("hub:1", boards=boards, nodes=["CAB1"]) as system, nothing_leaks(system):
        system.node("CAB1").lend(tmp_path)
        system.spawn("CAB1", task)
        system.go()
        assert (tmp_path / "c").read_bytes() == b"good"


def test_files_of_a_protected_task_are_closed_when_it_ends(boards, tmp_path):
    async def careless(cab):
        await cab.node.open("left", "w")
        await cab.door.read(0x200000)  # not its own: a fault

    async def task(cab):
        thread = cab.spawn(careless, protected=True)
        with pytest.raises(Exception, match="0x200000"):
            await thread.join()
        await cab.sleep(20_000)

    run(task, folder=tmp_path, boards=boards)


def test_files_of_a_cab_that_starts_anew_are_closed(boards, tmp_path):
    async def open_one(cab):
        await cab.node.open("a", "w")
        await cab.sleep(1000)

    async def again(cab):
        return await fetch(cab, "a")

    with simulated("hub:1", boards=boards, nodes=["CAB1"]) as system:
        node = system.node("CAB1")
        node.lend(tmp_path)
        system.spawn("CAB1", open_one)
        system.go()
        assert node.files.open == 1
        system.machine.plan(0, lambda: (system._stop("CAB1"), system._restart("CAB1")))

        async def wait(node):
            boot = node.boot
            while node.boot == boot:
                await node.sleep(100)

        node.spawn(wait)
        system.go()
        thread = system.spawn("CAB1", again)
        system.go()
        assert thread.result == b"" and not node.files.open


def test_file_work_takes_the_time_of_its_costs(boards, tmp_path):
    """4 kbyte: VME moves 1024 words, the system copies them; a millisecond to open. Nothing is free, and nothing
    takes for ever."""

    async def task(cab):
        times = [await cab.now_us()]
        file = await cab.node.open("a", "w")
        times.append(await cab.now_us())
        await file.write(bytes(CHUNK))
        times.append(await cab.now_us())
        await file.close()
        times.append(await cab.now_us())
        return [end - begin for begin, end in zip(times, times[1:])]

    opening, writing, closing = run(task, folder=tmp_path, boards=boards)
    assert 1000 < opening < 3500 and 1000 < writing < 2500 and 100 < closing < 1000

"""Plain functions as tasks: the same calls, times, results and errors as coroutines (docs/software.md)."""

import inspect
import re
import sys
from pathlib import Path

import pytest

import nectar
from nectar.cli import main
from nectar.hdl.host.events import LEVELS
from nectar.software import wait
from nectar.software.errors import Fault, ProgramError, ThreadEnded, TimedOut
from nectar.verification import seeds
from nectar.verification.software import plain_tasks
from nectar.verification.software.helpers import BOARDS, drive, nothing_leaks, run_task, simulated
from nectar.verification.software.nodes import run as run_processes
from nectar.verification.software.plainly import plainly
from nectar.verification.software.waits import WAITS

from .helpers import events

_PROGRAMS = sorted((Path(nectar.__file__).parent.parent / "examples").glob("*.py"))
#: Those of ``nectar run``.
EXAMPLES = [path for path in _PROGRAMS if "async def main(" in path.read_text()]


# -- the same calls, the same times -----------------------------------------------------------------------
def both():
    """The tasks of ``plain_tasks`` as they are, and with plain functions."""
    text = inspect.getsource(plain_tasks)
    space = {"__name__": plain_tasks.__name__, "__package__": plain_tasks.__package__}
    exec(compile(plainly(text), "plain", "exec"), space)
    assert not any(map(inspect.iscoroutinefunction, space["TASKS"]))
    return plain_tasks.TASKS, space["TASKS"]


def traced(tasks, boards, protected, seed):
    """Runs the tasks, each on the CAB of its place; their results, all events with their times, the time."""
    with simulated("hub:4", boards=boards, recorded=LEVELS["all"]) as system, nothing_leaks(system):
        threads = [
            system.spawn(f"CAB{number}", task, seed + number, protected=protected)
            for number, task in enumerate(tasks, 1)
        ]
        system.go()
        return [thread.result for thread in threads], events(system), system.machine.time_ps


@pytest.mark.parametrize("protected", [False, True])
@pytest.mark.parametrize("boards", BOARDS)
def test_every_call_takes_the_same_time_to_the_picosecond(boards, protected):
    seed = seeds.rng("plain").randrange(1000)
    coroutines, plain = (traced(tasks, boards, protected, seed) for tasks in both())
    assert plain == coroutines
    assert len(plain[1]) > 80


@pytest.mark.parametrize(
    "path",
    # sockets are compared every day in test_sockets, streams in this file
    [pytest.param(p, marks=[pytest.mark.nightly] * (p.stem in ("sockets", "stream")), id=p.stem) for p in EXAMPLES],
)
def test_each_example_prints_the_same_with_plain_functions(path, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_bytes(seeds.rng("plain file").randbytes(5000))
    arguments = ["data"] if path.name == "send_file.py" else []
    said = []
    for text in (path.read_text(), plainly(path.read_text())):
        (tmp_path / path.name).write_text(text)
        assert main(["run", path.name, *arguments]) == 0, capsys.readouterr()
        said.append(re.sub(r"[0-9.]+ s$", "", capsys.readouterr().out, flags=re.M))  # of host time
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("mode", [False, True])
def test_processes_of_nodes_may_be_plain(mode):
    """docs/nodes.md: the calls of a node, from a plain function."""

    def ask(node):
        node.attached()
        node.sleep(300)
        box = node.mailbox(3)
        box.open()
        node.datagram.send(("CAB2", 4), b"question")
        message = box.receive(100_000)
        data = message.read()
        message.free()
        box.close()
        node.pause()
        return data, node.now_us() > 300

    async def answer(node):
        box = node.mailbox(4)
        await box.open()
        message = await box.receive(100_000)
        data = await message.read()
        message.free()
        await box.close()
        await node.datagram.send(("CAB1", 3), data + b"?")

    asked, _ = run_processes(("CAB1", ask), ("CAB2", answer))
    assert asked == (b"question?", True)


# -- waits ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("each", WAITS)
def test_a_plain_function_is_ended_in_each_kind_of_wait_and_its_finally_may_wait(each, boards):
    log = []

    def waiter(cab, call):
        try:
            wait(call())
        finally:
            log.append("finally")
            cab.sleep(10)
            log.append("slept")

    async def main(cab):
        preparation = each(cab)
        call = await anext(preparation)
        thread = cab.spawn(waiter, lambda: _coroutine(call))
        await cab.sleep(100)
        assert not log and not thread.ended
        thread.end()
        with pytest.raises(ThreadEnded, match="ended from outside"):
            await thread.join()
        await anext(preparation, None)

    run_task(main, boards=boards)
    assert log == ["finally", "slept"]


async def _coroutine(call):
    return await call()


def test_a_call_blocks_wherever_python_calls_it_from():
    """In a generator, in a key of ``sorted``, in a property, in ``__exit__``, in another function, after an
    exception."""

    def task(cab):
        class Nap:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                cab.sleep(10)

            @property
            def now(self):
                cab.sleep(10)
                return cab.now_us()

        def naps():
            for _ in range(3):
                cab.sleep(10)
                yield cab.now_us()

        with Nap() as nap:
            times = [*naps(), nap.now]
        times += sorted(range(3), key=lambda one: (cab.sleep(10), -one)[1])[:0]
        with pytest.raises(TimedOut):
            cab.mailbox(1).receive(timeout_us=10)
        times.append(cab.now_us())
        return times

    times = run_task(task)
    steps = [round(later - one) for one, later in zip(times, times[1:])]
    assert steps[:3] == [steps[0]] * 3 and steps[3] > 5 * 10


def test_a_time_out_is_for_a_function_or_for_an_awaitable():
    def within(cab):
        box = cab.mailbox(1)
        with pytest.raises(TimedOut, match="has not come to an end"):
            cab.within(50, box.receive)
        with pytest.raises(TimedOut):
            cab.within(50, lambda: (cab.sleep(20), cab.sleep(100)))
        assert cab.within(50, lambda: 7) == 7
        assert cab.within(50, slow(cab, 20)) == "slept"
        for wrong in (None, 5):
            with pytest.raises(TypeError, match=f"a function without arguments, or an awaitable, not {wrong}"):
                cab.within(50, wrong)

    async def slow(cab, us):
        await cab.sleep(us)
        return "slept"

    async def as_a_coroutine(cab):
        assert await cab.within(50, lambda: 7) == 7
        assert await cab.within(50, lambda: slow(cab, 20)) == "slept"

        def plain():
            cab.sleep(20)
            return "plain"

        assert await cab.within(50, plain) == "plain"

    run_task(within)
    run_task(within, protected=True)
    run_task(as_a_coroutine)


def test_locks_are_context_managers():
    def first(cab, lock, log):
        with lock:
            cab.sleep(100)
            log.append(lock.holder.name)

    def second(cab):
        lock, log = cab.lock("mine"), []
        thread = cab.spawn(first, lock, log, name="first")
        cab.sleep(10)
        with lock as held:
            assert held is lock and log == ["first"]
            thread.join()
        assert lock.holder is None

    run_task(second)


def test_coroutines_and_plain_functions_call_each_other():
    async def helper(cab, value):
        await cab.sleep(10)
        return value + 1

    def plain(cab, value):
        return wait(helper(cab, value)) + 1

    async def coroutine(cab):
        return await cab.spawn(plain, 1).join(), await cab.spawn(lambda cab: helper(cab, 5)).join()

    assert run_task(coroutine) == (3, 6)
    assert run_task(lambda cab: cab.spawn(helper, 1).join()) == 2


def test_a_protected_plain_task_is_ended_by_its_fault_where_it_stands():
    log = []

    def user(cab):
        try:
            cab.memory.write(0x200000, b"not mine")
            cab.sleep(10)
        finally:
            log.append("finally")

    async def main(cab):
        with pytest.raises(Fault, match="write"):
            await cab.spawn(user, protected=True).join()

    run_task(main)
    assert log == ["finally"]


def test_a_thousand_plain_tasks_wait_at_once():
    def sleeper(cab, number):
        cab.sleep(1000 + number)
        return number

    def starter(cab):
        threads = [cab.spawn(sleeper, number) for number in range(1000)]
        return sum(thread.join() for thread in threads)

    assert run_task(starter) == sum(range(1000))


def test_a_task_that_waits_when_all_is_closed_runs_its_finally():
    log = []

    def forever(cab):
        try:
            cab.mailbox(1).receive()
        finally:
            log.append("finally")
            cab.sleep(10)
            log.append("never")

    with simulated("hub:1") as system:
        system.spawn("CAB1", forever, daemon=True)
        system.spawn("CAB1", lambda cab: cab.sleep(100))
        system.go()
        assert not log
    assert log == ["finally"]


# -- errors -----------------------------------------------------------------------------------------------
def test_an_exception_has_the_line_of_the_program():
    def fails(cab):
        cab.sleep(10)
        raise KeyError("mine")

    with simulated("hub:1") as system:
        system.spawn("CAB1", fails)
        with pytest.raises(ProgramError, match=r"task fails 1 on CAB1 failed at .* KeyError: 'mine'") as caught:
            drive(system.run())
        trace, last = caught.value.__cause__.__traceback__, None
        while trace is not None:
            last, trace = trace, trace.tb_next
        assert last.tb_frame.f_code.co_name == "fails"


def test_wrong_arguments_are_refused_before_anything_runs():
    with simulated("hub:1") as system:
        with pytest.raises(TypeError, match=r"job\(\): too many positional arguments"):
            system.spawn("CAB1", job, 1, 2)
        with pytest.raises(TypeError, match="a task is a function, not None: give the function and its arguments"):
            system.spawn("CAB1", None)


def job(cab, one):
    pass


def test_wait_outside_of_a_plain_task_says_so():
    async def coroutine(cab):
        with pytest.raises(ProgramError, match="only in a plain function that runs as a task: start it"):
            wait(cab.sleep(10))
        with pytest.raises(ProgramError, match="in an async function it is 'await'"), cab.lock():
            pass

    run_task(coroutine)
    with pytest.raises(ProgramError, match="a call can block only in a plain function"):
        wait(None)


PROGRAM = """
TOPOLOGY = "hub:2"

def job(cab):
    {job}

async def main(system, arguments):
    system.spawn("CAB1", job)
    {main}
    await system.run()
    print("done")
"""


@pytest.mark.parametrize(
    "job, main_, said",
    [
        (
            "cab.datagram.send((9, 1), b'')",
            "pass",
            r"task job 1 on CAB1 failed at .*: NoRoute: .* \(program.py:5\)",
        ),
        (
            "pass",
            "helper(system.cab('CAB1'))\n\ndef helper(cab):\n    cab.sleep(5)\n\nasync def other(system):",
            r"program.py:12: Cab.sleep blocks only in a plain function that runs as a task; here it has done nothing",
        ),
        ("while True: cab.mailbox(1).receive()", "pass", r"nothing can happen .*: task job 1 on CAB1 waits for .*"),
        ("import asyncio; asyncio.run(cab.sleep(5))", "pass", r".*a coroutine was expected, got None \(program.py:5\)"),
    ],
)
def test_each_mistake_is_told_in_one_line(job, main_, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM.format(job=job, main=main_))
    assert main(["run", "program.py", "--boards", "fast"]) != 0
    error = capsys.readouterr().err
    assert re.fullmatch(f"nectar: {said}\n", error), error

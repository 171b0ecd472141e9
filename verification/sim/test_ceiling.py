"""The program that the engine's speed is measured against does what it says: the same traffic, with the same
registers, whose addresses come from ``sim.numbers``."""

import json
import subprocess

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import ANY_HUB
from nectar.sim import build
from nectar.sim.machines.nectar import boards_of
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.verification.sim.traffic import run


def ceiling(*arguments):
    return subprocess.run([build.ceiling(boards_of()), *map(str, arguments)], capture_output=True, text=True)


def python(talkers, microseconds, size):
    """The same traffic by Python software on the engine: packets that arrive in the time given."""
    machine = EngineMachine(load("hub:16"))
    received = [0]
    write_to = {name: REG[name].address for name in REG}

    def software(number):
        door = machine.doors[f"CAB{number + 1}"]
        command, area = REG["TX_COMMAND"], REG["TX_AREA"]

        def send():
            door.write(
                write_to["TX_COMMAND"],
                command.wait_ready.mask
                | command.opcode.put(int(Op.TEST_OPEN_RETRY))
                | command.hub.put(1)
                | command.param.put((number + 1) % talkers),
            )
            door.write(write_to["TX_ADDRESS"], REGIONS["data"].base)
            door.write(
                write_to["TX_AREA"],
                area.notify.mask | area.start.mask | area.end.mask | area.crc.mask | area.length.put(size - 4),
            )
            door.write(write_to["TX_COMMAND"], command.opcode.put(int(Op.CLOSE_ALL)) | command.hub.put(ANY_HUB))

        async def interrupt():
            pending = await door.read(write_to["IRQ_PENDING"])
            if pending >> Irq.SENT & 1:
                door.write(write_to["IRQ_PENDING"], 1 << Irq.SENT)
                send()
            if pending >> Irq.PACKET & 1:
                door.write(write_to["RX_ADDRESS"], REGIONS["data"].base + 0x10000)
                door.write(write_to["RX_START"], 2048)
                door.write(write_to["TX_READY"], 0)
            if pending >> Irq.RECEIVED & 1:
                door.write(write_to["RX_RELEASE"], 0)
                received[0] += 1

        async def main():
            door.attach(interrupt)
            door.write(write_to["IRQ_ENABLE"], 1 << Irq.PACKET | 1 << Irq.RECEIVED | 1 << Irq.SENT)
            if number < talkers:
                send()
                send()
            while True:
                await door.wait()

        return main()

    for number in range(16):
        machine.start(f"CAB{number + 1}", software(number))
    run(machine, microseconds * 1_000_000)
    machine.close()
    return received[0]


@pytest.mark.parametrize("talkers, size", [(16, 1024), (3, 100)])
def test_it_carries_the_packets_that_the_engine_carries(talkers, size):
    """At most one for each CAB is still on its way in one and not in the other."""
    outcome = ceiling(talkers, 1000, size)
    told = json.loads(outcome.stdout)
    assert told["talkers"] == talkers and told["bus_errors"] == 0
    assert told["cycles"] == -(-1_000_000_000 // PROTOTYPE.hub_period_ps)
    assert told["cycles_per_second"] == pytest.approx(told["cycles"] / told["seconds"], rel=0.01)
    assert abs(told["packets"] - python(talkers, 1000, size)) <= talkers
    # A packet and its commands take the fiber for size + 10 symbols; with flow control the fiber is busy most of the
    # time.
    assert told["packets"] > 0.6 * talkers * 1_000_000 / 80 / (size + 10)


@pytest.mark.parametrize("arguments", [(17, 100), (-1, 100), (16, 0), (16, 100, 19), (16, 100, 1025)])
def test_wrong_use_is_told(arguments):
    outcome = ceiling(*arguments)
    assert outcome.returncode == 2 and "ceiling TALKERS" in outcome.stderr

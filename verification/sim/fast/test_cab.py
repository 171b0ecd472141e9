"""The fast CAB shows at its pins what the RTL shows, in every cycle; and in whole systems nobody can tell them apart.

Specification: docs/cab.md."""

import json
import subprocess
from collections import Counter

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.cab.regions import DOMAINS, PAGES, AccessKind, Right
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.door import BusError
from nectar.software.machine import node_name
from nectar.verification import seeds
from nectar.verification.sim.fast import cab_boards
from nectar.verification.sim.test_sleep import record
from nectar.verification.sim.test_vme import BASE, SIZE
from nectar.verification.sim.test_vme import run as run_node
from nectar.verification.sim.traffic import run


def lockstep(kind, seed, cycles):
    """Steps both boards; what the program counts. AssertionError, with the cycles around it, at a difference."""
    outcome = subprocess.run([cab_boards.lockstep(), kind, str(seed), str(cycles)], capture_output=True, text=True)
    assert outcome.returncode == 0, f"{kind}, seed {seed}\n{outcome.stdout}{outcome.stderr}"
    return json.loads(outcome.stdout)


def everything(kind, runs, cycles):
    """Runs from seeds of their own; each kind of stimulus must have been there."""
    total = Counter()
    for number in range(runs):
        total.update(lockstep(kind, seeds.rng("fast", kind, number).randrange(1 << 32), cycles))
    assert total["cycles"] == runs * cycles
    assert min(total[what] for what in ("accesses", "refused", "symbols_in", "symbols_out", "slept")) > cycles / 10
    assert min(total["packets_in"], total["packets_out"]) > cycles / 1000
    if kind == "vmecab":
        assert min(total["node_accesses"], total["node_refused"]) > cycles / 1000
        assert min(total["not_granted"], total["windows"], total["bus_errors"]) > 0
        assert total["transfers"] > cycles / 100


@pytest.mark.parametrize("kind", ["cab", "vmecab"])
def test_both_show_the_same_in_every_cycle(kind):
    everything(kind, 10, 60_000)


def test_strobes_are_looked_at_once():
    """What follows at once behind a cycle that was not for the board, and that nobody answered, is looked at from its
    own strobes on: in cycle 282,168 of this run, an access behind an interrupt acknowledgment."""
    lockstep("vmecab", 435070237, 300_000)


def test_a_block_of_the_supervisor_is_a_block():
    """docs/vme.md, "Slave": 3F as well as 3B. In cycle 37,761 of this run, a read of the board's own memory by its DMA
    channel, which holds no access of the CPU off."""
    lockstep("vmecab", 2999936277, 40_000)


def test_a_refused_word_is_told_a_cycle_later_to_strobes_that_are_there_when_it_is_refused():
    """In cycle 201,385 of this run, in a block that a node writes."""
    lockstep("vmecab", 2045998857, 210_000)


def test_a_grant_that_goes_on_is_over_before_the_board_asks_for_the_bus():
    """Though nothing else is under way meanwhile: in cycle 190,206 of this run the CPU's access to the bus comes long
    behind the grant."""
    lockstep("vmecab", 442348778, 195_000)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["cab", "vmecab"])
def test_both_show_the_same_in_every_cycle_of_a_long_run(kind):
    everything(kind, 100, 300_000)


def ask_oneself(boards, modifier):
    """What a CAB finds that fetches from its own data memory over VME, where VME may read and not execute: how that
    ended, what protection has recorded, and when. (The simulated bus does not carry a board's data to itself.)"""
    machine = EngineMachine(load("hub:1"), nodes=["CAB1"], boards=boards)
    door, found = machine.doors["CAB1"], []
    source, target = REGIONS["data"].base, REGIONS["data"].base + 0x2000

    async def main():
        rights = bytes([Right.READ]) * PAGES
        door.write_block(REGIONS["protection"].base + (DOMAINS - 1) * PAGES, rights)
        door.write(REG["DOMAINS_ON"].address, 1 << DOMAINS - 1)
        door.write(REG["VD_ADDRESS"].address, target)
        door.write(REG["VD_REMOTE"].address, source)
        fetch = REG["VD_FETCH"]
        door.write(fetch.address, fetch.length.put(64) | fetch.modifier.put(modifier) | fetch.notify.mask)
        while await door.read(REG["VD_STATUS"].address) & REG["VD_STATUS"].busy.mask:
            door.spend(100)
        found.extend([await door.read(REG[name].address) for name in ("VD_RESULT", "TRAP_INFO", "TRAP_ADDRESS")])
        found.append(await door.now())

    machine.start("CAB1", main())
    try:
        run(machine, 10_000_000_000)
    finally:
        machine.close()
    return found


@pytest.mark.parametrize("modifier", [0x39, 0x3A, 0x3B, 0x3D, 0x3E, 0x3F])
def test_each_modifier_does_the_same(modifier):
    """docs/vme.md, "Slave": data, programs and blocks of user and supervisor; of a program a read is a fetch."""
    rtl, fast = (ask_oneself(boards, modifier) for boards in ("rtl", "fast"))
    assert rtl == fast
    result, info, address, _ = rtl
    if modifier & 3 == 2:
        kind = REG["TRAP_INFO"].kind.get(info)
        assert REG["VD_RESULT"].berr.get(result) and kind == AccessKind.EXECUTE and address == REGIONS["data"].base
    else:
        assert (result, info) == (0, 0)


def ask_of_vme(boards):
    """What a CAB whose node has no power finds when it sends to VME by DMA and reads the window; CPU cycles of both
    answers."""
    machine = EngineMachine(load("hub:1"), nodes=["CAB1"], boards=boards)
    door, found = machine.doors["CAB1"], []

    async def main():
        door.attach(interrupted)
        door.write(REG["IRQ_ENABLE"].address, 1 << Irq.VME_ERROR)
        door.write_block(REGIONS["data"].base, bytes(range(64)))
        door.write(REG["VD_ADDRESS"].address, REGIONS["data"].base)
        door.write(REG["VD_REMOTE"].address, 0x1000)
        send = REG["VD_SEND"]
        door.write(send.address, send.length.put(64) | send.modifier.put(0x3B) | send.notify.mask)
        while not found:
            await door.wait()
        try:
            await door.read(REGIONS["vme"].base)
        except BusError as error:
            found.append((error.address, await door.now()))

    async def interrupted():
        result = REG["VD_RESULT"]
        status = await door.read(REG["VD_STATUS"].address)
        told = await door.read(result.address)
        door.write(result.address, 0)
        door.write(REG["IRQ_PENDING"].address, 1 << Irq.VME_ERROR)
        found.append((status, result.timeout.get(told), await door.now()))

    machine.start("CAB1", main())
    machine.stop(node_name("CAB1"))
    try:
        assert run(machine, 10_000_000_000) == "quiet"
    finally:
        machine.close()
    return found


def test_what_a_cab_asks_of_a_bus_that_nobody_grants_ends_the_same():
    """docs/vme.md, "Master and requester": after 1 ms."""
    rtl, fast = ask_of_vme("rtl"), ask_of_vme("fast")
    assert rtl == fast
    (_, timed_out, first), (address, second) = rtl
    assert timed_out and address == REGIONS["vme"].base
    millisecond = 1_000_000_000 // PROTOTYPE.cab_period_ps
    assert millisecond < first < millisecond + 1000 and millisecond < second - first < millisecond + 1000


@pytest.mark.parametrize("name, seed", [("hub:4", 1), ("figure7", 2)])
def test_a_system_of_fast_cabs_does_the_same_at_the_same_time(name, seed):
    """Every symbol on every fiber, every packet, every reading of a clock, the time of the end."""
    topology = load(name)
    expected, cycles = record(topology, seed)
    seen, fast_cycles = record(topology, seed, boards="fast", rtl=topology.hubs)
    assert seen == expected
    assert cycles == fast_cycles


async def timed(door):
    """A node that stores and loads words, bytes and blocks: what it has loaded, and when."""
    random = seeds.rng("timed node")
    seen = []
    for _ in range(40):
        size = random.choice((1, 2, 4))
        where = BASE + random.randrange(SIZE // 8) * 4
        length = random.randrange(1, 600)
        if random.random() < 0.5:
            door.write(where, random.randrange(1 << 8 * size), size)
            door.write_block(where, random.randbytes(length))
        else:
            seen.append(await door.read(where, size))
            seen.append(await door.read_block(where, length))
        seen.append(await door.now())
    return seen


def test_a_node_at_a_fast_cab_sees_the_same_at_the_same_time():
    """Loads, stores, interrupts and their acknowledgments (docs/vme.md)."""
    expected = run_node(timed, interrupts=5)
    assert run_node(timed, interrupts=5, boards="fast", rtl=["HUB1"]) == expected

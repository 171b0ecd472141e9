"""A node's bus in the engine: what it loads and stores is there, as the rules of the VMEbus have it, in the cycles
that the page says."""

import contextlib

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.cab.regions import PAGE_BITS, PAGES
from nectar.hdl.cab.vme.numbers import NODE_MEMORY, NODE_MEMORY_BYTES, NODE_PAGE_BYTES, NODE_PAGES, Modifier
from nectar.hdl.host.events import EventGroup, EventKind, VmeMark
from nectar.hdl.host.numbers import RESET_EDGES
from nectar.sim.adapter import VME_PINS
from nectar.sim.profile import MODERN, PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.door import BusError
from nectar.software.machine import node_name
from nectar.software.node.layout import ACKNOWLEDGE
from nectar.verification import seeds
from nectar.verification.cab.vme.backplane import Backplane, point
from nectar.verification.cab.vme.checker import Checker
from nectar.verification.sim.vcd import read

#: What the node may touch.
BASE, SIZE = REGIONS["data"].base, 1 << 13
TABLE = REGIONS["protection"].base + 31 * PAGES
LEVEL, VECTOR = 5, 0xA7
#: Of the board's data lines a waveform has whether they drive the bus.
PINS = tuple("data_drive" if pin == "data_out" else pin for pin in VME_PINS)


def run(node, profile=PROTOTYPE, interrupts=0, **options):
    """Runs ``node(door)`` on the node of a CAB that has opened its memory to it; the CAB raises so many interrupts.
    Returns (result, BaseException or None)."""
    machine = EngineMachine(load("hub:1"), profile, nodes=["CAB1"], **options)
    cab = machine.doors["CAB1"]
    results = []

    async def open_memory():
        for offset in range(0, PAGES, 256):
            cab.write_block(TABLE + offset, bytes(256))
        cab.write_block(TABLE + (BASE >> PAGE_BITS), bytes([3] * (SIZE >> PAGE_BITS)))
        cab.write(REG["DOMAINS_ON"].address, 1 << 31)
        cab.write_block(BASE, bytes(SIZE))
        for _ in range(interrupts + 1):
            await cab.now()
            cab.write(
                REG["VME_INTERRUPT"].address,
                REG["VME_INTERRUPT"].level.put(LEVEL) | REG["VME_INTERRUPT"].vector.put(VECTOR),
            )
            while await cab.read(REG["VME_INTERRUPT"].address):
                cab.spend(50)

    async def main():
        door = machine.nodes[node_name("CAB1")]
        heard = []

        async def handler():
            heard.append(await door.read(ACKNOWLEDGE))
            heard.append(await door.read(ACKNOWLEDGE))

        door.attach(handler)
        while not heard:
            await door.wait()
        results.append(await node(door))
        while len(heard) < 2 * (interrupts + 1):
            await door.wait()
        assert heard == [LEVEL << 8 | VECTOR, 0] * (interrupts + 1)

    machine.start("CAB1", open_memory())
    machine.start(node_name("CAB1"), main())
    try:
        with pytest.raises(StopIteration) as outcome:
            machine.run(lambda: False, 10**11).send(None)
        assert outcome.value.value == "quiet"
    finally:
        machine.close()
    return results[0]


def mixed(accesses):
    """A node that makes random accesses and compares what it loads with what it has stored."""

    async def node(door):
        random = seeds.rng("vme")
        memory = bytearray(SIZE)
        for _ in range(accesses):
            kind = random.randrange(6)
            size = random.choice((1, 2, 4))
            where = random.randrange(SIZE // size) * size
            length = random.randrange(1, 600)
            start = random.randrange(SIZE - length)
            if kind == 0:
                value = random.randrange(1 << 8 * size)
                door.write(BASE + where, value, size)
                memory[where : where + size] = value.to_bytes(size, "big")
            elif kind == 1:
                assert await door.read(BASE + where, size) == int.from_bytes(memory[where : where + size], "big")
            elif kind == 2:
                data = random.randbytes(length)
                door.write_block(BASE + start, data)
                memory[start : start + length] = data
            elif kind == 3:
                assert await door.read_block(BASE + start, length) == memory[start : start + length]
            elif kind == 4:
                with pytest.raises(BusError):
                    await door.read(BASE + SIZE + 4 * random.randrange(1000))
            else:
                door.spend(random.randrange(40))
        assert await door.read_block(BASE, SIZE) == memory

    return node


def test_what_a_node_stores_is_what_it_loads():
    """Bytes, halfwords, words, blocks of any alignment, across multiples of 256 bytes; errors and interrupts among
    them."""
    run(mixed(150), interrupts=20)


@pytest.mark.nightly
@pytest.mark.parametrize("profile", [PROTOTYPE, MODERN], ids=["prototype", "modern"])
def test_many_accesses(profile):
    run(mixed(4000), profile, interrupts=300)


def test_the_board_sees_the_same_whether_it_sleeps_or_not():
    async def node(door):
        await mixed(40)(door)
        return await door.now()

    assert run(node, interrupts=3) == run(node, interrupts=3, sleep=False)


def replay(path):
    """Puts what a waveform has of the VME pins on the lines of a Backplane; returns its Checker, and how many
    interrupts were acknowledged."""
    signals = read(path, [f"CAB1.vmecab.board.vme__{pin}" for pin in PINS])
    changes = {}
    for name, signal in signals.items():
        pin = name.rpartition("__")[2]
        for time, value in zip(signal.times, signal.values):
            changes.setdefault(time, {})[pin] = value
    now = [0.0]
    bus = Backplane(lambda: now[0], slots=1)
    checker = Checker(bus)
    bus.drive("node", bbsy=0)
    pins = dict.fromkeys(PINS, 0) | {"as_n": 1, "ds_n": 3, "write_n": 1, "lword_n": 1, "iack_n": 1, "iackin_n": 1}
    taken = 0
    for time in sorted(changes):
        now[0] = time / 1000
        taken += bin(pins["irq_pull"] & ~changes[time].get("irq_pull", pins["irq_pull"])).count("1")
        pins |= changes[time]
        bus.drive(
            "node",
            lword=pins["lword_n"],
            iack=pins["iack_n"],
            address=pins["address"],
            am=pins["am"],
            write=pins["write_n"],
        )
        stored = None if pins["write_n"] else pins["data"]
        bus.drive(
            "node",
            data_high=None if stored is None else stored >> 16,
            data_low=None if stored is None else stored & 0xFFFF,
        )
        bus.drive("node", **{"as": pins["as_n"]}, ds0=pins["ds_n"] & 1, ds1=pins["ds_n"] >> 1)
        bus.drive("node", **{point("iackin", 0): pins["iackin_n"]})
        # The board's data lines follow the strobes without a clock between; its answers do not.
        drive = pins["data_drive"]
        bus.drive("cab", data_high=0 if drive & 2 else None, data_low=0 if drive & 1 else None)
        bus.drive("cab", dtack=int(not pins["dtack_pull"]), berr=int(not pins["berr_pull"]))
        bus.drive("cab", **{f"irq{level}": int(not pins["irq_pull"] >> level - 1 & 1) for level in range(1, 8)})
    return checker, taken


@pytest.mark.parametrize(
    "profile", [PROTOTYPE, pytest.param(MODERN, marks=pytest.mark.nightly)], ids=["prototype", "modern"]
)
def test_the_bus_keeps_the_rules(tmp_path, profile):
    """What is on the pins while a node works breaks no rule of IEEE 1014 that the checker of the regression knows."""
    path = tmp_path / "bus.vcd"
    run(mixed(60), profile, interrupts=5, waves=path, wave_boards=["CAB1"])
    checker, taken = replay(path)
    assert taken == 6
    checker.done(
        "ADDRESS-SETUP",
        "ADDRESS-HOLD",
        "AS-HIGH",
        "AS-LOW",
        "AS-HOLD",
        "DS-ORDER",
        "DS-HIGH",
        "DS-FREE",
        "DS-HOLD",
        "DATA-SETUP",
        "WRITE-HOLD",
        "BLOCK",
        "ANSWER",
        "ONE-ANSWER",
        "ANSWER-HOLD",
        "READ-TURN",
        "READ-SETUP",
        "IRQ-HOLD",
        "CONFLICT",
        "OWNER",
    )


def test_accesses_take_the_cycles_that_the_page_says():
    """docs/nodes.md: 15 to 17 for a store, 17 to 20 for a load, 582 to 588 for a block of 64 words, whenever they
    begin."""

    async def node(door):
        times = {kind: set() for kind in ("store", "load", "store block", "load block")}
        for wait in range(40):
            for kind, access in (
                ("store", lambda: door.write(BASE, 1)),
                ("store block", lambda: door.write_block(BASE, bytes(256))),
                ("load", lambda: door.read(BASE)),
                ("load block", lambda: door.read_block(BASE, 256)),
            ):
                door.spend(wait)
                begin = await door.now()
                value = access()
                if value is not None:
                    await value
                times[kind].add(await door.now() - begin)
        return times

    times = run(node)
    assert times["store"] == {15, 16, 17} and times["load"] == {17, 18, 19, 20}
    assert all(582 <= cycles <= 588 for cycles in times["store block"] | times["load block"])


def test_each_cycle_is_recorded_with_what_the_node_has_asked_for():
    """Address, direction, width and error of every cycle are those of the node's accesses, and its time lies within
    the access; the first cycle acknowledges the interrupt."""
    asked = []  # begin and end in cycles of the node's clock, and the cycles that the access should be

    async def node(door):
        # Bytes 5 to 17 of a block: a byte and a halfword, two words as a block, two bytes.
        pieces = [(5, 1, 0), (6, 2, 0), (8, 4, VmeMark.BLOCK), (12, 4, VmeMark.BLOCK), (16, 2, 0)]
        for access, cycles in (
            (lambda: door.write(BASE + 8, 0x80), [(8, 4, VmeMark.STORE)]),
            (lambda: door.write(BASE + 9, 0x81, 1), [(9, 1, VmeMark.STORE)]),
            (lambda: door.write(BASE + 10, 0x82, 2), [(10, 2, VmeMark.STORE)]),
            (lambda: door.read(BASE + 8), [(8, 4, 0)]),
            (lambda: door.read(BASE + 11, 1), [(11, 1, 0)]),
            (lambda: door.read(BASE + SIZE), [(SIZE, 4, VmeMark.ERROR)]),
            (lambda: door.read_block(BASE + 5, 13), pieces),
        ):
            begin = await door.now()
            with contextlib.suppress(BusError):
                if (result := access()) is not None:
                    await result
            asked.append((begin, await door.now(), cycles))

    recorder = Recorder(groups=EventGroup.BOARDS)
    with recorder:
        run(node, recorder=recorder)
        found = list(recorder.recording().events([EventKind.VME]))
    assert {event.board for event in found} == {node_name("CAB1")}
    first = found.pop(0)
    assert (first.address, first.length, first.mark) == (LEVEL, 1, VmeMark.ACKNOWLEDGE)
    assert [(event.address - BASE, event.length, event.mark) for event in found] == [
        cycle for _, _, cycles in asked for cycle in cycles
    ]
    period = PROTOTYPE.cab_period_ps
    for begin, end, cycles in asked:
        for event in (found.pop(0) for _ in cycles):
            times = event.begin_ps, event.time_ps
            assert begin * period <= times[0] - RESET_EDGES * period < times[1] - RESET_EDGES * period <= end * period
    assert not found


def test_a_node_is_wanted_of_a_cab_that_is_there():
    with pytest.raises(ValueError, match="there is no board 'CAB9' to have a node; there are CAB1"):
        EngineMachine(load("hub:1"), nodes=["CAB9"])


#: What a CAB moves to and from the node's memory: byte offsets there and in data memory, bytes.
MOVES = [(0, 0, 4), (3, 1, 1), (8, 3, 700), (0x101, 6, 259), (0x3F2, 0, 1004), (NODE_PAGE_BYTES - 100, 2, 200)]
SEND, FETCH = REG["VD_SEND"], REG["VD_FETCH"]
CHANNEL = 1 << Irq.VME_DONE | 1 << Irq.VME_ERROR


def channel(cab_task, pages, boards="rtl", **options):
    """Runs ``cab_task(door, move)`` on a CAB whose node has opened so many ``pages`` of its memory and then polls the
    CAB's bus; ``await move(SEND or FETCH, remote, local, bytes, modifier)`` gives VD_RESULT and the cycles. Returns
    what the task has returned and what the node finds in its memory."""
    machine = EngineMachine(load("hub:1"), nodes=["CAB1"], boards=boards, **options)
    cab, node, found = machine.doors["CAB1"], machine.nodes[node_name("CAB1")], []
    told = []

    async def interrupted():
        told.append((await cab.read(REG["VD_RESULT"].address), await cab.now()))
        cab.write(REG["VD_RESULT"].address, 0)
        cab.write(REG["IRQ_PENDING"].address, CHANNEL)

    async def move(register, remote, local, length, modifier=Modifier.A32_USER_BLOCK):
        cab.write(REG["VD_ADDRESS"].address, BASE + local)
        cab.write(REG["VD_REMOTE"].address, remote)
        begin = await cab.now()
        cab.write(
            register.address,
            register.length.put(length) | register.modifier.put(modifier) | register.notify.mask,
        )
        while not told:
            await cab.wait()
        result, end = told.pop()
        return result, end - begin

    async def cab_main():
        cab.attach(interrupted)
        cab.write(REG["IRQ_ENABLE"].address, CHANNEL)
        cab.spend(20_000)  # until the node has filled its memory
        found.append(await cab_task(cab, move))

    async def node_main():
        for page in range(pages):
            node.write(NODE_PAGES + 4 * page, 1)
        node.write_block(NODE_MEMORY, bytes(range(256)) * 64)
        while not found:
            await node.read(ACKNOWLEDGE)
            node.spend(100)
        found.append(await node.read_block(NODE_MEMORY, 2 * NODE_PAGE_BYTES))

    machine.start("CAB1", cab_main())
    machine.start(node_name("CAB1"), node_main())
    try:
        outcome = machine.run(lambda: len(found) == 2, 10**11)
        with pytest.raises(StopIteration) as ended:
            outcome.send(None)
        assert ended.value.value == "stopped"
    finally:
        machine.close()
    return found


async def moves(door, move):
    """Moves bytes of many alignments there and back."""
    times, back = [], []
    for remote, local, length in MOVES:
        data = bytes(5 * n + length & 0xFF for n in range(length))
        door.write_block(BASE + local, data)
        result, cycles = await move(SEND, NODE_MEMORY + remote, local, length)
        assert not result
        times.append(cycles)
        result, cycles = await move(FETCH, NODE_MEMORY + remote, 0x2000 + local, length)
        assert not result
        times.append(cycles)
        back.append(await door.read_block(BASE + 0x2000 + local, length) == data)
    return times, back


@pytest.fixture(scope="module")
def moved():
    """What comes of the moves, by RTL."""
    return channel(moves, 2)


def test_a_cab_moves_bytes_to_and_from_its_nodes_memory(moved):
    """docs/nodes.md, "The node's memory": any alignment, across pages and multiples of 256 bytes; nothing else of the
    memory changes."""
    (_, back), memory = moved
    assert all(back)
    expected = bytearray(bytes(range(256)) * 64)
    for remote, _, length in MOVES:
        expected[remote : remote + length] = bytes(5 * n + length & 0xFF for n in range(length))
    assert memory == expected


def test_fast_boards_move_the_same_at_the_same_time(moved):
    assert channel(moves, 2, boards="fast") == moved


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_memory_that_the_node_has_not_opened_is_a_bus_error(boards):
    """docs/nodes.md: a page that is not open, at once; beyond the memory, by the bus timer; bytes before it have
    arrived."""

    async def ask(door, move):
        door.write_block(BASE, b"\xa5" * 1004)
        found = [await move(SEND, NODE_MEMORY + NODE_PAGE_BYTES - 504, 0, 1004)]
        found.append(await door.read(REG["VD_PROGRESS"].address))
        found.append(await move(FETCH, NODE_MEMORY + NODE_MEMORY_BYTES, 0, 4))
        found.append(await move(FETCH, NODE_MEMORY, 0, 4))
        return found

    (cut, progress, beyond, good), memory = channel(ask, 1, boards)
    berr = REG["VD_RESULT"].berr.mask
    assert cut[0] == beyond[0] == berr and progress == 504 and not good[0]
    assert cut[1] < 504 / 4 * 7 and 800 < beyond[1] < 1000
    assert memory[NODE_PAGE_BYTES - 504 : NODE_PAGE_BYTES + 4] == b"\xa5" * 504 + bytes(range(4))


def test_a_move_takes_the_cycles_that_the_page_says():
    """docs/nodes.md: 256 bytes as a block, in both directions."""

    async def ask(door, move):
        door.spend(4000)
        return [
            (await move(register, NODE_MEMORY, 0, 1024))[1] - (await move(register, NODE_MEMORY, 0, 768))[1]
            for register in (SEND, FETCH)
        ]

    async def quiet(door, move):
        return [await ask(door, move) for _ in range(3)]

    times, _ = channel(quiet, 1)
    assert all(380 <= cycles <= 405 for pair in times for cycles in pair), times


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_cycles_of_the_cab_are_recorded_as_its_own(boards):
    """Words of a block, bytes before and behind it, a bus error; each with its address, in order."""

    async def ask(door, move):
        await move(SEND, NODE_MEMORY + 3, 0, 10)
        await move(FETCH, NODE_MEMORY + NODE_PAGE_BYTES, 0, 4)

    recorder = Recorder(groups=EventGroup.BOARDS)
    with recorder:
        channel(ask, 1, boards, recorder=recorder)
        found = [event for event in recorder.recording().events([EventKind.VME]) if event.board == "CAB1"]
    store = VmeMark.STORE
    assert [(event.address - NODE_MEMORY, event.length, event.mark) for event in found] == [
        (3, 1, store),
        (4, 4, store | VmeMark.BLOCK),
        (8, 4, store | VmeMark.BLOCK),
        (12, 1, store),
        (NODE_PAGE_BYTES, 4, VmeMark.BLOCK | VmeMark.ERROR),
    ]
    assert all(event.begin_ps < event.time_ps for event in found)

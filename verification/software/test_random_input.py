"""Whatever arrives from a wire, or from a node, is checked where it is decoded: random bytes and damaged valid ones end
no software, and leak nothing.

Sources: docs/errors.md; docs/routing.md (a reply has no check code); docs/nodes.md. Packets here have a good CRC, so
each header reaches its decoder.
"""

import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.hub.commands import Op
from nectar.software import errors
from nectar.software.node.layout import AREA, BELL, COMMAND, COMMANDS, COUNTS, RINGS_BYTES, Code, command_at
from nectar.software.packet import Protocol
from nectar.software.transport.commands import MAILBOX, Command
from nectar.software.transport.datagram import MAX_MESSAGE
from nectar.verification import seeds

from .helpers import drive, held, pattern, simulated

SERVICE, PORT, BOX = 7, 9, 3
#: Simulated time in which all that random packets have begun must be forgotten, in picoseconds.
FORGET = 2 * 10**12


# -- what goes on beside it
# ----------------------------------------------------------------------------------------------------
async def serve(cab):
    service = cab.request.serve(SERVICE)
    while True:
        request = await service.receive()
        await request.reply((await request.read())[::-1])


async def echo(cab):
    listener = cab.stream.listen(PORT)
    while True:
        connection = await listener.accept()

        async def answer(cab, connection=connection):
            try:
                while data := await connection.receive():
                    await connection.send(data)
                await connection.close()
            except errors.StreamError:
                pass

        cab.spawn(answer)


def offer(cab):
    """Has a CAB serve in each protocol."""
    cab.spawn(serve)
    cab.spawn(echo)
    cab.mailbox(BOX).on_arrival = lambda message: message.free() or True


async def use(cab, other, count):
    """Calls ``other`` in each protocol; an error is one of the program's."""
    done = 0
    for number in range(count):
        data = pattern(1500, number)
        try:
            assert await cab.request.call((other, SERVICE), data) == data[::-1]
            await cab.multicast.send(([other], BOX), data)
            await cab.datagram.send((other, BOX), data, "circuit" if number % 2 else "packet")
            connection = await cab.stream.connect((other, PORT))
            await connection.send(data)
            await connection.close()
            while await connection.receive():
                pass
            done += 1
        except errors.ProgramError:
            pass
    return done


# -- replies
# -------------------------------------------------------------------------------------------------------------------
async def call_all(cab, others):
    for number in range(4):
        for other in others:
            data = bytes([cab.id, other, number]) * 30
            assert await cab.request.call((other, SERVICE), data) == data[::-1]
            try:
                await cab.datagram.send((other, BOX), data, "circuit" if number % 2 else "packet")
            except errors.CircuitError:
                pass  # with four attempts, and all HUBs on the way to answer


@pytest.mark.parametrize(
    "topology, rate, seed",
    [
        ("chain:2", 0.1, 0),
        pytest.param("chain:2", 0.1, 1, marks=pytest.mark.nightly),
        pytest.param("chain:2", 0.1, 2, marks=pytest.mark.nightly),
        ("mesh:2x2", 0.02, 0),
    ],
)
def test_damaged_replies_end_no_run(topology, rate, seed):
    """Of one reply in ten a byte is wrong, while routes are found out and circuits are opened."""
    with simulated(topology, routes="discovered", faults=[f"*:errors-reply={rate}"], seed=seed) as system:
        for cab in system.cabs:
            offer(cab)
        for cab in system.cabs:
            system.spawn(cab.name, call_all, [other.id for other in system.cabs if other is not cab])
        system.go()
        assert system.placed[0].hits and sum(cab.datalink.counters.damaged_replies for cab in system.cabs)


def test_random_replies_end_no_run():
    """Words such as the register REPLY may hold, all the time, while a CAB asks HUBs, opens circuits and gives
    commands."""
    reply = REG["REPLY"]
    rng = seeds.rng("replies")

    async def babble(cab):
        while True:
            op = rng.choice([*Op, rng.randrange(256)])
            cab.interrupts.on_reply(
                reply.valid.mask
                | reply.opcode.put(op & 0xFF)
                | reply.hub.put(rng.choice([1, 2, rng.randrange(256)]))
                | reply.value.put(rng.choice([rng.randrange(16), rng.randrange(256)]))
            )
            await cab.sleep(rng.randrange(5, 60))

    async def ask(cab):
        for _ in range(30):
            cab.datalink.report_unresponsive(2)
            for action in (
                cab.datalink.discovery.seek(77),
                cab.datalink.command(Op.IDENTITY_REPLY, 255),
                cab.datagram.send((2, BOX), bytes(100), "circuit"),
            ):
                try:
                    await action
                except errors.ProgramError:
                    pass
            await cab.sleep(1000)

    with simulated("chain:3", routes="discovered") as system:
        for cab in system.cabs:
            offer(cab)
        babbler = system.cab("CAB1").spawn(babble)
        system.spawn("CAB1", ask)
        system.go()
        babbler.end()
        assert system.cab("CAB1").datalink.counters.damaged_replies


# -- packets
# -------------------------------------------------------------------------------------------------------------------
def overhear(system, kept):
    """Has each header that a protocol is shown noted in ``kept``."""
    for cab in system.cabs:
        protocols = cab.datalink._in.protocols
        for number, protocol in protocols.items():
            protocols[number] = Ear(protocol, kept)


class Ear:
    """Stands before a transport protocol."""

    def __init__(self, real, kept):
        self.real, self.kept, self.received = real, kept, real.received

    def packet(self, header):
        self.kept.append(header)
        return self.real.packet(header)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 10))])
def test_random_packets_end_no_run_and_leak_nothing(seed):
    """From CAB1 to CAB2, in the name of anybody but CAB4: bytes of noise, and headers overheard of which up to three
    bytes are wrong, with bodies of any length."""
    rng = seeds.rng("packets", seed)
    overheard = []

    def header():
        if rng.random() < 0.4 or not overheard:
            made = bytearray(rng.randbytes(16))
            made[0], made[2] = (
                rng.choice([*Protocol, rng.randrange(256)]),
                rng.choice([2, 2, 2, 255, rng.randrange(256)]),
            )
            made[3] &= rng.choice([0xFF, 0x8F, 0x3F])
            if rng.random() < 0.5:
                made[8:16] = rng.randrange(MAX_MESSAGE).to_bytes(4, "big") + rng.randrange(MAX_MESSAGE).to_bytes(
                    4, "big"
                )
        else:
            made = bytearray(rng.choice(overheard[-200:]))
            for _ in range(rng.randrange(4)):
                made[rng.randrange(16)] = rng.choice([0, 1, 255, rng.randrange(256)])
        if made[1] == 4:
            made[1] = 3
        return bytes(made)

    async def fling(cab):
        block = await cab.memory.allocate(2048)
        for number in range(1500):
            size = rng.choice([0, 0, 4, 100, 1004, rng.randrange(1005)])
            cab.datalink.post(cab.datalink.route(2), header(), [(block, size)] if size else [])
            if number % 8 == 7:
                await cab.datalink.finish()
            await cab.sleep(rng.randrange(50))
        await cab.datalink.finish()
        cab.memory.free(block)

    with simulated("hub:4") as system:
        overhear(system, overheard)
        before = held(system)
        for cab in system.cabs:
            offer(cab)
        system.spawn("CAB1", fling)
        system.spawn("CAB3", use, 2, 12)
        system.spawn("CAB2", use, 3, 12)
        system.go(10**13)
        after = system.spawn("CAB4", use, 2, 3)
        system.go(10**13)
        assert after.result == 3  # CAB2 serves as ever

        def empty():
            for cab in system.cabs:
                for box in cab.mailboxes.values():
                    while (message := box.try_take()) is not None:
                        message.free()
            return held(system) == before

        drive(system.machine.run(empty, system.machine.time_ps + FORGET))
        assert held(system) == before


def test_random_commands_end_no_run():
    """In the command mailbox, whole ones of which some bytes are wrong, and noise."""
    rng = seeds.rng("commands")

    async def put(cab, data):
        box = cab.mailbox(MAILBOX)
        message = await box.reserve(len(data))
        message.write(data)
        box.commit(message)

    async def command(cab):
        cab.commands.start()
        for _ in range(300):
            made = bytearray(
                Command(
                    rng.randrange(6),
                    BOX,
                    rng.randrange(1 << 16),
                    rng.choice([SERVICE, BOX, rng.randrange(1 << 16)]),
                    tuple(rng.choice([1, 2, 3, 255]) for _ in range(rng.randrange(4))),
                    tuple(
                        (cab.memory.base + rng.randrange(1 << 20), rng.randrange(1 << 12))
                        for _ in range(rng.randrange(3))
                    ),
                    rng.choice([0, 3000, 2**32 - 1]),
                    rng.randrange(2),
                ).pack()
            )
            for _ in range(rng.choice([0, 0, 1, 3])):
                made[rng.randrange(len(made))] = rng.randrange(256)
            await put(cab, bytes(made) if rng.random() < 0.8 else rng.randbytes(rng.randrange(1, 60)))
            await cab.sleep(rng.randrange(1000))
        counters = cab.commands.counters
        assert counters.commands and counters.refused and counters.headless
        cab.commands.stop()

    with simulated("hub:3") as system:
        for cab in system.cabs:
            offer(cab)
        system.spawn("CAB1", command)
        system.go(10**13)


# -- memory that a CAB and its node share
# --------------------------------------------------------------------------------------
def test_what_a_node_stores_at_random_ends_no_software_of_its_cab():
    rng = seeds.rng("node")

    async def scribble(node):
        await node.attached()
        for _ in range(400):
            chance = rng.random()
            if chance < 0.5:
                number = rng.randrange(COMMANDS)
                node.door.write_block(
                    command_at(number),
                    COMMAND.pack(
                        rng.choice([*Code, rng.randrange(256)]) << 24
                        | rng.randrange(20) << 16
                        | rng.choice([BOX, SERVICE, rng.randrange(1 << 16)]),
                        rng.choice([1, 2, rng.randrange(1 << 32)]),
                        rng.choice([0, AREA + rng.randrange(1 << 18), rng.randrange(1 << 32)]),
                        rng.choice([0, 100, rng.randrange(1 << 32)]),
                        rng.choice([0, 500, rng.randrange(1 << 32)]),
                    ),
                )
            elif chance < 0.8:
                node.door.write(AREA + 4 * rng.randrange(RINGS_BYTES // 4), rng.choice([0, 1, rng.randrange(1 << 32)]))
            count = await node.door.read(COUNTS)
            node.door.write(COUNTS, (count + rng.choice([0, 1, 1, 3, rng.randrange(1 << 32)])) & 0xFFFFFFFF)
            node.door.write(BELL, 0)
            await node.sleep(rng.randrange(200))

    async def files(cab):
        for number in range(30):
            try:
                file = await cab.node.open(f"f{number}", "r", 2000)
                await file.read(100, 2000)
                await file.close(2000)
            except errors.ProgramError as error:
                assert not isinstance(error, errors.FileError) or error.status.name
            await cab.sleep(500)

    with simulated("hub:2", nodes=["CAB1"]) as system:
        for cab in system.cabs:
            offer(cab)
        system.node("CAB1").spawn(scribble)
        system.spawn("CAB1", files)
        system.go(10**13)
        thread = system.spawn("CAB2", use, 1, 3)
        system.go(10**13)
        assert thread.result == 3


def test_what_a_cab_answers_at_random_gives_its_node_errors_and_no_more():
    rng = seeds.rng("cab")

    async def scribble(cab):
        while True:
            cab.memory.store(
                command_at(rng.randrange(4)) + COMMAND.size,
                (rng.randrange(1, 6) << 8 | rng.choice([0, 9, 77, 255])).to_bytes(12, "big"),
            )
            cab.memory.store(AREA + 12, rng.choice([0, 3, 2**31]).to_bytes(4, "big"))
            cab.port.call_node()
            await cab.sleep(rng.randrange(50))

    async def calls(node):
        kinds = set()
        for _ in range(6):
            try:
                await node.request.call((2, SERVICE), b"x", 3000)
            except errors.ProgramError as error:
                kinds.add(type(error))
        return kinds

    with simulated("hub:2", nodes=["CAB1"]) as system:
        offer(system.cab("CAB2"))
        scribbler = system.cab("CAB1").spawn(scribble)
        thread = system.node("CAB1").spawn(calls)
        system.go(10**13)
        scribbler.end()
        assert thread.result

"""Programs (docs/software.md) for the comparison of back ends: each returns what its user would see."""

import hashlib

from .. import seeds

__all__ = ["all_to_all", "file_by_circuit", "file_by_packets", "there_and_back"]

#: The message of 3 kbyte that is sent from CAB3 to CAB1.
FILE = seeds.rng(3).randbytes(3000)


def _digest(data):
    return hashlib.sha256(data).hexdigest()


async def _receive(cab, mailbox, count=1):
    """Takes ``count`` messages; returns [CPU cycle, length, digest] of each."""
    got = []
    for _ in range(count):
        message = await cab.mailbox(mailbox).receive()
        data = await message.read()
        message.free()
        got.append([await cab.door.now(), len(data), _digest(data)])
    return got


async def _send(cab, destination, data, *switching):
    await cab.datagram.send((destination, 1), data, *switching)
    return await cab.door.now()


async def _file(system, source, destination, *switching):
    sender = system.spawn(source, _send, system.id_of(destination), FILE, *switching)
    receiver = system.spawn(destination, _receive, 1)
    await system.run()
    return [sender.result, *receiver.result]


async def file_by_packets(system, arguments):
    """3 kbyte from one CAB to another by packet switching; ``arguments``: their names."""
    returned = await _file(system, *arguments)
    assert returned[1][1:] == [len(FILE), _digest(FILE)], returned
    return returned


async def file_by_circuit(system, arguments):
    """The same over a circuit."""
    returned = await _file(system, *arguments, "circuit")
    assert returned[1][1:] == [len(FILE), _digest(FILE)], returned
    return returned


async def there_and_back(system, arguments):
    """Messages of growing length to and fro, each in a run of its own: between runs all CPUs sleep and must be
    woken."""
    near, far = arguments
    returned = []
    for length in (0, 1, 20, 1004, 1005):
        for source, destination in ((near, far), (far, near)):
            data = seeds.rng(length).randbytes(length)
            sender = system.spawn(source, _send, system.id_of(destination), data)
            receiver = system.spawn(destination, _receive, 1)
            await system.run()
            assert receiver.result[0][1:] == [length, _digest(data)], (source, length, receiver.result)
            returned += [sender.result, receiver.result]
    return returned


async def all_to_all(system, arguments, below=1500):
    """Every CAB sends a message of its own length, shorter than ``below`` bytes, to every other, all at once."""
    names = [cab.name for cab in system.cabs]
    expected = {name: [] for name in names}
    for source in names:
        for destination in names:
            if source != destination:
                data = seeds.rng(f"{source} {destination}").randbytes(
                    seeds.rng(f"{destination} {source}").randrange(below)
                )
                expected[destination].append([len(data), _digest(data)])
                system.spawn(source, _send, system.id_of(destination), data)
    receivers = {name: system.spawn(name, _receive, 1, len(names) - 1) for name in names}
    await system.run()
    for name, receiver in receivers.items():
        assert sorted(got[1:] for got in receiver.result) == sorted(expected[name]), name
    return {name: receiver.result for name, receiver in receivers.items()}

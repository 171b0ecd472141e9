"""A long byte stream between two CABs: how fast it is, and what becomes of it when the receiving task is slow.

    nectar run examples/stream.py [--from CAB3] [--to CAB1] [--kbytes 100] [--pause MICROSECONDS]

The receiver reads 1004 bytes at a time and rests between; the window keeps the sender from sending what there is no
room for."""

import argparse

from nectar.software import ProgramError

TOPOLOGY = "figure7"

PORT = 1
PIECE = 1004


async def receive(cab, pause):
    """The task of the receiver: takes one connection, reads it to its end. Returns how many bytes, and their sum."""
    listener = cab.stream.listen(PORT)
    connection = await listener.accept()
    count = total = 0
    while data := await connection.receive(PIECE):
        count += len(data)
        total += sum(data)
        if pause:
            await cab.sleep(pause)
    await connection.close()
    listener.close()
    return count, total


async def send(cab, destination, data):
    """The task of the sender. Returns the microseconds until all was acknowledged, and how many packets that took."""
    connection = await cab.stream.connect((destination, PORT))
    begin = await cab.now_us()
    await connection.send(data)
    await connection.close()
    return await cab.now_us() - begin, connection.packets_sent


async def main(system, arguments):
    """Starts the tasks, tells what they found."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/stream.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--from", dest="source", metavar="CAB", default="CAB3", help="who sends (default: CAB3)")
    parser.add_argument("--to", metavar="CAB", default="CAB1", help="who receives (default: CAB1)")
    parser.add_argument("--kbytes", type=int, default=100, help="1000 bytes each (default: 100)")
    parser.add_argument(
        "--pause",
        type=float,
        default=0,
        metavar="MICROSECONDS",
        help="that the receiver rests after each piece (default: 0)",
    )
    options = parser.parse_args(arguments)
    if options.kbytes < 1 or options.pause < 0:
        raise ProgramError("--kbytes must be 1 at least, --pause 0 at least")
    if options.source == options.to:
        raise ProgramError("--from and --to must be two CABs")
    data = bytes(index % 251 for index in range(1000 * options.kbytes))
    receiver = system.spawn(options.to, receive, options.pause)
    sender = system.spawn(options.source, send, system.id_of(options.to), data)
    await system.run()
    microseconds, packets = sender.result
    if receiver.result != (len(data), sum(data)):
        raise ProgramError("what has arrived is not what was sent")
    rate = 8 * len(data) / microseconds
    print(
        f"{len(data)} bytes from {options.source} to {options.to} in {microseconds / 1000:.2f} ms, {packets} packets: "
        f"{rate:.1f} Mbit/s"
    )
    system.report("stream.rate", rate, "Mbit/s")

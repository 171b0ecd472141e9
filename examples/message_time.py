"""How long a message takes from the first CAB of a network to the last: a program for ``nectar sweep``.

    nectar run examples/message_time.py [--size 64] [--switching packet]
    nectar sweep examples/message_time.py --set size=64,1024,65536 --set topology=hub:2,chain:4x1 -o results

The time begins with the call that sends, and ends when the receiving task has the message."""

import argparse

from nectar.software import ProgramError

TOPOLOGY = "hub:2"

MAILBOX = 1
#: Bytes of the largest message.
LARGEST = 65_536


async def send(cab, destination, data, switching):
    """The task of the sender. Returns when it begins, in microseconds."""
    begin = await cab.now_us()
    await cab.datagram.send((destination, MAILBOX), data, switching)
    return begin


async def receive(cab):
    """The task of the receiver. Returns when it has the message, in microseconds, and how many bytes that has."""
    message = await cab.mailbox(MAILBOX).receive()
    end, size = await cab.now_us(), len(message)
    message.free()
    return end, size


async def main(system, arguments):
    """Starts the tasks, tells what they found."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/message_time.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--size", type=int, default=64, help="bytes of the message (default: 64)")
    parser.add_argument(
        "--switching", choices=("packet", "circuit", "auto"), default="packet", help="how it is sent (default: packet)"
    )
    options = parser.parse_args(arguments)
    if not 1 <= options.size <= LARGEST:
        raise ProgramError(f"--size {options.size}: a message has 1 to {LARGEST} bytes")
    cabs = [cab.name for cab in system.cabs]
    if len(cabs) < 2:
        raise ProgramError("a message needs two CABs; give another --topology")
    receiver = system.spawn(cabs[-1], receive)
    sender = system.spawn(cabs[0], send, system.id_of(cabs[-1]), bytes(options.size), options.switching)
    await system.run()
    end, size = receiver.result
    if size != options.size:
        raise ProgramError("what has arrived is not what was sent")
    microseconds = end - sender.result
    rate = size / microseconds
    print(f"{size} bytes from {cabs[0]} to {cabs[-1]} in {microseconds:.1f} us: {rate:.2f} Mbyte/s")
    system.report("message.time", microseconds, "us")
    system.report("message.rate", rate, "Mbyte/s")

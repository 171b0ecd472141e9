"""Sends a file from one CAB to another, and tells how long each part of the way takes.

    nectar run examples/send_file.py FILE [--output COPY] [--from CAB3] [--to CAB1] [--circuit]

The copy appears under its name only when it is whole and its SHA-256 is that of the file. All times are measured: the
software's by the clocks of its CABs, the boards' by the first packet, as it goes from fiber to fiber.
"""

import argparse
import hashlib
import os
import struct
import time

from nectar.software import ProgramError
from nectar.software.latency import stages
from nectar.software.packet import MAX_DATA

TOPOLOGY = "figure7"
TRACE = True  # record what happens to messages and packets

MAILBOX = 1
#: Bytes of a message: four packets. The CPU stores a message into the CAB's memory while DMA sends the one before.
MESSAGE = 4 * MAX_DATA
#: The first message: length and SHA-256 of the file.
HEADING = struct.Struct(">Q32s")


async def send(cab, destination, data, switching):
    """The task that sends."""
    target = (destination, MAILBOX)
    begin = await cab.now_us()
    await cab.datagram.send(target, HEADING.pack(len(data), hashlib.sha256(data).digest()), switching)
    for offset in range(0, len(data), MESSAGE):
        await cab.datagram.send(target, data[offset : offset + MESSAGE], switching)
    return begin


async def receive(cab):
    """The task that receives. Returns the file's bytes and when it had them all, in microseconds."""
    mailbox = cab.mailbox(MAILBOX)
    message = await mailbox.receive()
    length, digest = HEADING.unpack(await message.read())
    message.free()
    parts = []
    while length > 0:
        message = await mailbox.receive()
        parts.append(await message.read())
        length -= len(message)
        message.free()
    data = b"".join(parts)
    if hashlib.sha256(data).digest() != digest:
        raise ProgramError("the file has arrived damaged")
    return data, await cab.now_us()


async def main(system, arguments):
    """Reads the file, has it sent, writes the copy, reports."""
    host = time.monotonic()
    options = parse(arguments)
    source, destination = system.cab(options.source), system.cab(options.destination)
    if source is destination:
        raise ProgramError(f"--from and --to are both {source.name}; name two CABs")
    data = read(options.file)
    if options.output is not None:
        check(options.output)
    sender = system.spawn(
        source.name, send, destination.id, data, "circuit" if options.circuit else "packet", name="send"
    )
    receiver = system.spawn(destination.name, receive, name="receive")
    await system.run()
    copy, end = receiver.result
    if options.output is not None:
        write(options.output, copy)
    report(system, source, destination, copy, end - sender.result, time.monotonic() - host)


def report(system, source, destination, copy, simulated_us, host):
    """Prints what was measured."""
    rate = len(copy) * 8 / simulated_us
    link = 8e6 / system.profile.symbol_ps
    print(
        f"{len(copy)} bytes from {source.name} to {destination.name}, SHA-256 {hashlib.sha256(copy).hexdigest()}: the "
        f"same at both ends"
    )
    print(f"simulated time  {simulated_us / 1000:.3f} ms")
    print(f"throughput      {rate:.2f} Mbit/s, {rate / link:.1%} of the fiber's {link:.0f} Mbit/s")
    print(f"host time       {host:.2f} s")
    system.report("send_file.bytes", len(copy), "byte")
    system.report("send_file.simulated_time", simulated_us, "us")
    system.report("send_file.throughput", rate, "Mbit/s", link=link)
    if system.recorder is None:
        print("latency         not measured: nothing is recorded")
        return
    parts = {}
    with system.recorder.recording() as recording:
        for stage in stages(recording, source.name, destination.name):
            parts[stage.name] = parts.get(stage.name, 0) + stage.duration_ps
    parts["total"] = sum(parts.values())
    print(f"latency of the first packet, {HEADING.size} bytes, from the sending task to the receiving task:")
    for name, duration in parts.items():
        print(f"  {name:28}{duration / 1e6:9.4f} us")
        system.report(f"send_file.latency.{name}", duration / 1e6, "us")


class Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message):
        raise ProgramError(f"{message}; '{self.prog} --help' tells what there is")


def parse(arguments):
    """The program's own arguments."""
    parser = Parser(prog="nectar run examples/send_file.py", description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="the file to send")
    parser.add_argument("--output", metavar="COPY", help="where to write what has arrived")
    parser.add_argument("--from", dest="source", metavar="CAB", default="CAB3", help="the sending CAB (default: CAB3)")
    parser.add_argument(
        "--to", dest="destination", metavar="CAB", default="CAB1", help="the receiving CAB (default: CAB1)"
    )
    parser.add_argument("--circuit", action="store_true", help="circuit switching instead of packet switching")
    return parser.parse_args(arguments)


def read(path):
    """The bytes of the file."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ProgramError(f"{path}: not a file that could be sent")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ProgramError(f"{path}: cannot be read: {error.strerror}") from error


def check(path):
    """Whether the copy can be written, before anything is sent."""
    folder = os.path.dirname(os.path.realpath(path))
    if not path or os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ProgramError(
            f"--output {path}: cannot be written there; name a file in a directory that you may write to"
        )


def write(path, data):
    """Writes the copy: whole, or not at all. What is no file, such as a device or a pipe, takes it as it comes."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(data)
            return
        target = os.path.realpath(path)
        temporary = f"{target}.{os.getpid()}.part"
        try:
            with open(temporary, "xb") as file:
                file.write(data)
            os.replace(temporary, target)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
    except OSError as error:
        raise ProgramError(f"--output {path}: cannot be written: {error.strerror}") from error

"""A server that counts words, and clients that call it: request-response between CABs.

    nectar run examples/request.py [--server CAB1] [--calls 5] [--silent]

Every other CAB is a client. With --silent the server takes a request and ends without an answer, so that its client
sees what happens then."""

import argparse

from nectar.software import ProgramError
from nectar.software.errors import CallError

TOPOLOGY = "figure7"

COUNT_WORDS = 1
TEXT = b"the HUB connects the CABs and the CABs run the protocols"


async def serve(cab, requests, clients):
    """The task of the server: answers ``requests`` requests, then ends. One of each client may wait."""
    service = cab.request.serve(COUNT_WORDS, capacity=clients)
    for _ in range(requests):
        request = await service.receive()
        words = (await request.read()).split()
        await request.reply(len(words).to_bytes(2, "big"))


async def fall_silent(cab):
    """A server that takes one request and ends."""
    await cab.request.serve(COUNT_WORDS).receive()


async def ask(cab, server, calls):
    """The task of a client. Returns the microseconds that each call took, and the last answer."""
    times = []
    for number in range(calls):
        begin = await cab.now_us()
        answer = await cab.request.call((server, COUNT_WORDS), TEXT)
        times.append(await cab.now_us() - begin)
    return times, int.from_bytes(answer, "big")


async def ask_in_vain(cab, server):
    """A client whose server ends. Returns the error, and after how many microseconds it came."""
    begin = await cab.now_us()
    try:
        await cab.request.call((server, COUNT_WORDS), TEXT, timeout_us=50_000)
    except CallError as error:
        return error, await cab.now_us() - begin
    raise ProgramError("a server that has ended has answered")


async def main(system, arguments):
    """Starts the tasks, tells what they found."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/request.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--server", metavar="CAB", default="CAB1", help="where the service is (default: CAB1)")
    parser.add_argument("--calls", type=int, default=5, help="calls of each client (default: 5)")
    parser.add_argument("--silent", action="store_true", help="the server ends without an answer")
    options = parser.parse_args(arguments)
    if options.calls < 1:
        raise ProgramError("--calls must be 1 at least")
    server = system.cab(options.server)
    names = [cab.name for cab in system.cabs if cab is not server]
    if options.silent:
        system.spawn(server.name, fall_silent, name="serve")
        client = system.spawn(names[0], ask_in_vain, server.id)
        await system.run()
        error, microseconds = client.result
        print(f"{names[0]}: {type(error).__name__} after {microseconds / 1000:.1f} ms: {error}")
        return
    system.spawn(server.name, serve, options.calls * len(names), len(names), name="serve")
    clients = [system.spawn(name, ask, server.id, options.calls) for name in names]
    await system.run()
    for name, client in zip(names, clients, strict=True):
        times, words = client.result
        print(f"{name}: {words} words; first call {times[0]:.1f} us, fastest {min(times):.1f} us")
        system.report(f"request.fastest.{name}", min(times), "us")

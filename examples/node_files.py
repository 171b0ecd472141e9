"""Writes what CAB1 measures into a file on its node, and has the node behind CAB2 ask for it: ``nectar run
examples/node_files.py [FOLDER]``.

A task on CAB1 has no disk: it opens, writes and reads files of its node, which is interrupted over VME for that. The
node behind CAB2 calls a service of CAB1."""

from pathlib import Path
from tempfile import TemporaryDirectory

TOPOLOGY = "hub:2"
NODES = True
SERVICE = 1


async def keep(cab, count):
    """Serves requests; notes each in a file of the node, and answers with all that is in it."""
    service = cab.request.serve(SERVICE)
    for _ in range(count):
        request = await service.receive()
        log = await cab.node.open("log.txt", "a")
        await log.write(await request.read() + b" at %.0f us\n" % await cab.now_us())
        await log.close()
        log = await cab.node.open("log.txt")
        await request.reply(await log.read(65536))
        await log.close()
    service.close()


async def ask(node, cab, count):
    """A process: calls the service; returns the last answer."""
    for number in range(count):
        answer = await node.request.call((cab, SERVICE), b"call %d" % number)
    return answer


async def main(system, arguments):
    with TemporaryDirectory() as temporary:
        folder = Path(arguments[0] if arguments else temporary)
        folder.mkdir(exist_ok=True)
        (folder / "log.txt").unlink(missing_ok=True)
        system.node("CAB1").lend(folder)
        count = 3
        keeper = system.spawn("CAB1", keep, count)
        asker = system.node("CAB2").spawn(ask, system.id_of("CAB1"), count)
        await system.run()
        assert keeper.error is None
        print(asker.result.decode(), end="")
        assert asker.result == (folder / "log.txt").read_bytes()

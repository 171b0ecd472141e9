"""Compares what two processes on nodes may use: shared memory and sockets. ``nectar run examples/sockets.py [KBYTES]``.

For each interface it sends a byte back and forth, then KBYTES kbyte (64, unless given) in one direction."""

import argparse

TOPOLOGY = "hub:2"
NODES = True
TIMES = 4
PORT = 7
PART = 16 << 10
LARGEST = 64 << 10


# -- shared memory: the node's own calls -----------------------------------------------------------------
async def answer_datagrams(node, total):
    box = node.mailbox(PORT)
    for _ in range(TIMES):
        message = await box.receive()
        await node.datagram.send((message.source, PORT), await message.read())
        message.free()
    while total:
        message = await box.receive()
        total -= len(await message.read())
        message.free()
    await node.datagram.send((message.source, PORT), b"")
    await box.close()


async def ask_by_datagrams(node, server, total):
    box = node.mailbox(PORT)
    await box.open()
    await node.sleep(3000)

    async def answered():
        (await box.receive()).free()

    begin = await node.now_us()
    for _ in range(TIMES):
        await node.datagram.send((server, PORT), b"x")
        await answered()
    middle = await node.now_us()
    data = bytes(PART)
    for offset in range(0, total, PART):
        sent = await node.datagram.start((server, PORT), data[: total - offset])
    await sent.done()
    await answered()
    end = await node.now_us()
    await box.close()
    return begin, middle, end


async def answer_memory(node, total):
    box, buffer = node.mailbox(PORT), node.memory.allocate(LARGEST)
    for _ in range(TIMES):
        message = await box.receive(into=buffer)
        await node.datagram.send((message.source, PORT), message.buffer)
    while total:
        message = await box.receive(into=buffer)
        total -= message.length
    await node.datagram.send((message.source, PORT), b"")
    await box.close()
    buffer.free()


async def ask_by_memory(node, server, total):
    box, buffer, reply = node.mailbox(PORT), node.memory.allocate(LARGEST), node.memory.allocate(1)
    await node.attached()
    await node.sleep(3000)
    begin = await node.now_us()
    for _ in range(TIMES):
        await node.datagram.send((server, PORT), buffer.part(0, 1))
        await box.receive(into=reply)
    middle = await node.now_us()
    for offset in range(0, total, LARGEST):
        await node.datagram.send((server, PORT), buffer.part(0, min(LARGEST, total - offset)))
    await box.receive(into=reply)
    end = await node.now_us()
    await box.close()
    buffer.free()
    reply.free()
    return begin, middle, end


async def answer_stream(node, total):
    listener = await node.stream.listen(PORT)
    connection = await listener.accept()
    for _ in range(TIMES):
        await connection.send(await connection.receive())
    while total:
        total -= len(await connection.receive())
    await connection.send(b"x")
    await connection.close()
    await listener.close()


async def ask_by_stream(node, server, total):
    await node.attached()
    await node.sleep(3000)
    connection = await node.stream.connect((server, PORT))
    begin = await node.now_us()
    for _ in range(TIMES):
        await connection.send(b"x")
        await connection.receive()
    middle = await node.now_us()
    await connection.send(bytes(total))
    await connection.receive()
    end = await node.now_us()
    await connection.close()
    return begin, middle, end


# -- sockets: Python's own module ------------------------------------------------------------------------
def answer_sockets(node, total, kind):
    import socket

    with socket.socket(socket.AF_INET, getattr(socket, kind)) as server:
        server.bind(("", PORT))
        if kind == "SOCK_STREAM":
            server.listen()
            connection, peer = server.accept()
        else:
            connection, peer = server, None
        with connection:
            for _ in range(TIMES):
                data, caller = connection.recvfrom(PART)
                connection.sendto(data, peer or caller)
            while total:
                total -= len(connection.recv(PART))
            connection.sendto(b"x", peer or caller)


def ask_by_sockets(node, server, total, kind):
    import socket
    import time

    time.sleep(0.01)
    with socket.socket(socket.AF_INET, getattr(socket, kind)) as client:
        client.connect((server, PORT))
        begin = time.monotonic()
        for _ in range(TIMES):
            client.send(b"x")
            client.recv(1)
        middle = time.monotonic()
        data = bytes(PART)
        for offset in range(0, total, PART):
            client.sendall(data[: total - offset])
        client.recv(1)
        end = time.monotonic()
    return begin * 1e6, middle * 1e6, end * 1e6


INTERFACES = (
    ("shared memory, datagrams", "datagrams", ask_by_datagrams, answer_datagrams, ()),
    ("memory of the nodes, DMA", "dma", ask_by_memory, answer_memory, ()),
    ("shared memory, byte stream", "stream", ask_by_stream, answer_stream, ()),
    ("datagram sockets", "udp", ask_by_sockets, answer_sockets, ("SOCK_DGRAM",)),
    ("stream sockets", "tcp", ask_by_sockets, answer_sockets, ("SOCK_STREAM",)),
)


async def main(system, arguments):
    parser = argparse.ArgumentParser("nectar run examples/sockets.py")
    parser.add_argument("kbytes", nargs="?", type=int, default=64, help="bytes of the throughput, in kbyte")
    total = parser.parse_args(arguments).kbytes << 10
    if total <= 0:
        parser.error("KBYTES is a number of kbyte, 1 or more")
    print(f"{'':28}{'1 byte':>10}{f'{total >> 10} kbyte':>14}")
    for title, name, ask, answer, kind in INTERFACES:
        system.node("CAB2").spawn(answer, total, *kind)
        asker = system.node("CAB1").spawn(ask, "CAB2", total, *kind)
        await system.run()
        begin, middle, end = asker.result
        latency, rate = (middle - begin) / 2 / TIMES, 8 * total / (end - middle)
        print(f"{title:28}{latency:7.0f} us{rate:7.1f} Mbit/s")
        system.report(f"sockets.{name}.latency", round(latency, 1), "us")
        system.report(f"sockets.{name}.rate", round(rate, 2), "Mbit/s")

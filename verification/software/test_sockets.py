"""Sockets of the processes of nodes: their calls; docs/sockets.md. What they raise: test_sockets_errors.py. Python's
library on them: test_sockets_library.py."""

import os
import socket as host_socket
import sys
import threading as host_threading
import time as host_time

import pytest

from nectar.software.node.sockets.clock import BEGIN
from nectar.verification.software.helpers import pattern
from nectar.verification.software.nodes import run

PORT = 2000


def echo(node, connections=1):
    """A process: gives everything back to who has sent it."""
    import socket

    with socket.create_server(("", PORT)) as server:
        for _ in range(connections):
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(4096):
                    connection.sendall(data)


def talk(node, exchange, delay=0.02):
    """A process: what ``exchange`` makes of a connection with ``echo``."""
    import socket
    import time

    time.sleep(delay)
    with socket.create_connection(("CAB2", PORT)) as connection:
        return exchange(connection)


def exchanged(exchange, connections=1):
    """What ``exchange`` makes of a connection with ``echo``."""
    return run(("CAB1", talk, exchange), ("CAB2", echo, connections))[0]


def alone(function, **options):
    """What a process makes of it that is alone."""
    return run(("CAB1", lambda node: function()), nodes=["CAB1"], **options)[0]


def test_bytes_there_and_back(boards="fast"):
    data = pattern(3000)

    def exchange(connection):
        connection.sendall(data)
        back = b""
        while len(back) < len(data):
            back += connection.recv(700)
        return back

    back, _ = run(("CAB1", talk, exchange), ("CAB2", echo), boards=boards)
    assert back == data


@pytest.mark.nightly
def test_bytes_there_and_back_on_the_rtl():
    test_bytes_there_and_back("rtl")


def test_much_more_than_all_buffers_hold():
    """``sendall`` waits for room; the other side reads after that."""
    size = 200_000

    def sink(node):
        import socket
        import time

        with socket.create_server(("", PORT)) as server, server.accept()[0] as connection:
            time.sleep(0.05)
            got = b"".join(iter(lambda: connection.recv(8192), b""))
            return got, time.monotonic()

    def source(connection):
        connection.sendall(pattern(size))

    _, (got, seconds) = run(("CAB1", talk, source), ("CAB2", sink))
    assert got == pattern(size) and 0.07 < seconds < 0.2


def test_a_direction_ends_and_the_other_goes_on():
    def exchange(connection):
        import socket

        connection.sendall(b"the end")
        connection.shutdown(socket.SHUT_WR)
        with pytest.raises(BrokenPipeError):
            connection.send(b"more")
        got = [connection.recv(7, socket.MSG_PEEK), connection.recv(7, socket.MSG_WAITALL), connection.recv(7)]
        connection.shutdown(socket.SHUT_RD)
        return got

    assert exchanged(exchange) == [b"the end", b"the end", b""]


def test_makefile_recv_into_and_dup():
    def exchange(connection):
        with connection.makefile("rw", encoding="ascii", newline="\n") as file:
            file.write("one line\nand two\n")
            file.flush()
            lines = [file.readline() for _ in range(2)]
        other = connection.dup()
        connection.close()
        other.send(b"still there")
        room = bytearray(20)
        count = other.recv_into(room)
        assert other.recv_into(room, 0, host_socket.MSG_DONTWAIT | host_socket.MSG_PEEK) if count < 11 else True
        other.close()
        return lines, bytes(room[:count])

    lines, got = exchanged(exchange)
    assert lines == ["one line\n", "and two\n"] and b"still there".startswith(got) and got


def test_who_is_at_the_ends_of_a_connection():
    def serve(node):
        import socket

        with socket.create_server(("CAB2", PORT)) as server:
            connection, caller = server.accept()
            with connection:
                return server.getsockname(), caller, connection.getsockname(), connection.getpeername()

    (mine, theirs), (listener, caller, here, there) = run(
        ("CAB1", talk, lambda connection: (connection.getsockname(), connection.getpeername())), ("CAB2", serve)
    )
    assert listener == here == theirs == ("10.1.0.2", PORT)
    assert mine == caller == there and mine[0] == "10.1.0.1" and mine[1]


def test_names_and_addresses():
    def look():
        import socket

        return (
            socket.gethostname(),
            [socket.gethostbyname(name) for name in ("CAB1", "cab2", "CAB2.node", "10.1.0.2", "localhost", "")],
            socket.gethostbyname_ex("CAB2"),
            socket.gethostbyaddr("10.1.0.2")[0],
            socket.getnameinfo(("10.1.0.1", 80), 0),
            socket.getfqdn("CAB2"),
            [info[4] for info in socket.getaddrinfo("CAB2", "http", type=socket.SOCK_STREAM)],
            socket.getaddrinfo(None, 5, flags=socket.AI_PASSIVE)[0][4],
            len(socket.getaddrinfo("CAB1", 7)),
            socket.has_ipv6,
        )

    assert alone(look) == (
        "CAB1",
        ["10.1.0.1", "10.1.0.2", "10.1.0.2", "10.1.0.2", "10.1.0.1", "0.0.0.0"],
        ("CAB2", [], ["10.1.0.2"]),
        "CAB2",
        ("CAB1", "80"),
        "CAB2",
        [("10.1.0.2", 80)],
        ("0.0.0.0", 5),
        2,
        False,
    )


# -- waiting ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", ["select", "poll", "selectors"])
def test_several_sockets_at_a_time(way):
    """A server in one thread, whatever it waits with."""

    def serve(node):
        import select
        import selectors
        import socket

        with socket.create_server(("", PORT)) as server:
            files, order = {server.fileno(): server}, []
            poll, selector = select.poll(), selectors.DefaultSelector()
            poll.register(server, select.POLLIN)
            selector.register(server, selectors.EVENT_READ)
            while len(order) < 4:
                if way == "select":
                    ready = select.select(list(files.values()), [], [], 5)[0]
                elif way == "poll":
                    ready = [files[number] for number, _ in poll.poll(5000)]
                else:
                    ready = [key.fileobj for key, _ in selector.select(5)]
                for file in ready:
                    if file is server:
                        made, _ = server.accept()
                        files[made.fileno()] = made
                        poll.register(made, select.POLLIN)
                        selector.register(made, selectors.EVENT_READ)
                    else:
                        order.append(file.recv(100))
                        poll.unregister(file)
                        selector.unregister(file)
                        del files[file.fileno()]
                        file.close()
            selector.close()
            return order

    def call(node, delays):
        import socket
        import time

        time.sleep(0.02)
        sockets = [socket.create_connection(("CAB2", PORT)) for _ in delays]
        for delay, each in sorted(zip(delays, sockets, strict=True), key=lambda pair: pair[0]):
            time.sleep(0.005)
            each.sendall(b"%d" % delay)
        for each in sockets:
            each.close()

    _, order = run(("CAB1", call, [3, 1, 2, 0]), ("CAB2", serve))
    assert order == [b"0", b"1", b"2", b"3"]


def test_a_socket_that_does_not_block():
    def exchange(connection):
        import select
        import socket

        connection.close()
        with socket.socket() as mine:
            mine.setblocking(False)
            with pytest.raises(BlockingIOError, match="is being set up"):
                mine.connect(("CAB2", PORT))
            assert select.select([], [mine], [], 1) == ([], [mine], [])
            assert mine.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 and not mine.getblocking()
            with pytest.raises(BlockingIOError):
                mine.recv(10)
            sent = 0
            while True:
                try:
                    sent += mine.send(bytes(5000))
                except BlockingIOError:
                    break
            mine.settimeout(1)
            got = 0
            while got < sent:
                got += len(mine.recv(65536))
            return sent

    assert 16_384 <= exchanged(exchange, 2) < 120_000


def test_datagrams():
    def serve(node):
        import socket

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("", PORT))
            for _ in range(4):
                data, where = server.recvfrom(65536)
                server.sendto(b"%d" % len(data), where)

    def ask(node):
        import socket
        import time

        time.sleep(0.02)
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
        ):
            client.connect(("CAB2", PORT))
            got = []
            for size in (0, 10, 65_507):
                assert client.send(bytes(size)) == size
                got.append(client.recv(100))
            client.sendto(b"once more", ("10.1.0.2", PORT))
            time.sleep(0.01)
            stranger.sendto(b"from elsewhere", ("CAB2", PORT + 1))
            got.append(client.recv(1))
            assert client.getpeername() == ("10.1.0.2", PORT)
            client.settimeout(0.001)
            with pytest.raises(TimeoutError):
                client.recv(1)
            return got

    got, _ = run(("CAB1", ask), ("CAB2", serve))
    assert got == [b"0", b"10", b"65507", b"9"]


# -- time and threads ------------------------------------------------------------------------------------
def test_time_is_simulated_time():
    def look():
        import time

        before = time.monotonic(), time.time(), time.perf_counter_ns()
        time.sleep(0.3)
        host_time.sleep(0.5)  # that of the program's top is simulated, too
        after = time.monotonic(), time.time(), time.perf_counter_ns()
        return (
            [late - early for early, late in zip(before, after, strict=True)],
            time.strftime("%Y-%m-%d %H:%M:%S"),
            before,
        )

    began = host_time.monotonic()
    (spans, text, before) = alone(look)
    assert spans == pytest.approx([0.8, 0.8, 8e8], rel=1e-2) and text == "1989-01-01 00:00:00"
    assert before[1] == pytest.approx(BEGIN, abs=0.1) and host_time.monotonic() - began < 60


def test_threads_locks_and_queues():
    def work():
        import queue
        import threading
        import time

        todo, done, own = queue.Queue(), queue.Queue(2), threading.local()
        own.name = "main"
        lock, meeting = threading.RLock(), threading.Barrier(3)

        def worker(name):
            own.name = name
            meeting.wait()
            while (item := todo.get()) is not None:
                with lock, lock:
                    time.sleep(0.001)
                    done.put((own.name, item))

        workers = [threading.Thread(target=worker, args=(name,)) for name in "ab"]
        for each in workers:
            each.start()
        meeting.wait()
        for item in [*range(6), None, None]:
            todo.put(item)
        got = [done.get(timeout=1) for _ in range(6)]
        with pytest.raises(queue.Empty):
            done.get(timeout=0.002)
        rang = threading.Event()
        threading.Timer(0.003, rang.set).start()
        for each in workers:
            each.join()
        return got, rang.wait(0.001), rang.wait(1), own.name, [each.is_alive() for each in workers]

    got, early, late, name, alive = alone(work)
    assert sorted(item for _, item in got) == list(range(6)) and {name for name, _ in got} == {"a", "b"}
    assert (early, late, name, alive) == (False, True, "main", [False, False])


def test_the_end_of_a_process_waits_for_its_threads_but_for_daemons():
    said = []

    def work():
        import threading
        import time

        def later(seconds, text):
            time.sleep(seconds)
            said.append(text)

        threading.Thread(target=later, args=(0.01, "waited for")).start()
        threading.Thread(target=later, args=(0.02, "ended"), daemon=True).start()

    alone(work)
    assert said == ["waited for"]


# -- processes and modules -------------------------------------------------------------------------------
def test_the_host_keeps_its_modules():
    def work(node):
        import http.client
        import socket
        import threading
        import time

        return socket, threading, time, http.client, os.register_at_fork

    before = dict(sys.modules), list(sys.meta_path), host_time.sleep, host_socket.socket, os.register_at_fork
    mine, others = run(("CAB1", work), ("CAB2", work))
    now = host_time.sleep, host_socket.socket, os.register_at_fork
    assert before[1:] == (list(sys.meta_path), *now)
    assert sys.modules["socket"] is host_socket and sys.modules["time"] is host_time
    assert sys.modules["threading"] is host_threading
    assert {name for name in sys.modules if name not in before[0]} <= {name for name in sys.modules if "." in name}
    assert mine[0] is not host_socket and mine[0] is not others[0] and mine[3] is not others[3]


def test_sockets_that_a_process_leaves_open_are_closed_at_its_end():
    def careless(node):
        import socket

        server = socket.create_server(("", PORT))
        made, _ = server.accept()
        made.sendall(b"bye")

    def exchange(connection):
        return connection.recv(10), connection.recv(10)

    got, _ = run(("CAB1", talk, exchange), ("CAB2", careless))
    assert got == (b"bye", b"")


def test_a_process_may_end_itself():
    assert alone(lambda: sys.exit(0)) is None


def test_sockets_and_calls_of_the_node_in_one_process():
    """A process that uses sockets has the node's own calls, too."""

    def both(node):
        import socket

        with socket.create_server(("", PORT)) as server, server.accept()[0] as connection:
            word = connection.recv(100)
            node.datagram.send((1, 1), word)
            return word

    def exchange_on(node):
        box = node.mailbox(1)
        box.open()
        talk(node, lambda connection: connection.send(b"both ways"))
        message = box.receive(100_000)
        data = message.read()
        message.free()
        box.close()
        return data

    assert run(("CAB1", exchange_on), ("CAB2", both)) == [b"both ways"] * 2

"""What sockets of nodes raise: an OSError with its errno, and one line that says what is wrong; docs/sockets.md."""

import errno
import socket as host_socket
import sys
import threading as host_threading
import time
from dataclasses import replace

import pytest

from nectar.software.errors import CabSilent, NoRoute, PeerSilent, ProgramError, StreamError
from nectar.software.node.sockets.errors import os_error
from nectar.verification.software.helpers import simulated
from nectar.verification.software.nodes import run

PORT = 2000


def raised(function, *arguments):
    """The error that ``function`` raises."""
    with pytest.raises(Exception) as caught:
        function(*arguments)
    assert "\n" not in str(caught.value)
    return caught.value


def alone(function, **options):
    """What a process makes of it that is alone."""
    return run(("CAB1", lambda node: function()), nodes=["CAB1"], **options)[0]


def now():
    """Simulated seconds."""
    import time as own_time

    return own_time.monotonic()


def made(*arguments):
    """A socket of the process that calls."""
    import socket

    return socket.socket(*arguments)


def bound(port):
    """One that is bound."""
    server = made()
    server.bind(("", port))
    return server


def listening(port):
    """One that listens."""
    server = bound(port)
    server.listen()
    return server


def connect(address, timeout=None):
    """A connection."""
    client = made()
    client.settimeout(timeout)
    client.connect(address)
    return client


DGRAM = host_socket.AF_INET, host_socket.SOCK_DGRAM


@pytest.mark.parametrize(
    "attempt, number, words",
    [
        (lambda: connect(("CAB2", PORT)), errno.ECONNREFUSED, "nobody listens at port 2000 of CAB 2: start the server"),
        (lambda: connect(("10.1.0.9", PORT)), errno.EHOSTUNREACH, "there is no host 10.1.0.9 on the network"),
        (lambda: connect(("192.168.0.1", PORT)), errno.EHOSTUNREACH, "there is no host 192.168.0.1 on the network"),
        (lambda: connect(("localhost", PORT)), errno.EHOSTUNREACH, "CAB1.node cannot connect to itself"),
        (lambda: (listening(PORT), listening(PORT)), errno.EADDRINUSE, "a socket of CAB1.node has port 2000 already"),
        (lambda: made().bind(("CAB2", PORT)), errno.EADDRNOTAVAIL, "CAB2 is not an address of CAB1.node"),
        (lambda: [bound(PORT).bind(("", 1))], errno.EINVAL, "the socket has port 2000 already"),
        (lambda: made().recv(1), errno.ENOTCONN, "the socket is not connected: call connect first"),
        (lambda: made().send(b"x"), errno.ENOTCONN, "the socket is not connected: call connect first"),
        (lambda: made().getpeername(), errno.ENOTCONN, "the socket is not connected: call connect first"),
        (lambda: made().accept(), errno.EINVAL, "the socket does not listen: call listen first"),
        (lambda: listening(PORT).connect(("CAB2", 1)), errno.EOPNOTSUPP, "a socket that listens cannot connect"),
        (lambda: made(*DGRAM).listen(), errno.EOPNOTSUPP, "a datagram socket has no connections"),
        (lambda: made(*DGRAM).send(b"x"), errno.EDESTADDRREQ, "say where to"),
        (lambda: made(*DGRAM).sendto(bytes(65_508), ("CAB2", 1)), errno.EMSGSIZE, "at most 65507 bytes, not 65508"),
        (lambda: made(host_socket.AF_INET6), errno.EAFNOSUPPORT, "of the family AF_INET, not"),
        (lambda: made(host_socket.AF_INET, host_socket.SOCK_RAW), errno.EPROTONOSUPPORT, "no sockets of type"),
        (lambda: made().shutdown(7), errno.EINVAL, "SHUT_RD, SHUT_WR or SHUT_RDWR, not 7"),
        (lambda: made(-1, -1, -1, 77), errno.EBADF, "the socket is closed, or is another process's"),
        (lambda: (lambda it: (it.close(), it.send(b"")))(made()), errno.EBADF, "the socket is closed"),
    ],
)
def test_a_call_that_cannot_be_done(attempt, number, words):
    error = alone(lambda: raised(attempt))
    assert isinstance(error, OSError) and error.errno == number and words in str(error)


@pytest.mark.parametrize(
    "attempt, kind, words",
    [
        (lambda: connect(("CAB7", 1)), host_socket.gaierror, "no CAB is called 'CAB7': there is CAB1, CAB2"),
        (lambda: connect("CAB2"), TypeError, r"an address is a tuple \(host, port\), not str"),
        (lambda: connect(("CAB2", "http")), TypeError, r"an address is a tuple \(host, port\)"),
        (lambda: connect(("CAB2", 70_000)), OverflowError, "port must be 0-65535"),
        (lambda: made().settimeout(-1), ValueError, "Timeout value out of range"),
        (lambda: made().recv(-1), ValueError, "negative buffersize"),
        (lambda: __import__("socket").gethostbyaddr("10.1.0.77"), host_socket.herror, "no CAB has the address"),
        (lambda: __import__("socket").getaddrinfo("CAB2", "nectar"), host_socket.gaierror, "no service is called"),
        (lambda: __import__("socket").getaddrinfo("CAB2", 1, 10), host_socket.gaierror, "family AF_INET, not 10"),
        (lambda: __import__("select").select([77], [], []), OSError, "the socket is closed"),
        (lambda: __import__("select").poll().modify(3, 1), OSError, "the socket is not registered"),
        (lambda: __import__("ssl"), ImportError, "ssl"),
        (lambda: __import__("asyncio"), ImportError, "asyncio"),
        (lambda: host_socket.socket(), OSError, "imports at its top is the host's: import it in the process"),
        (lambda: host_socket.create_connection(("localhost", 9)), OSError, "import it in the process"),
        (lambda: host_threading.Thread(target=print).start(), OSError, "import threading in the process"),
        (lambda: time.sleep(-1), ValueError, "non-negative"),
    ],
)
def test_arguments_and_imports_that_make_no_sense(attempt, kind, words):
    error = alone(lambda: raised(attempt))
    assert isinstance(error, kind)
    with pytest.raises(kind, match=words):
        raise error


def test_a_port_that_a_task_of_the_cab_has():
    async def task(cab):
        listener = cab.stream.listen(PORT)
        await cab.sleep(20_000)
        listener.close()

    def attempt(node):
        time.sleep(0.005)
        return raised(listening, PORT)

    error, _ = run(("CAB1", attempt), tasks=[("CAB1", task)], nodes=["CAB1"])
    assert error.errno == errno.EADDRINUSE


# -- the other side --------------------------------------------------------------------------------------
def served(server, client):
    """What ``client(connection)`` makes of a connection with ``server(connection)``, and the other way round."""

    def accepting(node):
        listener = listening(PORT)
        connection, _ = listener.accept()
        return server(connection)

    def asking(node):
        time.sleep(0.02)
        return client(connect(("CAB2", PORT)))

    return run(("CAB1", asking), ("CAB2", accepting))


def test_a_peer_that_closes_with_bytes_unread():
    """As TCP: it resets the connection. The error is told once; then receives end and sends break."""

    def client(connection):
        connection.send(b"never read")
        time.sleep(0.02)
        return raised(connection.send, b"too late"), connection.recv(1), raised(connection.send, b"x")

    (reset, end, broken), _ = served(lambda connection: (time.sleep(0.01), connection.close()), client)
    assert isinstance(reset, ConnectionResetError) and "was aborted at the other end" in str(reset)
    assert end == b"" and isinstance(broken, BrokenPipeError)


def test_a_peer_that_has_closed_and_hears_more():
    def client(connection):
        assert connection.recv(1) == b""
        connection.send(b"nobody is there")
        time.sleep(0.01)
        return raised(connection.send, b"again")

    error, _ = served(lambda connection: connection.close(), client)
    assert isinstance(error, ConnectionResetError)


def test_times_that_are_over():
    def client(connection):
        connection.settimeout(0.003)
        before = now()
        error = raised(connection.recv, 1)
        return error, now() - before

    def server(connection):
        connection.settimeout(0.002)
        filled = raised(connection.sendall, bytes(200_000))
        time.sleep(0.02)
        return filled

    (error, seconds), filled = served(lambda connection: time.sleep(0.02), client)
    assert isinstance(error, TimeoutError) and str(error) == "timed out" and 0.003 <= seconds < 0.004 and filled is None
    _, filled = served(server, lambda connection: time.sleep(0.02))
    assert isinstance(filled, TimeoutError)


def test_nobody_accepts_in_time():
    def listens(node):
        server = bound(PORT)
        server.listen(1)
        time.sleep(0.05)

    def calls(node):
        time.sleep(0.02)
        have_room = [connect(("CAB2", PORT), 0.01) for _ in range(2)]
        return have_room and raised(connect, ("CAB2", PORT), 0.005)

    error, _ = run(("CAB1", calls), ("CAB2", listens))
    assert isinstance(error, TimeoutError)


def test_a_cab_that_stops():
    """That of the node itself, and that of the peer."""

    def waits(node):
        server = listening(PORT)
        connection, _ = server.accept()
        return raised(connection.recv, 1)

    def talks(node):
        time.sleep(0.02)
        connection = connect(("CAB2", PORT))
        time.sleep(0.02)
        connection.send(b"is anybody there?")
        connection.settimeout(3)
        return raised(connection.recv, 1)

    with simulated("hub:2", nodes=["CAB1", "CAB2"]) as system:
        for cab in system.cabs:
            cab.stream.options = replace(cab.stream.options, silence_us=100_000, most_us=20_000)
        mine, theirs = system.node("CAB2").spawn(waits), system.node("CAB1").spawn(talks)
        system.faults.stop("CAB2", at_us=35_000)
        system.go(4 * 10**12)
        own, peers = mine.result, theirs.result
    assert own.errno == errno.ENETDOWN and "the CAB of CAB2.node has stopped" in str(own)
    assert peers.errno == errno.ETIMEDOUT and "is CAB 2 still running?" in str(peers)


# -- where there are no sockets --------------------------------------------------------------------------
def test_a_socket_that_another_process_or_the_host_uses():
    kept = []

    def makes(node):
        import socket
        import time as own_time

        kept.extend((socket.socket(), socket, own_time))
        own_time.sleep(0.01)

    def uses(node):
        time.sleep(0.005)
        return raised(kept[0].send, b"x")

    error, _ = run(("CAB1", uses), ("CAB2", makes))
    assert error.errno == errno.EBADF and "that of another process, of CAB2.node" in str(error)
    for attempt in (kept[1].socket, kept[1].gethostname, kept[2].monotonic, lambda: kept[0].send(b"")):
        error = raised(attempt)
        assert error.errno == errno.EOPNOTSUPP and "start it by node.spawn" in str(error)


def test_an_async_process_has_no_sockets():
    kept = []

    def makes(node):
        import socket

        kept.append(socket)

    async def uses(node):
        await node.sleep(10_000)
        return raised(kept[0].socket)

    _, error = run(("CAB1", makes), ("CAB1", uses), nodes=["CAB1"])
    assert error.errno == errno.EOPNOTSUPP


def test_a_process_that_ends_itself_with_an_error():
    with pytest.raises(ProgramError, match="a process of CAB1.node has ended itself with 3"):
        alone(lambda: sys.exit(3))


def test_an_error_in_a_thread_is_told(capsys):
    def work():
        import threading

        thread = threading.Thread(target=lambda: 1 / 0, name="divider")
        thread.start()
        thread.join()

    alone(work)
    assert "Exception in thread divider" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error, number",
    [
        (NoRoute("no way"), errno.EHOSTUNREACH),
        (PeerSilent("gone"), errno.ETIMEDOUT),
        (CabSilent("down"), errno.ENETDOWN),
        (StreamError("else"), errno.ENOBUFS),
    ],
)
def test_every_error_of_the_transports_has_its_errno(error, number):
    assert os_error(error).errno == number and str(error) in str(os_error(error))

"""Python's library on the sockets of nodes, as it is; docs/sockets.md."""

import pytest

from nectar.verification.software.nodes import run

#: What clients wait for, in seconds of simulated time: servers have begun to listen.
WARM_UP = 0.02


def serving(function):
    """A process that serves until its clients have had what they wanted."""

    def process(node, *arguments):
        return function(*arguments)

    return process


def asking(function):
    """A process that begins later."""

    def process(node, *arguments):
        import time

        time.sleep(WARM_UP)
        return function(*arguments)

    return process


# -- http ------------------------------------------------------------------------------------------------
def web(requests, threads=False):
    """A web server with a page, an error, and a form that echoes."""
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            seen.append(args[0] % args[1:])

        def do_GET(self):
            if self.path != "/page":
                self.send_error(404)
                return
            self.give(b"<p>Nectar</p>" * 100)

        def do_POST(self):
            self.give(self.rfile.read(int(self.headers["Content-Length"]))[::-1])

        def give(self, content):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    seen = []
    kind = http.server.ThreadingHTTPServer if threads else http.server.HTTPServer
    with kind(("", 80), Handler) as server:
        server.daemon_threads = False
        for _ in range(requests):
            server.handle_request()
    return seen, server.server_address


def browse():
    import time
    import urllib.error
    import urllib.request

    with urllib.request.urlopen("http://CAB2/page", timeout=1) as answer:
        page, date = answer.read(), answer.headers["Date"]
    with urllib.request.urlopen("http://CAB2/form", data=b"sent by post") as answer:
        form = answer.read()
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen("http://CAB2:80/nothing")
    missing.value.close()
    return page, form, missing.value.code, date, time.monotonic()


def test_http_server_and_urllib():
    (page, form, code, date, seconds), (seen, address) = run(("CAB1", asking(browse)), ("CAB2", serving(web), 3))
    assert page == b"<p>Nectar</p>" * 100 and form == b"sent by post"[::-1] and code == 404
    assert date == "Sun, 01 Jan 1989 00:00:00 GMT" and WARM_UP < seconds < 0.2
    assert [line.split()[-2] for line in seen] == ["200", "200", "code"] or len(seen) == 4
    assert address == ("0.0.0.0", 80)


def test_http_server_with_a_thread_for_each_connection():
    def keep():
        import http.client

        connections = [http.client.HTTPConnection("CAB2") for _ in range(2)]
        got = []
        for _ in range(2):
            for connection in connections:
                connection.request("GET", "/page")
                got.append(connection.getresponse().read())
        for connection in connections:
            connection.close()
        return got

    got, (seen, _) = run(("CAB1", asking(keep)), ("CAB2", serving(web), 2, True))
    assert got == [b"<p>Nectar</p>" * 100] * 4 and len(seen) == 4


# -- socketserver ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("threads", [False, True])
def test_socketserver_tcp(threads):
    def serve():
        import socketserver
        import threading

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                for line in self.rfile:
                    self.wfile.write(line.strip()[::-1] + b"\n")

        class Server(socketserver.ThreadingTCPServer if threads else socketserver.TCPServer):
            allow_reuse_address = True

        with Server(("CAB2", 2000), Handler) as server:
            worker = threading.Thread(target=server.serve_forever, args=(0.01,))
            worker.start()
            done.wait()
            server.shutdown()
            worker.join()
        return worker.is_alive(), threading.active_count()

    def ask(words):
        import socket

        with socket.create_connection(("CAB2", 2000)) as connection, connection.makefile("rw") as file:
            got = []
            for word in words:
                print(word, file=file, flush=True)
                got.append(file.readline().strip())
        return got

    done = _Flag()

    def both(words):
        got = ask(words)
        done.set()
        return got

    got, (alive, threads) = run(("CAB1", asking(both), ["nectar", "hub"]), ("CAB2", serving(serve)))
    assert got == ["ratcen", "buh"] and not alive and threads == 1


class _Flag:
    """What a process of one node tells another, past the network."""

    def __init__(self):
        self._is_set = False

    def set(self):
        """It is so."""
        self._is_set = True

    def wait(self):
        """Until it is so."""
        import time

        while not self._is_set:
            time.sleep(0.005)


def test_socketserver_udp():
    def serve():
        import socketserver

        class Handler(socketserver.DatagramRequestHandler):
            def handle(self):
                self.wfile.write(self.rfile.read().upper())

        with socketserver.UDPServer(("", 2001), Handler) as server:
            for _ in range(2):
                server.handle_request()
            return server.server_address

    def ask():
        import socket

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.1)
            answers = []
            for word in b"hub", b"cab" * 1000:
                client.sendto(word, ("CAB2", 2001))
                answers.append(client.recvfrom(4000))
        return answers

    got, address = run(("CAB1", asking(ask)), ("CAB2", serving(serve)))
    assert got == [(b"HUB", ("10.1.0.2", 2001)), (b"CAB" * 1000, ("10.1.0.2", 2001))]
    assert address == ("0.0.0.0", 2001)


# -- xmlrpc ----------------------------------------------------------------------------------------------
def test_xmlrpc():
    def serve():
        from xmlrpc.server import SimpleXMLRPCServer

        with SimpleXMLRPCServer(("CAB2", 8000), logRequests=False, allow_none=True) as server:
            server.register_function(pow)
            server.register_function(lambda words: {word: len(word) for word in words}, "lengths")
            for _ in range(3):
                server.handle_request()

    def ask():
        from xmlrpc.client import Fault, ServerProxy

        results = []
        for call in (lambda proxy: proxy.pow(2, 10), lambda proxy: proxy.lengths(["hub", "fiber"])):
            with ServerProxy("http://CAB2:8000") as proxy:
                results.append(call(proxy))
        with ServerProxy("http://CAB2:8000") as proxy, pytest.raises(Fault, match="not supported"):
            proxy.nothing()
        return results

    got, _ = run(("CAB1", asking(ask)), ("CAB2", serving(serve)))
    assert got == [1024, {"hub": 3, "fiber": 5}]


# -- smtp ------------------------------------------------------------------------------------------------
def test_smtplib_with_a_small_server():
    def serve():
        import socketserver

        class Handler(socketserver.StreamRequestHandler):
            def say(self, text):
                self.wfile.write(text.encode() + b"\r\n")

            def handle(self):
                self.say("220 CAB2 takes mail")
                for line in self.rfile:
                    word = line.split()[0].upper()
                    if word == b"DATA":
                        self.say("354 go on")
                        mail = []
                        while (line := self.rfile.readline()) != b".\r\n":
                            mail.append(line.decode())
                        got.append("".join(mail))
                        self.say("250 kept")
                    elif word == b"QUIT":
                        self.say("221 bye")
                        return
                    else:
                        got.append(line.decode().strip())
                        self.say("250 good")

        got = []
        with socketserver.TCPServer(("", 25), Handler) as server:
            server.handle_request()
        return got

    def send():
        import smtplib
        from email.message import EmailMessage

        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "a@CAB1", "b@CAB2", "Backplane"
        mail.set_content("Packets, not letters.\n")
        with smtplib.SMTP("CAB2", timeout=1) as server:
            return server.send_message(mail)

    refused, got = run(("CAB1", asking(send)), ("CAB2", serving(serve)))
    assert refused == {} and got[0] == "ehlo [10.1.0.1]" or got[0].startswith("ehlo")
    assert got[-1].endswith("Packets, not letters.\r\n") and "Subject: Backplane" in got[-1]
    assert got[1].startswith("mail FROM:<a@CAB1>") and got[2].startswith("rcpt TO:<b@CAB2>")


# -- ftp -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("passive", [True, False])
def test_ftplib_with_a_small_server(passive):
    files = {"hub.txt": b"crossbar\n" * 500}
    answers = {"USER": "331 password?", "PASS": "230 welcome", "QUIT": "221 bye"}

    def serve():
        import socket
        import socketserver

        class Handler(socketserver.StreamRequestHandler):
            def say(self, text):
                self.wfile.write(text.encode() + b"\r\n")

            def transfer(self):
                if self.listener is not None:
                    with self.listener:
                        return self.listener.accept()[0]
                return socket.create_connection(self.other)

            def handle(self):
                self.say("220 CAB2 has files")
                self.listener = self.other = None
                for line in self.rfile:
                    word, _, rest = line.decode().strip().partition(" ")
                    if word == "PASV":
                        self.listener = socket.create_server(("CAB2", 0))
                        host, port = self.listener.getsockname()
                        numbers = [*host.split("."), str(port >> 8), str(port & 255)]
                        self.say(f"227 Entering Passive Mode ({','.join(numbers)})")
                    elif word == "PORT":
                        *host, high, low = rest.split(",")
                        self.other = ".".join(host), int(high) << 8 | int(low)
                        self.say("200 good")
                    elif word in ("RETR", "STOR"):
                        self.say("150 here it comes")
                        with self.transfer() as data:
                            if word == "RETR":
                                data.sendall(files[rest])
                            else:
                                files[rest] = data.makefile("rb").read()
                        self.say("226 done")
                    else:
                        self.say(answers.get(word, "200 ok"))

        with socketserver.TCPServer(("", 21), Handler) as server:
            server.handle_request()

    def fetch():
        import ftplib
        import io

        with ftplib.FTP("CAB2", "guest", "secret", timeout=1) as ftp:
            ftp.set_pasv(passive)
            parts = []
            ftp.retrbinary("RETR hub.txt", parts.append)
            ftp.storbinary("STOR cab.txt", io.BytesIO(b"fiber" * 100))
            return ftp.getwelcome(), b"".join(parts)

    (welcome, got), _ = run(("CAB1", asking(fetch)), ("CAB2", serving(serve)))
    assert welcome == "220 CAB2 has files" and got == files["hub.txt"] and files["cab.txt"] == b"fiber" * 100

"""The module ``_socket`` of a process on a node, above which Python's ``socket`` runs. Specification:
docs/sockets.md."""

import _socket
import errno
import socket
import types

from .descriptions import Datagram, Stream
from .errors import wrong
from .process import call, current

__all__ = ["MODULE", "refuse"]

_KINDS = {socket.SOCK_STREAM: Stream, socket.SOCK_DGRAM: Datagram}
_PROTOCOLS = {socket.SOCK_STREAM: (0, socket.IPPROTO_TCP), socket.SOCK_DGRAM: (0, socket.IPPROTO_UDP)}
#: Flags of the host's that a type of a socket may carry.
_FLAGS = getattr(socket, "SOCK_NONBLOCK", 0) | getattr(socket, "SOCK_CLOEXEC", 0)
#: Constants that mean something here; programs that ask whether a name is there find no other.
_PREFIXES = ("AI_", "EAI_", "INADDR_", "IPPORT_", "NI_", "SHUT_", "SO_", "SOL_", "TCP_")
_CONSTANTS = (
    "AF_INET",
    "AF_UNSPEC",
    "IPPROTO_IP",
    "IPPROTO_TCP",
    "IPPROTO_UDP",
    "MSG_DONTWAIT",
    "MSG_PEEK",
    "MSG_WAITALL",
    "SOCK_DGRAM",
    "SOCK_STREAM",
    "SOMAXCONN",
)
#: Functions of the host's that need no network.
_PLAIN = (
    "getprotobyname",
    "getservbyname",
    "getservbyport",
    "htonl",
    "htons",
    "inet_aton",
    "inet_ntoa",
    "inet_ntop",
    "inet_pton",
    "ntohl",
    "ntohs",
)


def refuse(*_, **__):
    """A socket of the host cannot be made by a process of a node."""
    raise wrong(
        errno.EOPNOTSUPP,
        "a module with sockets that the program imports at its top is the host's: import it in the process",
    )


def _seconds(timeout):
    if timeout is None:
        return None
    timeout = float(timeout)
    if timeout < 0:
        raise ValueError("Timeout value out of range")
    return timeout


def _pair(address, what):
    """Host and port of an address that a program has given."""
    if not isinstance(address, tuple):
        raise TypeError(f"{what}: an address is a tuple (host, port), not {type(address).__name__}")
    if len(address) != 2 or not isinstance(address[0], (str, bytes, bytearray)) or not isinstance(address[1], int):
        raise TypeError(f"{what}: an address is a tuple (host, port), not {address!r}")
    if not 0 <= address[1] <= 65535:
        raise OverflowError(f"{what}: port must be 0-65535.")
    return address


class Socket:
    """As ``_socket.socket``."""

    __slots__ = ("_family", "_type", "_proto", "_process", "_number", "_timeout")

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        self._number = -1
        self._process = process = current()
        family = socket.AF_INET if family == -1 else family
        type = socket.SOCK_STREAM if type == -1 else type & ~_FLAGS
        proto = max(proto, 0)
        if family != socket.AF_INET:
            raise wrong(errno.EAFNOSUPPORT, f"sockets of a node are of the family AF_INET, not {family}")
        if type not in _KINDS or proto not in _PROTOCOLS[type]:
            raise wrong(errno.EPROTONOSUPPORT, f"there are no sockets of type {type} with protocol {proto}")
        self._family, self._type, self._proto = int(family), int(type), proto
        self._timeout = process.default_timeout
        if fileno is None:
            process.node.door.spend(process.node.costs.socket_call)
            self._number = process.keep(_KINDS[type](process.network))
        else:
            process.description(fileno)
            self._number = fileno

    @property
    def _description(self):
        """What it stands for. OSError EBADF if it is closed or another process's."""
        process = current()
        if process is not self._process:
            raise wrong(errno.EBADF, f"the socket is that of another process, of {self._process.node.name}")
        return process.description(self._number)

    # -- addresses -----------------------------------------------------------------------------------
    def bind(self, address):
        """As in Python."""
        call(self._description.bind(*_pair(address, "bind()")))

    def getsockname(self):
        """As in Python."""
        return self._description.name()

    def getpeername(self):
        """As in Python."""
        return self._description.peer()

    # -- connections ---------------------------------------------------------------------------------
    def _stream(self):
        description = self._description
        if not isinstance(description, Stream):
            raise wrong(errno.EOPNOTSUPP, "a datagram socket has no connections")
        return description

    def listen(self, backlog=8):
        """As in Python."""
        call(self._stream().listen(backlog))

    def _accept(self):
        made, address = call(self._stream().accept(self._timeout))
        return self._process.keep(made), address

    def connect(self, address):
        """As in Python."""
        call(self._description.connect(*_pair(address, "connect()"), self._timeout))

    def connect_ex(self, address):
        """As in Python."""
        try:
            self.connect(address)
        except TimeoutError:
            return errno.EAGAIN
        except socket.gaierror:
            raise
        except OSError as error:
            return error.errno
        return 0

    def shutdown(self, how):
        """As in Python."""
        if how not in (socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR):
            raise wrong(errno.EINVAL, f"shutdown ends SHUT_RD, SHUT_WR or SHUT_RDWR, not {how}")
        call(self._description.shut(how != socket.SHUT_WR, how != socket.SHUT_RD))

    # -- bytes ---------------------------------------------------------------------------------------
    def _wait(self, flags):
        return 0 if flags & socket.MSG_DONTWAIT else self._timeout

    def send(self, data, flags=0):
        """As in Python."""
        return call(self._description.send(memoryview(data).cast("B"), self._wait(flags)))

    def sendall(self, data, flags=0):
        """As in Python."""
        data = memoryview(data).cast("B")
        while data:
            data = data[self.send(data, flags) :]

    def sendto(self, data, *where):
        """As in Python: ``sendto(data, address)`` or ``sendto(data, flags, address)``."""
        description = self._description
        *flags, address = where
        if isinstance(description, Stream):
            return self.send(data, *flags)
        data = memoryview(data).cast("B")
        return call(description.send(data, self._timeout, *_pair(address, "sendto()")))

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None):
        """As in Python, without ancillary data."""
        data = b"".join(bytes(buffer) for buffer in buffers)
        return self.send(data, flags) if address is None else self.sendto(data, flags, address)

    def recv(self, bufsize, flags=0):
        """As in Python."""
        if bufsize < 0:
            raise ValueError("negative buffersize in recv")
        peek = bool(flags & socket.MSG_PEEK)
        data = call(self._description.receive(bufsize, self._wait(flags), peek))
        if flags & socket.MSG_WAITALL and not peek and isinstance(self._description, Stream):
            while data and len(data) < bufsize and (more := self.recv(bufsize - len(data))):
                data += more
        return data

    def recvfrom(self, bufsize, flags=0):
        """As in Python."""
        description = self._description
        if isinstance(description, Stream):
            return self.recv(bufsize, flags), None
        return call(description.receive_from(bufsize, self._wait(flags), bool(flags & socket.MSG_PEEK)))

    def recv_into(self, buffer, nbytes=0, flags=0):
        """As in Python."""
        return self._into(buffer, nbytes, lambda room: (self.recv(room, flags), None))[0]

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        """As in Python."""
        return self._into(buffer, nbytes, lambda room: self.recvfrom(room, flags))

    @staticmethod
    def _into(buffer, nbytes, receive):
        view = memoryview(buffer).cast("B")
        if nbytes < 0 or nbytes > len(view):
            raise ValueError("nbytes is greater than the length of the buffer, or negative")
        data, address = receive(nbytes or len(view))
        view[: len(data)] = data
        return len(data), address

    # -- what it is ----------------------------------------------------------------------------------
    family = property(lambda self: self._family, doc="As in Python.")
    type = property(lambda self: self._type, doc="As in Python.")
    proto = property(lambda self: self._proto, doc="As in Python.")

    def fileno(self):
        """As in Python: a number that only the process knows."""
        return self._number

    @property
    def timeout(self):
        """As in Python."""
        return self._timeout

    def settimeout(self, value):
        """As in Python."""
        self._timeout = _seconds(value)

    def gettimeout(self):
        """As in Python."""
        return self._timeout

    def setblocking(self, flag):
        """As in Python."""
        self._timeout = None if flag else 0.0

    def getblocking(self):
        """As in Python."""
        return self._timeout != 0

    def setsockopt(self, level, option, value=None, optlen=None):
        """As in Python: options are kept and do nothing."""
        self._description.options[level, option] = value

    def getsockopt(self, level, option, buflen=0):
        """As in Python."""
        description = self._description
        if (level, option) == (socket.SOL_SOCKET, socket.SO_ERROR):
            error = call(description.error())
            return 0 if error is None else error.errno
        if (level, option) == (socket.SOL_SOCKET, socket.SO_TYPE):
            return self._type
        if (level, option) == (socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return int(description.listening)
        return description.options.get((level, option), 0)

    # -- its end -------------------------------------------------------------------------------------
    def close(self):
        """As in Python."""
        number, self._number = self._number, -1
        if number != -1:
            call(self._process.close(number))

    def detach(self):
        """As in Python."""
        number, self._number = self._number, -1
        return number


def _close(number):
    call(current().close(number))


def _dup(number):
    process = current()
    return process.keep(process.description(number))


def _gethostname():
    return current().network.hosts.own_name


def _gethostbyname(name):
    return current().network.hosts.resolve(name)


def _gethostbyname_ex(name):
    address = _gethostbyname(name)
    return current().network.hosts.name(address) or name, [], [address]


def _gethostbyaddr(name):
    address = _gethostbyname(name)
    host = current().network.hosts.name(address)
    if host is None:
        raise socket.herror(1, f"no CAB has the address {address}")
    return host, [], [address]


def _port(service, protocol):
    if service is None:
        return 0
    if isinstance(service, (bytes, str)):
        service = service.decode() if isinstance(service, bytes) else service
        if service.isdigit():
            return int(service)
        try:
            return socket.getservbyname(service, protocol)
        except OSError:
            raise socket.gaierror(socket.EAI_SERVICE, f"no service is called {service!r}") from None
    return service


def _getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    if family not in (0, socket.AF_INET):
        raise socket.gaierror(socket.EAI_FAMILY, f"hosts have addresses of the family AF_INET, not {family}")
    hosts = current().network.hosts
    if host is None:
        address = "0.0.0.0" if flags & socket.AI_PASSIVE else hosts.own
    else:
        address = hosts.resolve(host)
    found = []
    for kind, protocol, name in (
        (socket.SOCK_STREAM, socket.IPPROTO_TCP, "tcp"),
        (socket.SOCK_DGRAM, socket.IPPROTO_UDP, "udp"),
    ):
        if type in (0, kind) and proto in (0, protocol):
            found.append((int(socket.AF_INET), int(kind), int(protocol), "", (address, _port(port, name))))
    if not found:
        raise socket.gaierror(socket.EAI_SOCKTYPE, f"there are no sockets of type {type} with protocol {proto}")
    return found


def _getnameinfo(address, flags):
    host, port = address[:2]
    name = None if flags & socket.NI_NUMERICHOST else current().network.hosts.name(host)
    return name or host, str(port)


def _getdefaulttimeout():
    return current().default_timeout


def _setdefaulttimeout(timeout):
    current().default_timeout = _seconds(timeout)


MODULE = types.ModuleType("_socket", "The sockets of a process on a node.")
vars(MODULE).update(
    {name: value for name, value in vars(_socket).items() if name.startswith(_PREFIXES) or name in _CONSTANTS + _PLAIN}
)
vars(MODULE).update(
    error=OSError,
    timeout=TimeoutError,
    herror=socket.herror,
    gaierror=socket.gaierror,
    has_ipv6=False,
    socket=Socket,
    SocketType=Socket,
    close=_close,
    dup=_dup,
    gethostname=_gethostname,
    gethostbyname=_gethostbyname,
    gethostbyname_ex=_gethostbyname_ex,
    gethostbyaddr=_gethostbyaddr,
    getaddrinfo=_getaddrinfo,
    getnameinfo=_getnameinfo,
    getdefaulttimeout=_getdefaulttimeout,
    setdefaulttimeout=_setdefaulttimeout,
)

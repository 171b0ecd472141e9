"""Network namespaces of Linux with a TUN device each: all of ``nectar net`` that takes privileges. Specification:
docs/net.md.

Nothing of the host's own network is touched: what is made here lies in namespaces of its own, or under FOLDER."""

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

from ..cli.errors import UsageError
from ..software.node.ip.layout import MTU
from .errors import NetworkGone

__all__ = ["DEVICE", "FOLDER", "Namespaces", "State", "enter", "inside", "privileged"]

#: Of each network that stands, a folder with its state.
FOLDER = "/run/nectar-net"
#: The network device in each namespace.
DEVICE = "nectar0"
_TUN = "/dev/net/tun"
_PLACES = "/run/netns"
#: Where 1 keeps Linux from giving the device an address of IPv6, and from asking for routers.
_IPV6 = f"/proc/sys/net/ipv6/conf/{DEVICE}/addr_gen_mode"
# linux/capability.h, linux/if_tun.h, linux/sched.h, linux/mount.h
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR, _TUN_F_CSUM = 0x0001, 0x1000, 0x4000, 0x01
_NEWNET, _NEWNS, _NEWUTS = 0x40000000, 0x00020000, 0x04000000
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 1 << 18
#: How long processes have to end, in seconds.
_GRACE = 3.0
_LIBC = ctypes.CDLL(None, use_errno=True)


def privileged():
    """Whether this process may make network namespaces: root in a container may lack these capabilities of Linux."""
    with open("/proc/self/status") as status:
        effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
    return all(effective >> capability & 1 for capability in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def _libc(function, *arguments):
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class State:
    """What is known of a network by its name: the folder of that name under FOLDER.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name):
        if not name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name) or len(name) > 40:
            raise UsageError(f"--name {name}: a name has letters, digits, - and _, 40 at most")
        self.name = name
        self.folder = os.path.join(FOLDER, name)

    def file(self, name):
        """Path of one of its files."""
        return os.path.join(self.folder, name)

    @property
    def exists(self):
        """Whether a network of that name stands, or something is left of one."""
        return os.path.isdir(self.folder)

    def read(self):
        """What the network's process has written: ``pid``, ``born``, ``namespaces``, ``addresses``, ``status``. A file
        that is not there yet: {}."""
        try:
            with open(self.file("state.json")) as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def write(self, **what):
        """Replaces that."""
        with open(self.file("state.new"), "w") as file:
            json.dump(what, file)
        os.replace(self.file("state.new"), self.file("state.json"))

    @property
    def alive(self):
        """Whether the process that carries the network's packets runs."""
        state = self.read()
        return bool(state) and _born(state["pid"]) == state["born"]

    def require(self):
        """What is known of a network that stands. Raises UsageError."""
        if not self.alive:
            left = f"; something is left of one: 'nectar net down{_named(self.name)}' removes it" if self.exists else ""
            raise UsageError(f"there is no network {self.name!r}; 'nectar net up' makes one{left}")
        return self.read()

    def stop(self):
        """Asks that process to take everything away."""
        os.kill(self.read()["pid"], signal.SIGTERM)

    def remove(self):
        """Takes everything away: processes in the namespaces, the namespaces, the folder."""
        there = self.read().get("namespaces", {}).values()
        there = [name for name in there if os.path.exists(os.path.join(_PLACES, name))]
        _end(lambda: [int(pid) for name in there for pid in _ip("netns", "pids", name).split()])
        for name in there:
            with contextlib.suppress(UsageError):  # somebody else has removed it
                _ip("netns", "del", name)
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # others stand
            os.rmdir(FOLDER)


class Namespaces:
    """Context manager: a namespace for each CAB, with a device whose packets come from a descriptor.

    Parameters
    ----------
    state : State
    network : Network (``software.node.ip.packets``)

    Members
    -------
    descriptors : dict of str → int
        TUN device of each CAB.

    Raises UsageError.
    """

    def __init__(self, state, network):
        self.state, self.network = state, network
        self.descriptors = {}
        self._kept = {}

    @staticmethod
    def check(state, network=None):
        """Raises UsageError if they cannot be made here. ``network``: an ipaddress.IPv4Network, which must be free."""
        if state.exists:
            what = "stands already" if state.alive else "was not taken away, since its process was ended"
            raise UsageError(f"the network {state.name!r} {what}: 'nectar net down{_named(state.name)}' removes it")
        if not privileged():
            raise UsageError(
                "network namespaces take root's rights: run it by sudo, or in a user namespace (docs/net.md)"
            )
        if shutil.which("ip") is None:
            raise UsageError("the program 'ip' is missing: install iproute2")
        try:
            os.close(os.open(_TUN, os.O_RDWR))
        except OSError as error:
            raise UsageError(f"{_TUN} cannot be opened: {error.strerror}; 'modprobe tun' makes it") from None
        if network is not None:
            for line in _ip("-4", "route", "show", "root", str(network)).splitlines():
                raise UsageError(
                    f"this machine has a route into {network} already ({line.strip()}): take another by --network"
                )

    def __enter__(self):
        state = self.state
        try:
            os.makedirs(state.folder)
        except FileExistsError:
            raise UsageError(f"the network {state.name!r} stands already") from None
        except OSError as error:
            raise UsageError(f"{state.folder} cannot be made: {error.strerror}") from None
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self):
        cabs = self.network.cabs
        names = {name: f"{self.state.name}-{name}" for name in cabs}
        for name in names.values():
            if os.path.exists(os.path.join(_PLACES, name)):
                raise UsageError(f"there is a network namespace {name!r} already: take another --name")
        addresses = {name: self.network.address(name) for name in cabs}
        hosts = ["127.0.0.1 localhost", *(f"{address} {name} {name.lower()}" for name, address in addresses.items())]
        with open(self.state.file("hosts"), "w") as file:
            file.write("\n".join(hosts) + "\n")
        self._kept = {
            "pid": os.getpid(),
            "born": _born(os.getpid()),
            "namespaces": names,
            "addresses": addresses,
        }
        self.tell({})
        for name, place in names.items():
            _ip("netns", "add", place)
            self.descriptors[name] = _tun(place)
            others = [address for other, address in addresses.items() if other != name]
            _ip(
                "-n",
                place,
                "-batch",
                "-",
                given="\n".join(
                    [
                        "link set lo up",
                        f"link set {DEVICE} mtu {MTU} txqueuelen 64",
                        f"addr add {addresses[name]}/32 dev {DEVICE}",
                        f"link set {DEVICE} up multicast on",
                        *(f"route add {other}/32 dev {DEVICE} src {addresses[name]}" for other in others),
                        f"route add 224.0.0.0/4 dev {DEVICE} src {addresses[name]}",
                        f"route add unreachable {self.network.network}",
                        "",
                    ]
                ),
            )

    def tell(self, status):
        """Writes what 'nectar net status' shows: a dict of numbers and texts. Raises NetworkGone if a namespace is not
        there any more: a device that is open outlives it."""
        for name, place in self._kept["namespaces"].items():
            if name in self.descriptors and not os.path.exists(os.path.join(_PLACES, place)):
                raise NetworkGone(f"the network namespace {place!r} was removed while it carried packets")
        self.state.write(**self._kept, status=status)

    def __exit__(self, *error):
        for descriptor in self.descriptors.values():
            os.close(descriptor)
        self.descriptors = {}
        self.state.remove()


def enter(state, cab, command):
    """Becomes the program ``command`` (list of str) on the node of a CAB. Raises UsageError."""
    known = state.require()
    names = {name.lower(): name for name in known["namespaces"]}
    name = names.get(cab.lower())
    if name is None:
        raise UsageError(f"there is no {cab!r} in the network {state.name!r}; there are {', '.join(names.values())}")
    if not privileged():
        raise UsageError("to enter a network namespace takes root's rights: run it as root")
    try:
        _enter(known["namespaces"][name])
        _libc(_LIBC.unshare, _NEWNS | _NEWUTS)
        _libc(_LIBC.mount, b"none", b"/", None, _REC | _PRIVATE, None)
        _libc(_LIBC.mount, os.fsencode(state.file("hosts")), b"/etc/hosts", None, _BIND, None)
        socket.sethostname(name)
    except OSError as error:
        raise UsageError(f"the namespace of {name} cannot be entered: {error.strerror}") from None
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be run: {error.strerror}") from None


def _enter(place):
    """Has this thread enter a network namespace."""
    descriptor = os.open(os.path.join(_PLACES, place), os.O_RDONLY)
    try:
        _libc(_LIBC.setns, descriptor, _NEWNET)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def inside(place):
    """What this thread opens meanwhile is in the network namespace of that name. OSError."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter(place)
        try:
            yield
        finally:
            _libc(_LIBC.setns, home, _NEWNET)
    finally:
        os.close(home)


def _tun(place):
    """A descriptor of a new TUN device in a namespace."""
    try:
        with inside(place):
            descriptor = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                flags = _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR
                fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), flags))
                fcntl.ioctl(descriptor, _TUNSETOFFLOAD, _TUN_F_CSUM)
                with contextlib.suppress(OSError), open(_IPV6, "w") as file:  # a kernel may lack IPv6
                    file.write("1")
            except BaseException:
                os.close(descriptor)
                raise
            return descriptor
    except OSError as error:
        raise UsageError(f"a TUN device in {place} cannot be made: {error.strerror}") from None


def _ip(*words, given=None):
    """What the program ``ip`` prints. Raises UsageError."""
    done = subprocess.run(["ip", *words], input=given, capture_output=True, text=True)
    if done.returncode:
        raise UsageError(f"'ip {' '.join(words)}' failed: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _born(pid):
    """When a process was started, in ticks since the machine was; None: there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[19])
    except OSError:
        return None


def _end(pids):
    """Ends the processes that ``pids()`` names, these by their ID, first politely."""
    for number in signal.SIGTERM, signal.SIGKILL:
        begun = time.monotonic()
        while (left := pids()) and time.monotonic() - begun < _GRACE:
            if number is not None:
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                number = None
            time.sleep(0.02)


def _named(name):
    return "" if name == "nectar" else f" --name {name}"

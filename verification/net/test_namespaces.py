"""Linux's own protocols over the boards, by sockets in network namespaces: docs/net.md."""

import errno
import os
import socket
import struct
import time
from contextlib import ExitStack, suppress

import pytest

from nectar.net.errors import NetworkGone
from nectar.net.namespaces import FOLDER
from nectar.software.node.ip.layout import MTU
from nectar.verification.net.marks import privileged
from nectar.verification.net.places import network
from nectar.verification.net.streams import push
from nectar.verification.software.helpers import drive, pattern

pytestmark = privileged
NAME = f"nectar-test-{os.getpid()}"


def carry(place, over, seconds=300):
    """Carries packets until ``over()`` gives something true; that."""
    end, got = time.monotonic() + seconds, []

    def ended():
        assert time.monotonic() < end, "what was to come has not come"
        got[:] = [over()]
        return got[0]

    drive(place.carrier.run(ended, 0.001))
    return got[0]


def received(socket, size=1 << 16):
    """A datagram, or None."""
    with suppress(BlockingIOError):
        return socket.recv(size)
    return None


def test_pings_are_answered_by_the_kernel_behind_the_other_cab():
    with network(NAME) as place, place.socket("CAB1", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as ping:
        for number in range(10):
            echo = struct.pack(">BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, number) + pattern(56)
            total = -sum(struct.unpack(f">{len(echo) // 2}H", echo)) % 0xFFFF
            ping.sendto(echo[:2] + total.to_bytes(2, "big") + echo[4:], ("10.89.0.2", 0))
            answer = carry(place, lambda: received(ping))
            assert answer[20:22] == b"\0\0" and answer[24:] == echo[4:]


def test_a_tcp_connection_carries_its_bytes_whole():
    data = pattern(100_000)
    with network(NAME) as place:
        got, _ = push(place, data)
        assert got == data
        assert place.carrier.drivers["CAB1"].counters.sent > len(data) / (MTU - 52)
        assert not any(station.counters.wrong_sum for station in place.carrier.stations.values())


def test_a_long_datagram_goes_in_fragments():
    data = pattern(5000)
    with network(NAME) as place, ExitStack() as opened:
        one, other = (
            opened.enter_context(place.socket(cab, socket.AF_INET, socket.SOCK_DGRAM)) for cab in ("CAB1", "CAB2")
        )
        other.bind(("10.89.0.2", 4000))
        one.sendto(data, ("10.89.0.2", 4000))
        assert carry(place, lambda: received(other)) == data
        assert place.carrier.drivers["CAB1"].counters.sent == -(-5008 // 976)


def test_a_packet_that_may_not_be_cut_must_fit_the_mtu():
    with network(NAME) as place, place.socket("CAB1", socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: always
        with pytest.raises(OSError) as refused:
            one.sendto(bytes(MTU - 27), ("10.89.0.2", 4000))
        assert refused.value.errno == errno.EMSGSIZE
        one.sendto(bytes(MTU - 28), ("10.89.0.2", 4000))
        carry(place, lambda: place.carrier.drivers["CAB2"].counters.received == 1)


def test_an_address_that_no_cab_has_is_unreachable_at_once():
    with network(NAME) as place, place.socket("CAB1", socket.AF_INET, socket.SOCK_DGRAM) as one:
        with pytest.raises(OSError) as refused:
            one.sendto(b"x", ("10.89.0.77", 4000))
        assert refused.value.errno == errno.EHOSTUNREACH


def test_ip_multicast_reaches_all_members_of_the_group():
    with network(NAME, "hub:4") as place, ExitStack() as opened:
        group, members = "239.8.9.0", []
        for number in 2, 3, 4:
            member = opened.enter_context(place.socket(f"CAB{number}", socket.AF_INET, socket.SOCK_DGRAM))
            member.bind((group, 4000))
            own = socket.inet_aton(f"10.89.0.{number}")
            if number != 3:
                member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + own)
            members.append(member)
        sender = opened.enter_context(place.socket("CAB1", socket.AF_INET, socket.SOCK_DGRAM))
        sender.sendto(b"to the group", (group, 4000))
        got = {}

        def over():
            for number, member in zip((2, 3, 4), members):
                data = received(member)
                if data is not None:
                    got[number] = data
            return {2, 4} <= got.keys() and all(
                place.carrier.drivers[f"CAB{number}"].counters.received for number in (2, 3, 4)
            )

        carry(place, over)
        assert got == {2: b"to the group", 4: b"to the group"}
        assert place.carrier.stations["CAB1"].counters.multicast >= 1


def test_a_namespace_that_is_taken_away_ends_the_run_in_one_line():
    with network(NAME) as place:
        place.namespaces.tell({})
        assert os.system(f"ip netns del {NAME}-CAB2") == 0
        with pytest.raises(NetworkGone, match=f"the network namespace '{NAME}-CAB2' was removed"):
            place.namespaces.tell({})


def test_nothing_is_left():
    with network(NAME):
        assert os.path.exists(f"/run/netns/{NAME}-CAB1") and os.path.isdir(f"{FOLDER}/{NAME}")
    assert not os.path.exists(f"/run/netns/{NAME}-CAB1") and not os.path.exists(f"{FOLDER}/{NAME}")

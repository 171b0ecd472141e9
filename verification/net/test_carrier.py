"""Packets between descriptors and nodes: docs/net.md, on fast boards and on the RTL."""

import os

import pytest

from nectar.net.errors import NetworkGone
from nectar.software.node.ip.driver import QUEUE
from nectar.software.node.ip.layout import LEAST, MTU, SLOTS
from nectar.software.packet import Protocol, pack
from nectar.verification.net.lines import carried, ip
from nectar.verification.software.helpers import BOARDS, pattern


class Clock:
    """A clock that goes on by ``step`` seconds whenever it is looked at."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


@pytest.mark.parametrize("boards", BOARDS)
def test_packets_of_all_lengths_arrive_whole_and_in_order_both_ways(boards):
    sizes = [0, 1, 2, 3, 64, 500, 501, MTU - LEAST - 1, MTU - LEAST]
    there = [ip(1, 2, pattern(size, 1)) for size in sizes]
    back = [ip(2, 1, pattern(size, 2)) for size in sizes]
    with carried(boards=boards) as lines:
        for one, other in zip(there, back):
            lines.send("CAB1", one)
            lines.send("CAB2", other)
        lines.run(lambda: all(len(got) == len(sizes) for got in lines.got.values()))
        assert (lines.packets("CAB2"), lines.packets("CAB1")) == (there, back)
        lines.settle()
        assert not any(driver.counters.dropped for driver in lines.carrier.drivers.values())


@pytest.mark.parametrize("boards", BOARDS)
def test_a_round_trip_takes_less_than_500_us(boards):
    """A ping of 84 bytes to a node that sleeps, answered at once."""
    with carried(boards=boards) as lines:
        lines.settle()
        lines.on_packet = lambda name, packet: name == "CAB2" and lines.send("CAB2", ip(2, 1, packet[20:]))
        begun = lines.machine.time_ps
        lines.send("CAB1", ip(1, 2, pattern(64)))
        lines.run(lambda: lines.got["CAB1"])
        assert 100 < (lines.got["CAB1"][0][0] - begun / 1e6) < 500


@pytest.mark.parametrize("boards", BOARDS)
def test_whether_a_checksum_is_open_travels_with_the_packet(boards):
    packets = [(ip(1, 2, pattern(60), protocol=protocol), unsummed) for protocol, unsummed in [(6, True), (17, False)]]
    with carried(boards=boards) as lines:
        for packet, unsummed in packets:
            lines.send("CAB1", packet, unsummed)
        lines.run(lambda: len(lines.got["CAB2"]) == 2)
        assert [(packet, unsummed) for _, packet, unsummed in lines.got["CAB2"]] == packets


@pytest.mark.parametrize("boards", BOARDS)
def test_a_multicast_is_one_packet_that_reaches_all_others(boards):
    packet = ip(1, "224.0.0.251", pattern(300))
    with carried("hub:4", boards) as lines:
        lines.settle()
        sent = lines.system.cab("CAB1").datalink.counters.packets_sent
        lines.send("CAB1", packet)
        lines.run(lambda: all(lines.got[name] for name in ("CAB2", "CAB3", "CAB4")))
        lines.settle()
        assert {name: len(got) for name, got in lines.got.items()} == {"CAB1": 0, "CAB2": 1, "CAB3": 1, "CAB4": 1}
        assert lines.packets("CAB4") == [packet]
        assert lines.system.cab("CAB1").datalink.counters.packets_sent == sent + 1


def test_a_multicast_reaches_all_over_several_hubs():
    with carried("mesh:2x2x1") as lines:
        for _ in range(3):
            lines.send("CAB1", ip(1, "239.1.2.3", b"all"))
        lines.run(lambda: all(len(got) == 3 for name, got in lines.got.items() if name != "CAB1"))


WRONG = {
    "IPv6": (b"\x60" + bytes(39), "ipv6"),
    "no version of IP": (b"\x75" + bytes(39), "malformed"),
    "no whole header": (ip(1, 2)[:19], "malformed"),
    "a header too short": (ip(1, 2, first=0x44), "malformed"),
    "a header longer than the packet": (ip(1, 2, first=0x46), "malformed"),
    "another length than its own": (ip(1, 2, b"abc", length=22), "malformed"),
    "a header whose checksum is wrong": (ip(1, 2)[:8] + b"\x01" + ip(1, 2)[9:], "malformed"),
    "longer than the MTU": (ip(1, 2, bytes(MTU - LEAST + 1)), "too_long"),
    "to no CAB": (ip(1, 77), "unreachable"),
    "to another network": (ip(1, "192.0.2.1"), "unreachable"),
    "to itself": (ip(1, 1), "unreachable"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_carried_is_dropped_and_counted(what):
    packet, counter = WRONG[what]
    with carried() as lines:
        lines.send("CAB1", packet)
        lines.send("CAB1", ip(1, 2, b"next"))
        lines.run(lambda: lines.got["CAB2"])
        counters = lines.carrier.drivers["CAB1"].counters
        assert (getattr(counters, counter), counters.dropped) == (1, 1)
        assert lines.packets("CAB2") == [ip(1, 2, b"next")]


def test_a_frame_that_is_no_packet_is_counted():
    with carried() as lines:
        os.write(lines.far("CAB1"), b"short")
        lines.settle()
        assert lines.carrier.drivers["CAB1"].counters.malformed == 1


def test_fragments_pass_as_they_are():
    pieces = [ip(1, 2, pattern(480), part=0x2000), ip(1, 2, pattern(101), part=60)]
    with carried() as lines:
        for piece in pieces:
            lines.send("CAB1", piece)
        lines.run(lambda: len(lines.got["CAB2"]) == 2)
        assert lines.packets("CAB2") == pieces


def test_a_flood_is_dropped_where_it_begins_and_others_still_talk():
    """What the driver's queue does not hold is dropped there; CAB3 gets its share of CAB2."""
    with carried("hub:3") as lines:
        lines.settle()
        for _ in range(4 * QUEUE):
            lines.send("CAB1", ip(1, 2, bytes(900)))
        for number in range(10):
            lines.send("CAB3", ip(3, 2, bytes([number])))
        lines.settle()
        drivers, station = lines.carrier.drivers, lines.carrier.stations["CAB2"].counters
        assert drivers["CAB1"].counters.queue_full >= QUEUE
        assert len([packet for packet in lines.packets("CAB2") if packet[15] == 3]) >= 5
        sent = drivers["CAB1"].counters.sent + drivers["CAB3"].counters.sent
        assert sent == len(lines.got["CAB2"]) + station.no_room


def test_a_node_that_two_others_flood_drops_by_its_ring_and_counts():
    with carried("hub:3", "fast") as lines:
        lines.settle()
        for number in range(2 * QUEUE):
            lines.send(("CAB1", "CAB3")[number % 2], ip((1, 3)[number % 2], 2, bytes(900)))
        lines.settle()
        station = lines.carrier.stations["CAB2"].counters
        assert station.no_room > 0 and station.received >= SLOTS
        assert station.received + station.no_room == 2 * QUEUE == len(lines.got["CAB2"]) + station.no_room


def test_a_damaged_packet_is_dropped_and_counted():
    with carried(faults=["CAB1-HUB1.P0:errors-data,nth=500"]) as lines:
        for number in range(3):
            lines.send("CAB1", ip(1, 2, bytes([number]) * 400))
        lines.run(lambda: len(lines.got["CAB2"]) == 2)
        assert lines.carrier.stations["CAB2"].counters.damaged == 1


@pytest.mark.parametrize("right", [True, False])
def test_a_packet_whose_internet_checksum_is_wrong_is_dropped(right):
    """The CRC is right: the bytes were wrong before they came to the fiber."""
    packet = ip(1, 2, pattern(80))

    async def task(cab):
        header = pack(Protocol.IP, 1, 2, 0, 0, 1, len(packet), 0)
        data = packet + (-sum(memoryview(header + packet).cast("H")) % 0xFFFF).to_bytes(2, "little")
        block = await cab.memory.allocate(len(data))
        cab.memory.write(block, data if right else data[:50] + b"\x55" + data[51:])
        await cab.door.now()  # a packet that is posted may leave before what the task has not stored yet
        cab.datalink.post(cab.datalink.route(2), header, [(block, len(data))])
        await cab.sleep(100)

    with carried() as lines:
        lines.system.spawn("CAB1", task)
        lines.settle()
        assert lines.carrier.stations["CAB2"].counters.wrong_sum == (0 if right else 1)
        assert lines.packets("CAB2") == [packet] * right


def test_packets_are_carried_again_when_a_fiber_is_repaired():
    with carried(faults=["CAB1-HUB1.P0:cut,at=20ms,for=10ms"], clock=Clock(2e-4)) as lines:

        def over():
            lines.send("CAB1", ip(1, 2, b"now"))
            return any(time_us > 60_000 for time_us, _, _ in lines.got["CAB2"][-1:])

        lines.run(over)
        times = [time_us for time_us, _, _ in lines.got["CAB2"]]
        assert any(time_us < 20_000 for time_us in times) and not any(20_500 < time_us < 30_000 for time_us in times)


def test_packets_are_carried_again_when_a_cab_has_started_anew():
    with carried(faults=["CAB2:stop,at=8ms,for=5ms"]) as lines:
        lines.settle()
        lines.run(lambda: lines.machine.time_ps > 10e9)
        lines.send("CAB1", ip(1, 2, b"lost"))
        lines.run(lambda: lines.machine.time_ps > 25e9)
        lines.send("CAB1", ip(1, 2, b"again"))
        lines.send("CAB2", ip(2, 1, b"back"))
        lines.run(lambda: lines.got["CAB1"] and ip(1, 2, b"again") in lines.packets("CAB2"))


@pytest.mark.parametrize("step", [0.0028, 0.003, 0.0032, 0.0034])
def test_a_packet_that_comes_while_a_cab_starts_leaves_its_driver_in_step(step):
    """The CAB starts at 13 ms; the steps of the clock have the packet sent soon behind that."""
    with carried(faults=["CAB2:stop,at=8ms,for=5ms"], clock=Clock(step)) as lines:
        lines.settle()
        assert 13e9 < lines.machine.time_ps < 16e9
        lines.send("CAB1", ip(1, 2, b"first"))
        lines.run(lambda: lines.machine.time_ps > 25e9)
        lines.send("CAB1", ip(1, 2, b"second"))
        lines.run(lambda: ip(1, 2, b"second") in lines.packets("CAB2"), seconds=20)


def test_while_all_is_quiet_simulated_time_passes_as_the_hosts():
    clock = Clock(0.01)
    with carried(clock=clock) as lines:
        lines.settle()
        begun, from_ps, busy_ps = clock.now, lines.machine.time_ps, lines.carrier.busy_ps
        lines.run(lambda: clock.now > begun + 1)
        passed = (lines.machine.time_ps - from_ps) / 1e12
        assert lines.carrier.busy_ps == busy_ps
        assert 0.2 < passed < clock.now - begun


def test_pace_holds_simulated_time_to_a_ratio_of_the_hosts():
    clock = Clock(0.001)
    with carried(pace=50, clock=clock) as lines:
        lines.run(lambda: clock.now > 1)
        assert lines.machine.time_ps / 1e12 == pytest.approx(clock.now / 50, rel=0.1)
        lines.send("CAB1", ip(1, 2))
        lines.run(lambda: lines.got["CAB2"])
        assert lines.machine.time_ps / 1e12 <= clock.now / 50


def test_a_device_that_goes_away_ends_the_run_in_one_line():
    with carried() as lines:
        lines.settle()
        lines.hang_up("CAB2")
        with pytest.raises(NetworkGone, match="the network device of CAB2 has gone"):
            lines.settle()

"""IP between nodes: what ``nectar bench net`` measures.

Simulated time on RTL boards. The TCP is Linux's own, in network namespaces; it takes no simulated time."""

from ...software.node.ip.layout import LEAST, MTU, out_slot
from ..net.lines import carried, ip
from ..net.places import network, why_not
from ..net.streams import push
from .outcome import Outcome

__all__ = ["measure"]

#: A round trip at most, in microseconds; throughput of TCP at least, as a share of VME's rate.
_ROUND_TRIP_US, _SHARE = 500, 0.7
_NAME = "nectar-bench"
_BYTES, _PACKETS, _STORES = 150_000, 40, 8


def measure(scale):
    """Outcomes: the round trip of a ping; the throughput of TCP beside the rate at which a node's VME moves bytes, if
    there can be network namespaces here."""
    trip, bus_us, packet_us = _paths(max(10, round(_PACKETS * scale)))
    text = f"a ping of 84 bytes to a node whose driver sleeps, answered at once: {trip:.0f} us"
    reason = why_not()
    if reason is not None:
        text += f"\nTCP is not measured: {reason}"
    outcomes = [Outcome(trip, "us", _ROUND_TRIP_US, text, at_most=True, measured={"round_trip_us": trip}, part="ping")]
    return outcomes if reason is not None else [*outcomes, _tcp(round(_BYTES * max(scale, 0.5)), bus_us, packet_us)]


def _paths(packets):
    """Microseconds: of a ping's round trip; in which a node stores the bytes of the longest packet; between two such
    packets one way."""
    with carried(boards="rtl") as lines:
        stored = lines.system.node("CAB1").spawn(_store, daemon=True)
        lines.settle()
        lines.on_packet = lambda name, packet: name == "CAB2" and lines.send("CAB2", ip(2, 1, packet[LEAST:]))
        begun = lines.machine.time_ps / 1e6
        lines.send("CAB1", ip(1, 2, bytes(84 - LEAST)))
        lines.run(lambda: lines.got["CAB1"])
        trip = lines.got["CAB1"][0][0] - begun
        lines.on_packet = None
        lines.got["CAB2"].clear()
        for _ in range(packets):
            lines.send("CAB1", ip(1, 2, bytes(MTU - LEAST)))
        lines.run(lambda: len(lines.got["CAB2"]) == packets)
        times = [time_us for time_us, *_ in lines.got["CAB2"]]
        return trip, stored.result, (times[-1] - times[0]) / (packets - 1)


async def _store(node):
    """A process: how long the bytes of a packet take over VME, in microseconds."""
    await node.attached()
    begun = await node.now_us()
    for number in range(_STORES):
        node.shared.store(out_slot(number), bytes(MTU))
    return (await node.now_us() - begun) / _STORES


def _tcp(size, bus_us, packet_us):
    with network(_NAME, boards="rtl") as place:
        _, marks = push(place, bytes(size))
        drivers = place.carrier.drivers
        acknowledged = drivers["CAB2"].counters.sent / drivers["CAB1"].counters.sent
    (first_us, before), (last_us, after) = marks[len(marks) // 4], marks[-1]
    rate, most = (after - before) * 8 / (last_us - first_us), MTU * 8 / bus_us
    segment = MTU - 52
    segment_us = segment * 8 / rate
    text = "\n".join(
        [
            f"Linux's TCP over RTL boards: {rate:.1f} Mbit/s; VME, a node's stores alone: {most:.1f} Mbit/s",
            f"a packet with a segment of {segment} bytes takes {segment_us:.0f} us: {bus_us:.0f} us its {MTU} bytes"
            f" over VME, {packet_us - bus_us:.0f} us driver and rings, {segment_us - packet_us:.0f} us acknowledgments"
            f" ({acknowledged:.2f} packets back for each)",
        ]
    )
    measured = {"rate": rate, "vme": most, "bus_us": bus_us, "packet_us": packet_us, "segment_us": segment_us}
    return Outcome(rate / most, "", _SHARE, text, measured=measured, part="tcp")

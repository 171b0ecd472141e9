"""What the datalink costs and how fast it answers, measured on the RTL: facts S4, S11 and C10, and the choice
between packets and circuits."""

import pytest

from nectar.hdl.link.symbol import MAX_PACKET
from nectar.sim.profile import PROTOTYPE
from nectar.software.datalink.datalink import Switching
from nectar.software.transport.datagram import CIRCUIT_FROM

from .figures import QUEUE_US, flow_control_cost, latency_us, routing_cost, upcall_us
from .helpers import pattern, receive_all, send_all, simulated


def test_flow_control_in_software_costs_less_than_a_tenth():
    """S11, C10: of the throughput of 1-kbyte packets."""
    with_it, without = flow_control_cost()
    assert with_it > 0.9 * without
    assert 90 < with_it <= without + 0.01 < 100


def test_routing_in_software_costs_less_than_a_fiftieth():
    """S11: the look-up for each packet, and the commands that open and close its way, against a connection that
    stands."""
    looked_up, found_once, standing = routing_cost()
    assert looked_up > 0.98 * standing
    assert looked_up > 0.999 * found_once


def test_the_receive_upcall_names_a_place_before_the_input_queue_overflows():
    """S4, under the worst load: interrupts have just begun, handlers are long, packets follow each other without a
    gap."""
    times = upcall_us()
    assert max(times) < QUEUE_US / 2
    # The load is one: handlers that wait for others are the rule, and some wait for long.
    assert max(times) > 2 * min(times)
    assert QUEUE_US > MAX_PACKET * PROTOTYPE.symbol_ps / 1e6


@pytest.mark.parametrize("topology, target", [("hub:2", "CAB2"), ("chain:3", "CAB3")])
def test_messages_are_switched_by_what_is_faster_for_their_size(topology, target):
    """The threshold of "auto" lies where circuits become faster, on one HUB and on three."""
    for length, better, other in ((CIRCUIT_FROM // 4, "packet", "circuit"), (4 * CIRCUIT_FROM, "circuit", "packet")):
        assert latency_us(length, better, topology, target=target) < latency_us(length, other, topology, target=target)
    for length, chosen in ((CIRCUIT_FROM - 1, "packet"), (CIRCUIT_FROM, "circuit")):
        assert latency_us(length, "auto", topology, target=target) == latency_us(
            length, chosen, topology, target=target
        )


def test_messages_of_all_sizes_arrive_under_automatic_switching():
    messages = [pattern(length) for length in (0, 1, 1004, CIRCUIT_FROM - 1, CIRCUIT_FROM, 20_000)]
    with simulated("chain:2") as system:
        used = [cab.memory.used for cab in system.cabs]
        system.spawn("CAB1", send_all, (2, 1), messages, Switching.AUTO)
        receiver = system.spawn("CAB2", receive_all, 1, len(messages))
        system.go()
        assert [data for _, data in receiver.result] == messages
        assert system.cab("CAB1").datalink.counters.circuits == 2

        async def rest(cab):
            await cab.sleep(10_000)

        system.spawn("CAB1", rest)
        system.go()
        assert [cab.memory.used for cab in system.cabs] == used

"""The figures of docs/net.md, in simulated time on RTL boards."""

import pytest

from nectar.verification.benchmarks.catalogue import BENCHMARKS
from nectar.verification.net.marks import privileged


@privileged
@pytest.mark.nightly
def test_ping_and_tcp_reach_what_was_asked_for():
    ping, tcp = BENCHMARKS["net"].measure(1)
    assert ping.ok and tcp.ok
    assert tcp.measured["bus_us"] < tcp.measured["packet_us"] < tcp.measured["segment_us"]

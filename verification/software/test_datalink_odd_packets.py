"""The datalink: packets that software does not want, odd ones, and some that do not fit."""

import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import ANY_HUB
from nectar.software.errors import MessageTooLong, ProgramError
from nectar.software.packet import LAST_FRAGMENT, Protocol, pack
from nectar.verification.software.test_datalink import QUICK

from .helpers import receive_all, simulated


async def _raw(cab, headers):
    """Sends packets with these headers and four bytes each."""
    block = await cab.memory.allocate(64)
    cab.memory.write(block, b"data")
    route = cab.datalink.route(2)
    for header in headers:
        await cab.datalink.send(route, header, ((block, 4),))
    await cab.datalink.finish()
    await cab.datagram.send((2, 1), b"good")


@pytest.mark.parametrize(
    "header, where, counter",
    [
        (pack(77, 1, 2, LAST_FRAGMENT, 1, 0, 4, 0), "datalink", "unknown_protocol"),
        (pack(Protocol.DATAGRAM, 1, 9, LAST_FRAGMENT, 1, 0, 4, 0), "datagram", "misdelivered"),
        (pack(Protocol.DATAGRAM, 1, 2, LAST_FRAGMENT, 1, 0, 1 << 20, 0), "datagram", "malformed"),
        (pack(Protocol.DATAGRAM, 1, 2, LAST_FRAGMENT, 1, 0, 8, 0), "datagram", "malformed"),
        (pack(Protocol.DATAGRAM, 1, 2, LAST_FRAGMENT, 1, 0, 8, 4), "datagram", "orphans"),
        (pack(Protocol.DATAGRAM, 1, 2, LAST_FRAGMENT, 1, 0, 2, 0), "datalink", "too_long"),
    ],
    ids=["protocol", "destination", "length", "last too early", "no beginning", "longer than said"],
)
def test_odd_packets_are_dropped_and_counted(header, where, counter):
    with simulated(options=QUICK) as system:
        system.spawn("CAB1", _raw, [header, header])
        receiver = system.spawn("CAB2", receive_all, 1, 1)
        system.go()
        assert receiver.result == [(1, b"good")]
        cab = system.cab("CAB2")
        assert getattr(getattr(cab, where).counters, counter) == 2
        assert not cab.mailbox(1).full and len(cab.mailbox(1)) == 0


def test_a_packet_without_a_whole_header_is_dropped_and_counted():
    async def send(cab):
        block = await cab.memory.allocate(64)
        cab.memory.write(block, bytes([Protocol.DATAGRAM, 1, 2]) + bytes(40))
        area = REG["TX_AREA"]
        for length in (0, 1, 3, 15):
            for word in cab.datalink.route(2).packet:
                cab.door.write(REG["TX_COMMAND"].address, word)
            cab.door.write(REG["TX_ADDRESS"].address, block)
            cab.door.write(area.address, length | area.start.mask | area.end.mask | area.crc.mask)
            cab.door.write(REG["TX_COMMAND"].address, Op.CLOSE_ALL << 16 | ANY_HUB << 8)
            await cab.sleep(100)
        await cab.datagram.send((2, 0), b"good")

    with simulated(options=QUICK) as system:
        system.spawn("CAB1", send)
        receiver = system.spawn("CAB2", receive_all, 0, 1)
        system.go()
        assert receiver.result == [(1, b"good")]
        cab = system.cab("CAB2")
        assert cab.datalink.counters.unknown_protocol == 1  # no byte at all
        assert cab.datagram.counters.misdelivered == 1  # no destination
        assert cab.datalink.counters.short == 2


def test_a_packet_of_more_areas_than_the_list_has_entries_is_refused():
    async def send(cab):
        with pytest.raises(MessageTooLong, match="fewer areas"):
            await cab.datalink.send(cab.datalink.route(2), bytes(16), [(cab.memory.base, 1)] * 30)
        assert cab.datalink.out.lock.holder is None
        await cab.datagram.send((2, 1), b"good")

    with simulated() as system:
        system.spawn("CAB1", send)
        receiver = system.spawn("CAB2", receive_all, 1, 1)
        system.go()
        assert receiver.result == [(1, b"good")]


def test_a_protocol_that_names_no_place_in_data_memory_ends_the_run():
    class Wrong:
        def packet(self, header):
            return 0x200000, 64

    async def send(cab):
        await cab.datalink.send(cab.datalink.route(2), bytes([77]) + bytes(15), ())
        await cab.sleep(1000)

    with simulated() as system:
        system.cab("CAB2").datalink.register(77, Wrong())
        system.spawn("CAB1", send)
        with pytest.raises(ProgramError, match="at interrupt level: bus error: store to 0x200050"):
            system.go()

"""What messages of NX/2 take in simulated time, on the RTL. docs/nx.md has these figures."""

from nectar.software.nx import crecv, csend, gsync, mynode
from nectar.verification.software.nx.programs import run

TURNS = 8


def there_and_back(process, size):
    """Half of the shortest time of a message and its answer, in microseconds."""
    data, times = bytearray(size), []
    for _ in range(TURNS):
        begin = process.cab.now_us()
        if mynode() == 0:
            csend(1, data, size, 1, 0)
        crecv(1, data, size)
        if mynode() == 1:
            csend(1, data, size, 0, 0)
        times.append((process.cab.now_us() - begin) / 2)
    return min(times)


def rate(process, size, ours):
    """Mbit/s of a message of which the receive is posted before."""
    data, rates = process.task.buffer(size) if ours else bytearray(size), []
    for _ in range(2):
        gsync()
        if mynode() == 0:
            process.cab.sleep(500)
            begin = process.cab.now_us()
            csend(1, data, size, 1, 0)
            rates.append(size * 8 / (process.cab.now_us() - begin))
        else:
            crecv(1, data, size)
    return max(rates, default=None)


def test_an_empty_message_takes_less_than_60_us():
    """The iPSC/2 takes 350 us (fact D5)."""
    assert 15 < run((there_and_back, 0), (there_and_back, 0), boards="rtl")[0] < 60


def test_a_short_message_takes_less_than_60_us_too():
    assert run((there_and_back, 100), (there_and_back, 100), boards="rtl")[0] < 60


def test_a_long_message_between_buffers_goes_at_more_than_90_mbit_s():
    assert 90 < run((rate, 65536, True), (rate, 65536, True), boards="rtl")[0] < 100


def test_the_cpu_copies_the_bytes_of_python():
    assert 60 < run((rate, 65536, False), (rate, 65536, False), boards="rtl")[0] < 80

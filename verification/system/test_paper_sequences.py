"""The paper's command sequences, byte for byte on every fiber, and all connections closed behind them (H17).

"The Design of Nectar" (1989), sections 4.2.1 to 4.2.4, on the four HUBs of its Figure 7. Each sequence runs on the
engine and under cocotb; the same claims are made of both, and both must have sent every symbol at the same picosecond.
"""

import functools
import zlib

import cocotb
import pytest

from nectar.hdl.hub.commands import STATUS_IN_USE, Op
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet, reply
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.verification.bench import Bench
from nectar.verification.system import records, sequences
from nectar.verification.system.sequences import AUDIT_CYCLE, HUB1, HUB2, HUB3, HUB4, LONG, SHORT
from nectar.verification.system.verilog import TOP, system

SEQUENCES = {
    sequence.__name__: sequence
    for sequence in (
        sequences.circuit,
        sequences.circuit_closed_in_reverse,
        sequences.circuit_retried,
        sequences.circuit_multicast,
        sequences.packet,
        sequences.packets_one_behind_the_other,
        sequences.packet_multicast,
    )
}
#: Simulated time that none of them needs, in picoseconds.
LIMIT_PS = 2 * 10**9

READY = [int(Control.READY)]
CLOSE_ALL = command(Op.CLOSE_ALL, ANY_HUB, 0)
LONG_PACKET, SHORT_PACKET = (packet(data + zlib.crc32(data).to_bytes(4, "big")) for data in (LONG, SHORT))


# -- inside the simulator --------------------------------------------------------------------------------
@cocotb.test(timeout_time=60, timeout_unit="ms")
async def every_sequence_comes_to_its_end(dut):
    """Leaves a record of each sequence for the claims below."""
    for name, sequence in SEQUENCES.items():
        records.save(".", name, await records.on_cocotb(load("figure7"), PROTOTYPE, records.bare(sequence(), LIMIT_PS)))


bench = Bench(__name__, {"figure7": lambda: system(load("figure7"), PROTOTYPE)}, top=TOP, ports_only=True)


@pytest.mark.nightly  # what is simulated takes minutes to compile
@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_under_cocotb(configuration, claim):
    bench.check(configuration, claim)


# -- what is claimed of the records ------------------------------------------------------------------------
@functools.cache
def recorded(back_end, name):
    if back_end == "engine":
        return records.on_engine(load("figure7"), PROTOTYPE, records.bare(SEQUENCES[name](), LIMIT_PS))
    bench.check("figure7", "every_sequence_comes_to_its_end")
    return records.load(bench.directory("figure7"), name)


on_each_back_end = pytest.mark.parametrize("back_end", ["engine", pytest.param("cocotb", marks=pytest.mark.nightly)])


def noted(record, cab, key=None):
    """What ``cab`` noted, in order; with ``key`` only the values that it noted under that."""
    whats = [what for _, name, what in record["result"] if name == cab]
    return whats if key is None else [what[key] for what in whats if key in what]


def wire(record, *, audit=False):
    """{fiber: symbols} of the fibers that carried any before the audit began."""
    end = float("inf") if audit else (AUDIT_CYCLE + 4) * PROTOTYPE.cab_period_ps
    kept = {fiber: [symbol for time, symbol in log if time < end] for fiber, log in record["symbols"].items()}
    return {fiber: log for fiber, log in kept.items() if log}


def times(record, fiber, symbol):
    """When ``symbol`` started on ``fiber``, each time."""
    return [time for time, sent in record["symbols"][fiber] if sent == symbol]


def delivered(record, cab, *data):
    """Whether exactly these packets came to ``cab``, flawless."""
    return noted(record, cab, "packet") == [item.hex() for item in data] and all(noted(record, cab, "good"))


def answers(record, cab):
    """The replies that ``cab`` took; None for one that it waited for in vain."""
    return [got and tuple(got) for got in noted(record, cab, "reply")]


def same(log, *parts):
    """Whether ``log`` is these symbols, one part after the other."""
    return log == [symbol for part in parts for symbol in part]


@on_each_back_end
@pytest.mark.parametrize("name", SEQUENCES)
def test_afterwards_every_output_of_every_hub_is_free_and_no_error_was_counted(back_end, name):
    """Section 4.2.1: all the connections are closed after the data has flowed through them."""
    audits = [what for _, _, what in recorded(back_end, name)["result"] if "hub" in what]
    assert sorted(audit["hub"] for audit in audits) == [1, 2, 3, 4]
    for audit in audits:
        assert (audit["outputs"], audit["errors"], audit["own"]) == ([0] * 16, [0] * 16, 0)


@on_each_back_end
def test_circuit(back_end):
    """Section 4.2.1: open with retry HUB2 P8, open with retry and reply HUB1 P8, the reply, data, close all."""
    record = recorded(back_end, "circuit")
    far = command(Op.OPEN_RETRY_REPLY, HUB1, 8)
    answer = reply(Op.OPEN_RETRY_REPLY, HUB1, 8)
    on = wire(record)
    assert same(on.pop("CAB3->HUB2.P4"), command(Op.OPEN_RETRY, HUB2, 8), far, LONG_PACKET, CLOSE_ALL)
    assert same(on.pop("HUB2.P8->HUB1.P3"), far, LONG_PACKET, CLOSE_ALL)
    assert same(on.pop("HUB1.P8->CAB1"), LONG_PACKET, CLOSE_ALL)
    assert on == {"HUB1.P3->HUB2.P8": answer + READY, "HUB2.P4->CAB3": answer + READY, "CAB1->HUB1.P8": READY}
    assert answers(record, "CAB3") == [(Op.OPEN_RETRY_REPLY, HUB1, 8)]
    assert delivered(record, "CAB1", LONG)


@on_each_back_end
def test_circuit_closed_by_single_commands_in_reverse_order(back_end):
    """Section 4.2.1: close all can be replaced with a set of individual close commands, in reverse order."""
    record = recorded(back_end, "circuit_closed_in_reverse")
    far, far_close = command(Op.OPEN_RETRY_REPLY, HUB1, 8), command(Op.CLOSE, HUB1, 8)
    on = wire(record)
    assert same(
        on.pop("CAB3->HUB2.P4"),
        command(Op.OPEN_RETRY, HUB2, 8),
        far,
        LONG_PACKET,
        far_close,
        command(Op.CLOSE, HUB2, 8),
    )
    assert same(on.pop("HUB2.P8->HUB1.P3"), far, LONG_PACKET, far_close)
    assert same(on.pop("HUB1.P8->CAB1"), LONG_PACKET)
    assert sorted(on) == ["CAB1->HUB1.P8", "HUB1.P3->HUB2.P8", "HUB2.P4->CAB3"]
    assert delivered(record, "CAB1", LONG)


@on_each_back_end
def test_a_circuit_without_reply_is_looked_into_taken_down_and_set_up_again(back_end):
    """Section 4.2.1: no reply soon enough, status of the connections, close all, the entire route anew."""
    record = recorded(back_end, "circuit_retried")
    opened = Op.OPEN_RETRY_REPLY, HUB1, 8
    assert answers(record, "CAB2") == [opened]
    assert answers(record, "CAB3") == [None, opened, opened]
    assert noted(record, "CAB3", "HUB2 P8") == [STATUS_IN_USE | 4, 0]
    far, ask = command(*opened), command(Op.STATUS_OUTPUT, HUB2, 8)
    route = command(Op.OPEN_RETRY, HUB2, 8) + far
    on = wire(record)
    assert same(on["CAB3->HUB2.P4"], route, ask, CLOSE_ALL, ask, route, LONG_PACKET, CLOSE_ALL)
    assert same(on["HUB2.P8->HUB1.P3"], far, CLOSE_ALL, far, LONG_PACKET, CLOSE_ALL)
    assert same(on["HUB1.P8->CAB1"], CLOSE_ALL, CLOSE_ALL, LONG_PACKET, CLOSE_ALL)
    assert same(
        on["HUB2.P4->CAB3"],
        reply(Op.STATUS_OUTPUT, HUB2, STATUS_IN_USE | 4),
        reply(Op.STATUS_OUTPUT, HUB2, 0),
        reply(*opened),
        reply(*opened),
        READY,
    )
    assert delivered(record, "CAB1", LONG)


@on_each_back_end
def test_circuit_multicast(back_end):
    """Section 4.2.2: CAB2 to CAB4 and CAB5; data only after both replies."""
    record = recorded(back_end, "circuit_multicast")
    p6, p5 = command(Op.OPEN_RETRY, HUB1, 6), command(Op.OPEN_RETRY_REPLY, HUB4, 5)
    p3, p4 = command(Op.OPEN_RETRY, HUB4, 3), command(Op.OPEN_RETRY_REPLY, HUB3, 4)
    on = wire(record)
    assert same(on.pop("CAB2->HUB1.P2"), p6, p5, p3, p4, LONG_PACKET, CLOSE_ALL)
    assert same(on.pop("HUB1.P6->HUB4.P7"), p5, p3, p4, LONG_PACKET, CLOSE_ALL)
    assert same(on.pop("HUB4.P3->HUB3.P1"), p4, LONG_PACKET, CLOSE_ALL)
    assert same(on.pop("HUB3.P4->CAB5"), LONG_PACKET, CLOSE_ALL)
    assert same(
        on.pop("HUB4.P5->CAB4"), p4, LONG_PACKET, CLOSE_ALL
    )  # the last open comes by here too: P5 was open by then
    near, far = reply(Op.OPEN_RETRY_REPLY, HUB4, 5), reply(Op.OPEN_RETRY_REPLY, HUB3, 4)
    assert on == {
        "HUB3.P1->HUB4.P3": far + READY,
        "HUB4.P7->HUB1.P6": near + far + READY,
        "HUB1.P2->CAB2": near + far + READY,
        "CAB4->HUB4.P5": READY,
        "CAB5->HUB3.P4": READY,
    }
    assert answers(record, "CAB2") == [(Op.OPEN_RETRY_REPLY, HUB4, 5), (Op.OPEN_RETRY_REPLY, HUB3, 4)]
    assert delivered(record, "CAB4", LONG) and delivered(record, "CAB5", LONG)
    last_reply = [cycle for cycle, cab, what in record["result"] if cab == "CAB2" and "reply" in what][1]
    assert times(record, "CAB2->HUB1.P2", Control.START)[0] > (last_reply + 4) * PROTOTYPE.cab_period_ps


@on_each_back_end
def test_packet(back_end):
    """Section 4.2.3: test open with retry HUB2 P8, test open with retry HUB1 P8, data, close all."""
    record = recorded(back_end, "packet")
    near, far = command(Op.TEST_OPEN_RETRY, HUB2, 8), command(Op.TEST_OPEN_RETRY, HUB1, 8)
    assert wire(record) == {
        "CAB3->HUB2.P4": near + far + SHORT_PACKET + CLOSE_ALL,
        "HUB2.P8->HUB1.P3": far + SHORT_PACKET + CLOSE_ALL,
        "HUB1.P8->CAB1": SHORT_PACKET + CLOSE_ALL,
        "CAB1->HUB1.P8": READY,
        "HUB1.P3->HUB2.P8": READY,
        "HUB2.P4->CAB3": READY,
    }
    assert delivered(record, "CAB1", SHORT)


@on_each_back_end
def test_a_packet_waits_in_each_hub_until_the_next_queue_is_ready_for_it(back_end):
    """Section 4.2.3, H15: the first test open succeeds only when the next HUB's queue is ready; the packet moves on
    as soon as it is."""
    record = recorded(back_end, "packets_one_behind_the_other")
    assert delivered(record, "CAB1", SHORT, SHORT[1:], SHORT[2:])
    into_hub1, into_cab1 = (times(record, fiber, Control.START) for fiber in ("HUB2.P8->HUB1.P3", "HUB1.P8->CAB1"))
    from_hub1, from_cab1 = (times(record, fiber, Control.READY) for fiber in ("HUB1.P3->HUB2.P8", "CAB1->HUB1.P8"))
    assert [len(log) for log in (into_hub1, into_cab1, from_hub1, from_cab1)] == [3] * 4
    flight = PROTOTYPE.symbol_ps + 100_000
    for first, second in ((0, 1), (1, 2)):
        # Nothing moves before the ready that permits it has come ...
        assert into_cab1[second] > from_cab1[first] + flight and into_hub1[second] > from_hub1[first] + flight
        # ... the packet stands in the HUB by then ...
        assert into_hub1[second] < from_cab1[first]
        # ... and then goes at once: within a HUB's 10 cycles and what the clocks do not share.
        assert into_cab1[second] < from_cab1[first] + flight + 12 * PROTOTYPE.hub_period_ps


@on_each_back_end
def test_packet_multicast(back_end):
    """Section 4.2.4: CAB2 to CAB4 and CAB5 by packet switching."""
    record = recorded(back_end, "packet_multicast")
    p6, p5, p3, p4 = (command(Op.TEST_OPEN_RETRY, *hop) for hop in ((HUB1, 6), (HUB4, 5), (HUB4, 3), (HUB3, 4)))
    data = SHORT_PACKET + CLOSE_ALL
    assert wire(record) == {
        "CAB2->HUB1.P2": p6 + p5 + p3 + p4 + data,
        "HUB1.P6->HUB4.P7": p5 + p3 + p4 + data,
        "HUB4.P5->CAB4": p4 + data,
        "HUB4.P3->HUB3.P1": p4 + data,
        "HUB3.P4->CAB5": data,
        "HUB1.P2->CAB2": READY,
        "HUB4.P7->HUB1.P6": READY,
        "HUB3.P1->HUB4.P3": READY,
        "CAB4->HUB4.P5": READY,
        "CAB5->HUB3.P4": READY,
    }
    assert delivered(record, "CAB4", SHORT) and delivered(record, "CAB5", SHORT)


@pytest.mark.nightly  # needs what is simulated under cocotb
@pytest.mark.parametrize("name", SEQUENCES)
def test_engine_and_cocotb_agree_on_every_cycle_and_every_symbol(name):
    """The same software gives the same CPU cycles, the same symbols at the same time, on both back ends."""
    engine, simulated = recorded("engine", name), recorded("cocotb", name)
    assert engine["result"] == simulated["result"]
    assert engine == simulated

"""Claims about the fiber in plain Python (docs/engine.md): one symbol in the latch, one on the wire, all in order."""

import pytest

from nectar.software.backends.cocotb.fiber import Fiber
from nectar.verification import seeds


def picosecond_by_picosecond(symbol_ps, delay_ps, edges, offers, last):
    """The same fiber as a machine that does one thing in each picosecond.

    At each time of ``edges`` the sender wants to hand over the next of ``offers`` (None: nothing). Returns what was
    taken, [(time, symbol)], and what arrived, [(time, symbol)], until ``last``."""
    latch, wire, flying = None, 0, []
    taken, arrived = [], []
    offers = iter(offers)
    offer = next(offers, None)
    for time in range(last + 1):
        if wire:
            wire -= 1
        if latch is not None and not wire:
            flying.append((time + symbol_ps + delay_ps, latch))
            latch, wire = None, symbol_ps
        if time in edges:
            if offer is not None and latch is None:
                taken.append((time, offer))
                if not wire:
                    flying.append((time + symbol_ps + delay_ps, offer))
                    wire = symbol_ps
                else:
                    latch = offer
                offer = next(offers, None)
            elif offer is None:
                offer = next(offers, None)
        arrived += [item for item in flying if item[0] == time]
    return taken, arrived


@pytest.mark.parametrize("seed", range(20))
def test_symbols_leave_and_arrive_when_a_picosecond_by_picosecond_machine_says(seed):
    rng = seeds.rng(seed)
    symbol_ps, delay_ps, period = rng.randint(1, 30), rng.randint(0, 50), rng.randint(1, 40)
    edges = range(rng.randint(0, 40), 2000, period)
    offers = [rng.choice([None, rng.randrange(512)]) if seed % 2 else rng.randrange(512) for _ in range(60)]
    expected = picosecond_by_picosecond(symbol_ps, delay_ps, edges, offers, 2000)
    fiber = Fiber(("CAB1", "HUB1.P0"), symbol_ps, delay_ps)
    taken, starts = [], []
    waiting = list(offers)
    for time in edges:
        if waiting and waiting[0] is None:
            waiting.pop(0)
        elif waiting and fiber.ready(time):
            starts.append(fiber.send(time, waiting[0]))
            taken.append((time, waiting.pop(0)))
    arrived = []
    for time in range(2001):
        while (symbol := fiber.receive(time)) is not None:
            arrived.append((time, symbol))
    assert taken and (taken, arrived) == expected
    assert [time - symbol_ps - delay_ps for time, _ in arrived] == starts[: len(arrived)]
    assert fiber.symbols == len(taken) and fiber.under_way == len(taken) - len(arrived)


def test_a_sender_slower_than_the_wire_is_never_held_up():
    fiber = Fiber(("CAB1", "HUB1.P0"), 80_000, 100_000)
    for edge in range(0, 8_000_000, 80_000):
        assert fiber.ready(edge) and fiber.send(edge, 1) == edge


def test_a_sender_faster_than_the_wire_gets_the_wires_rate():
    """One symbol each 80 ns: 100 Mbit/s (H3)."""
    fiber = Fiber(("CAB1", "HUB1.P0"), 80_000, 0)
    starts = [fiber.send(edge, 1) for edge in range(0, 80_000_000, 70_000) if fiber.ready(edge)]
    assert starts == list(range(0, len(starts) * 80_000, 80_000)) and len(starts) >= 1000


def test_a_symbol_that_finds_the_latch_taken_is_refused():
    fiber = Fiber(("CAB1", "HUB1.P0"), 80_000, 0)
    fiber.send(0, 1)
    fiber.send(62_500, 2)
    with pytest.raises(
        RuntimeError, match="CAB1->HUB1.P0: the latch is taken until 80000 ps, nothing fits in at 70000 ps"
    ):
        fiber.send(70_000, 3)


@pytest.mark.parametrize(
    "symbol_ps, delay_ps, message", [(0, 0, "more than 0 ps"), (-1, 0, "more than 0 ps"), (1, -1, "0 ps or more")]
)
def test_times_that_make_no_sense_are_refused(symbol_ps, delay_ps, message):
    with pytest.raises(ValueError, match=message):
        Fiber(("CAB1", "HUB1.P0"), symbol_ps, delay_ps)

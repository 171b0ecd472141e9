"""Faults in the pure-Python model's fibers: which symbols are struck, against the reference, and how often, against
the rates."""

from nectar.hdl.link.code4b5b import VIOLATION
from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.software.backends.model.faults import FiberFaults, frames
from nectar.software.faults import KINDS, Fault
from nectar.verification import seeds
from nectar.verification.sim.fault_reference import damaged, predict

SYMBOL_PS, DELAY_PS = 80_000, 100_000


def traffic(rng, count):
    """Pieces as the model's boards send them: (kind or None, symbols)."""
    for _ in range(count):
        what = rng.choice(["command", "reply", "ready", "packet", "begin", "middle", "end"])
        if what == "ready":
            yield "ready", [Control.READY]
        elif what in ("command", "reply"):
            yield what, {"command": command, "reply": reply}[what](*rng.randbytes(3))
        else:
            whole = packet(rng.randbytes(rng.choice([1, 5, 100])))
            yield None, whole[what in ("middle", "end") : len(whole) - (what in ("begin", "middle"))]


def strike(faults, pieces):
    """What a list of (kind, symbols, start) becomes: one list of symbols."""
    arrived = []
    for kind, symbols, start in pieces:
        begins, ends = symbols[0] == Control.START, symbols[-1] == Control.END
        low, high = (int(begins), len(symbols) - ends) if kind is None else (0, 0)
        _, left = faults.strike(
            kind, start, len(symbols), low, high, begins, ends, lambda symbols=symbols: list(symbols)
        )
        arrived += symbols if left is None else [symbol for symbol, _ in left]
    return [int(symbol) for symbol in arrived]


def timed(pieces):
    """The pieces one behind the other on the wire, with the times at which they start."""
    start, found = 0, []
    for kind, symbols in pieces:
        found.append((kind, [int(symbol) for symbol in symbols], start))
        start += len(symbols) * SYMBOL_PS
    return found, start


def test_faults_by_place_and_time_strike_the_symbols_that_the_page_names():
    rng = seeds.rng("by place")
    for case in range(200):
        pieces, end = timed(traffic(rng, 60))
        sent = [
            (start + number * SYMBOL_PS, symbol)
            for _, symbols, start in pieces
            for number, symbol in enumerate(symbols)
        ]
        faults, known = FiberFaults(SYMBOL_PS, DELAY_PS), []
        for _ in range(rng.randrange(1, 4)):
            what = rng.choice(["lost", "doubled", "cut", "lost", "doubled"])
            begin, finish = rng.choice([(0, None), (rng.randrange(end), None), (0, rng.randrange(end))])
            more = {}
            if what != "cut":
                more = {
                    "kind": rng.choice([None, *KINDS]),
                    "nth": rng.randrange(1, 20),
                    "times": rng.choice([1, 3, 1000]),
                }
                if more["kind"] not in ("command", "reply"):
                    more["length"] = rng.choice([1, 1, 7, 200])
            elif finish is None:
                finish = begin + rng.randrange(1, 100 * SYMBOL_PS)
            fault = Fault("CAB1", what, **more)
            known.append((faults.add(fault, rng.randrange(2**64), begin, finish), (fault, 0, begin, finish, 0)))
        arrived = strike(faults, pieces)
        prediction = predict(sent, [item for _, item in known], SYMBOL_PS, DELAY_PS)
        print("case", case, *[str(item[0]) for _, item in known])
        assert [rule.count() for rule, _ in known] == prediction.counts
        assert arrived == [symbol for _, symbol in prediction.arrivals]


def test_bit_errors_by_place_make_of_a_symbol_what_one_code_bit_can():
    rng = seeds.rng("bits")
    for _ in range(200):
        pieces, _ = timed(traffic(rng, 30))
        symbols = [symbol for _, several, _ in pieces for symbol in several]
        faults = FiberFaults(SYMBOL_PS, DELAY_PS)
        nth, length = rng.randrange(1, 40), rng.randrange(1, 30)
        rule = faults.add(Fault("CAB1", "errors", nth=nth, length=length), 7, 0, None)
        arrived = strike(faults, pieces)
        assert len(arrived) == len(symbols)
        for number, (before, after) in enumerate(zip(symbols, arrived, strict=True), 1):
            if nth <= number < nth + length:
                assert after in {damaged(before, bit) for bit in range(10)}
            else:
                assert after == before
        assert rule.count() == (int(nth <= len(symbols)), max(0, min(length, len(symbols) + 1 - nth)))


def test_the_share_of_struck_symbols_is_the_rate_and_runs_replay():
    """Eight standard deviations hold for any seed. Errors: six in ten give another byte."""
    rng = seeds.rng("rates")
    pieces = [(None, packet(rng.randbytes(1000)), 0)] * 300
    pieces = [(kind, [int(symbol) for symbol in symbols], start) for kind, symbols, start in pieces]
    total = sum(len(symbols) for _, symbols, _ in pieces)
    for rate in (1e-4, 1e-3, 0.05):
        first, again = (FiberFaults(SYMBOL_PS, DELAY_PS) for _ in range(2))
        key = rng.randrange(2**64)
        rules = [faults.add(Fault("CAB1", "errors", rate=rate), key, 0, None) for faults in (first, again)]
        arrived = strike(first, pieces)
        assert strike(again, pieces) == arrived
        hits, symbols = rules[0].count()
        assert hits == symbols and abs(hits - rate * total) < 8 * (rate * total) ** 0.5 + 8
        changed = [
            after
            for (before, after) in zip([s for _, several, _ in pieces for s in several], arrived, strict=True)
            if before != after
        ]
        assert len(changed) == hits
        bad = changed.count(VIOLATION)
        assert abs(bad - 0.4 * hits) < 8 * (0.24 * hits) ** 0.5 + 8


def test_rates_of_nothing_and_of_everything():
    pieces, _ = timed(traffic(seeds.rng("all"), 50))
    symbols = [symbol for _, several, _ in pieces for symbol in several]
    for rate, left in ((0, symbols), (1, [])):
        faults = FiberFaults(SYMBOL_PS, DELAY_PS)
        rule = faults.add(Fault("CAB1", "lost", rate=rate), 3, 0, None)
        assert strike(faults, pieces) == left
        assert rule.count() == (rate * len(symbols),) * 2


def test_a_receiver_sees_the_frames_that_were_sent():
    rng = seeds.rng("frames")
    for _ in range(100):
        pieces, _ = timed(
            (kind, symbols)
            for kind, symbols in traffic(rng, 20)
            if kind or symbols[0] == Control.START and symbols[-1] == Control.END
        )
        stream = [
            (symbol, number) for number, symbol in enumerate(symbol for _, symbols, _ in pieces for symbol in symbols)
        ]
        seen = list(frames(stream))
        assert [item[0] for item in seen] == [kind or "stretch" for kind, *_ in pieces]
        at = 0
        for (kind, data, begins, ends, first, last), (_, symbols, _) in zip(seen, pieces, strict=True):
            assert list(data) == [symbol for symbol in symbols if symbol < 0x100]
            assert begins == ends == (kind == "stretch")
            assert (first, last) == (at, at + len(symbols) - 1)
            at += len(symbols)


def test_what_is_cut_short_is_dropped_and_what_is_no_frame_is_told():
    def seen(*symbols):
        return [item[:4] for item in frames([(symbol, number) for number, symbol in enumerate(symbols)])]

    assert seen(0x105, 1, 2, 0x105, 3, 4, 5) == [("command", b"\3\4\5", False, False)]
    assert seen(0x105, 1, 2) == [] == seen(VIOLATION)
    assert seen(0x105, 1, VIOLATION, 2, 3) == [("command", b"\1\2\3", False, False)]
    assert seen(0x105, 1, 2, 3, 4) == [("command", b"\1\2\3", False, False), ("stretch", b"\4", False, False)]
    assert seen(1, 2, 0x103) == [("stretch", b"\1\2", False, True)]
    assert seen(0x102, 1, 0x102, 2, 0x103) == [("stretch", b"\1", True, False), ("stretch", b"\2", True, True)]
    assert seen(0x103) == [("stretch", b"", False, True)]
    assert seen(0x105, 1, 0x103) == [("stretch", b"", False, True)]

"""The checker of the bus rules: right traffic passes, and each rule is broken once and told of by its name."""

import pytest

from nectar.verification.cab.vme.backplane import Backplane, point
from nectar.verification.cab.vme.checker import Checker

# Traffic is a list of (ns, who, line, level); None lets go of a line.
GRANT = [
    (0, "a", "br3", 0),
    (100, "arbiter", point("bg3", 0), 0),
    (110, "b0", point("bg3", 1), 0),
    (150, "a", "bbsy", 0),
    (160, "a", "br3", 1),
    (200, "arbiter", point("bg3", 0), 1),
    (205, "b0", point("bg3", 1), 1),
]
ADDRESS = [
    (300, "a", "as", 1),
    (300, "a", "ds0", 1),
    (300, "a", "ds1", 1),
    (300, "a", "write", 1),
    (300, "a", "lword", 0),
    (300, "a", "iack", 1),
    (300, "a", "address", 0x100),
    (300, "a", "am", 0x39),
    (340, "a", "as", 0),
]
READ = [
    (345, "a", "ds0", 0),
    (350, "a", "ds1", 0),
    (400, "s", "data_low", 1),
    (400, "s", "data_high", 2),
    (410, "s", "dtack", 0),
    (450, "a", "ds0", 1),
    (452, "a", "ds1", 1),
    (460, "s", "data_low", None),
    (460, "s", "data_high", None),
    (470, "s", "dtack", 1),
]
CLOSE = [
    (500, "a", "as", 1),
    (520, "a", "as", None),
    (520, "a", "address", None),
    (520, "a", "am", None),
    (520, "a", "write", None),
    (520, "a", "lword", None),
    (520, "a", "iack", None),
    (520, "a", "ds0", None),
    (520, "a", "ds1", None),
    (600, "a", "bbsy", 1),
]
WRITE = [
    (500, "a", "write", 0),
    (500, "a", "data_low", 3),
    (500, "a", "data_high", 4),
    (540, "a", "ds0", 0),
    (541, "a", "ds1", 0),
    (600, "s", "dtack", 0),
    (640, "a", "ds0", 1),
    (640, "a", "ds1", 1),
    (660, "s", "dtack", 1),
    (665, "a", "data_low", None),
    (665, "a", "data_high", None),
]


def later(traffic, ns):
    """The same, ``ns`` later."""
    return [(time + ns, *rest) for time, *rest in traffic]


RIGHT = GRANT + ADDRESS + READ + CLOSE
#: A read, and a write in the same cycle.
BOTH = GRANT + ADDRESS + READ + WRITE + later(CLOSE, 200)
#: An acknowledgment that the second board takes; its cycle is like a read's.
ACKNOWLEDGE = [
    (0, "i", "irq4", 0),
    *GRANT,
    *((time, who, line, {"iack": 0, "address": 4, "lword": 1}.get(line, level)) for time, who, line, level in ADDRESS),
    (345, "a", "ds0", 0),
    (360, "chain", point("iackin", 0), 0),
    (370, "b0", point("iackin", 1), 0),
    (400, "i", "data_low", 1),
    (410, "i", "dtack", 0),
    (415, "i", "irq4", 1),
    (450, "a", "ds0", 1),
    (455, "i", "data_low", None),
    (470, "i", "dtack", 1),
    *CLOSE,
    (510, "chain", point("iackin", 0), 1),
    (515, "b0", point("iackin", 1), 1),
]


def run(traffic):
    """Rules that the traffic breaks, and the checker."""
    time = [0]
    bus = Backplane(lambda: time[0], slots=2)
    checker = Checker(bus)
    for at, who, line, level in sorted(traffic, key=lambda event: event[0]):
        time[0] = at
        bus.set(who, line, level)
    return {violation.rule for violation in checker.violations}, checker


def move(traffic, line, level, ns, which=0):
    """The traffic with an event at another time: the ``which``-th that brings ``line`` to ``level``."""
    places = [n for n, event in enumerate(traffic) if event[2:] == (line, level)]
    changed = list(traffic)
    changed[places[which]] = (ns, *traffic[places[which]][1:])
    return changed


#: Rule → traffic that breaks it, and rules that are broken along with it.
BROKEN = {
    "ADDRESS-SETUP": (move(RIGHT, "address", 0x100, 306), set()),
    "ADDRESS-HOLD": ([*RIGHT, (380, "a", "address", 0x200)], set()),
    "AS-HIGH": (RIGHT[: -len(CLOSE)] + [CLOSE[0], (535, "a", "as", 0)], set()),
    "AS-LOW": ([*GRANT, *ADDRESS, (370, "a", "as", 1)], {"AS-HOLD"}),
    "AS-HOLD": (move(RIGHT, "as", 1, 400, 1), set()),
    "OWNER": (ADDRESS, set()),
    "DS-ORDER": (move(RIGHT, "as", 0, 346), set()),
    "DS-HIGH": (BOTH[: -len(WRITE) - len(CLOSE)] + [(475, "a", "ds0", 0)], set()),
    "DS-FREE": (move(BOTH, "dtack", 1, 550), {"ANSWER-HOLD", "READ-RELEASE", "ONE-ANSWER"}),
    "DS-SKEW": (move(RIGHT, "ds1", 0, 356), set()),
    "DS-HOLD": (move(RIGHT, "ds0", 1, 405, 1), {"READ-HOLD"}),
    "DATA-SETUP": (move(BOTH, "data_low", 3, 510), set()),
    "WRITE-HOLD": (move(BOTH, "write", 0, 455), set()),
    "DATA-HOLD": ([*BOTH, (580, "a", "data_low", 9)], set()),
    "READ-TURN": ([*BOTH[: len(GRANT + ADDRESS)], (320, "x", "data_low", 9), *READ], {"CONFLICT", "READ-RELEASE"}),
    "ANSWER": (move(RIGHT, "dtack", 0, 374), {"READ-SETUP", "READ-HOLD"}),
    "ONE-ANSWER": ([*RIGHT, (415, "t", "berr", 0), (465, "t", "berr", 1)], set()),
    "READ-SETUP": (move(RIGHT, "data_low", 1, 412), {"READ-HOLD"}),
    "READ-HOLD": ([*RIGHT, (430, "s", "data_low", 7)], set()),
    "READ-RELEASE": (move(RIGHT, "data_high", None, 480), set()),
    "ANSWER-HOLD": (move(RIGHT, "dtack", 1, 440), {"READ-RELEASE"}),
    "CONFLICT": ([*RIGHT, (420, "x", "data_low", 1)], {"READ-RELEASE", "READ-HOLD"}),
    "BUSY-FREE": ([*RIGHT, (250, "x", "bbsy", 0)], set()),
    "BUSY-LOW": ([*GRANT, (230, "a", "bbsy", 1)], set()),
    "BUSY-GRANT": (move(GRANT, point("bg3", 0), 1, 300) + [(260, "a", "bbsy", 1)], set()),
    "CHAIN": ([*RIGHT, (450, "b0", point("bg2", 1), 0)], set()),
    "IACK-ORDER": (
        [*RIGHT, (390, "chain", point("iackin", 0), 0), (400, "b0", point("iackin", 1), 0)],
        {"IACK-RELEASE"},
    ),
    "IACK-RELEASE": (move(ACKNOWLEDGE, point("iackin", 1), 1, 531), set()),
    "IRQ-HOLD": (move(ACKNOWLEDGE, "irq4", 1, 330), set()),
}


@pytest.mark.parametrize("traffic", [RIGHT, BOTH, ACKNOWLEDGE], ids=["read", "read and write", "acknowledgment"])
def test_right_traffic_breaks_no_rule(traffic):
    """The traffic that the broken ones are made of."""
    rules, checker = run(traffic)
    assert not rules
    checker.done("AS-HIGH")
    assert checker.counts["AS-HIGH"] == 1
    with pytest.raises(AssertionError, match="nothing was there to check BERR-LESS by"):
        checker.done("BERR-LESS")


@pytest.mark.parametrize("rule", BROKEN)
def test_each_rule_is_told_of_when_it_is_broken(rule):
    """The rule is blamed; nothing is but it and what must be broken along with it."""
    traffic, along = BROKEN[rule]
    rules, checker = run(traffic)
    assert rule in rules
    assert rules <= {rule} | along
    with pytest.raises(AssertionError, match="ns: "):
        checker.done()


def block(words, address=0x180, wide=True):
    """A block of reads from ``address`` on."""
    traffic = GRANT + [
        (time, who, line, {"address": address >> 1, "am": 0x3B, "lword": 0 if wide else 1}.get(line, level))
        for time, who, line, level in ADDRESS
    ]
    for number in range(words):
        traffic += later(READ, 200 * number)
    return traffic + later(CLOSE, 200 * words)


@pytest.mark.parametrize(
    "words, wide, good", [(32, True, True), (33, True, False), (64, False, True), (65, False, False)]
)
def test_a_block_must_not_cross_256_bytes(words, wide, good):
    """ANSI/IEEE 1014, block transfers."""
    rules, _ = run(block(words, wide=wide))
    assert rules == (set() if good else {"BLOCK"})


def test_every_rule_is_among_the_broken_ones():
    """No rule of the checker is without a test."""
    _, checker = run(ACKNOWLEDGE)
    known = set(checker.counts) | set(run(BOTH)[1].counts) | set(run(block(2))[1].counts)
    assert known - {"BLOCK"} <= set(BROKEN)


def test_a_master_may_be_allowed_to_cut_cycles_short():
    """Benches of what then happens switch off the two rules that it breaks."""
    bus = Backplane(lambda: 0)
    assert Checker(bus, cut_short=True).cut_short
    for traffic in (BROKEN["AS-HOLD"][0], BROKEN["DS-HOLD"][0]):
        time = [0]
        bus = Backplane(lambda time=time: time[0], slots=2)
        checker = Checker(bus, cut_short=True)
        for at, who, line, level in sorted(traffic, key=lambda event: event[0]):
            time[0] = at
            bus.set(who, line, level)
        assert not {"AS-HOLD", "DS-HOLD"} & {violation.rule for violation in checker.violations}

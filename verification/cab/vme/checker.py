"""Checks the rules of the VMEbus at every change of a line. docs/vme.md tells the rules by the same names.

Knows no simulator. Source: ANSI/IEEE 1014, chapters 2 to 4, in our own words.
"""

from typing import NamedTuple

from nectar.hdl.cab.vme.numbers import BLOCK_BYTES, Ns

from .backplane import COLLECTOR, point

__all__ = ["Checker", "Violation"]

_ADDRESS = ("address", "am", "lword", "iack")
_DATA = ("data_low", "data_high")
_STROBES = ("ds0", "ds1")
_ANSWERS = ("dtack", "berr")
_BLOCK = 3
#: Nothing happens twice within this, in ns: rounding of times is not a violation.
_GRAIN = 0.002


class Violation(NamedTuple):
    """A rule that was broken: when, in ns, which, and what was seen."""

    time: float
    rule: str
    text: str


class Checker:
    """Watches a backplane.

    Parameters
    ----------
    backplane : Backplane
    cut_short : bool
        A master may end cycles before they are answered; it is not blamed.

    Members
    -------
    violations : list of Violation
    counts : dict of str → int
        How often something was there to check a rule by.
    """

    def __init__(self, backplane, cut_short=False):
        self.bus = backplane
        self.cut_short = cut_short
        self.violations = []
        self.counts = {}
        self._changed = {}  # line → time of its last change
        self._answered = True  # the transfer at work has been answered
        self._held = False  # address and AM must stay
        self._first_strobe = None
        self._strobes_high = self._as_rose = self._strobe_fell = None
        self._strobes_low = 0
        self._moved = 0
        self._block_start = 0
        backplane.watch(self._change)

    def done(self, *rules):
        """Raises AssertionError with the first violations, if there are any, or if one of ``rules`` was never
        checked."""
        for rule in rules:
            assert self.counts.get(rule), f"nothing was there to check {rule} by"
        assert not self.violations, "\n".join(f"{v.time:.1f} ns: {v.rule}: {v.text}" for v in self.violations[:10])

    def _bad(self, rule, text):
        self.violations.append(Violation(self.bus.now(), rule, text))

    def _need(self, rule, good, text):
        self.counts[rule] = self.counts.get(rule, 0) + 1
        if not good:
            self._bad(rule, text)

    def _since(self, time):
        return float("inf") if time is None else self.bus.now() - time + _GRAIN

    def _stable(self, *lines):
        return min((self._since(self._changed.get(line)) for line in lines), default=float("inf"))

    def _low(self, name):
        return self.bus.level(name) == 0

    def _strobed(self):
        return self._low("ds0") or self._low("ds1")

    def _used(self):
        """Data lines of the transfer at work."""
        return _DATA if self._low("lword") else _DATA[:1]

    def _change(self, name, old, new):
        if name not in COLLECTOR and "@" not in name:
            self._need(
                "CONFLICT", len(self.bus.drivers[name]) < 2, f"{name} is driven by {sorted(self.bus.drivers[name])}"
            )
        handler = {
            "as": self._as,
            "ds0": self._ds,
            "ds1": self._ds,
            "dtack": self._answer,
            "berr": self._answer,
            "bbsy": self._busy,
        }.get(name)
        if name in _ADDRESS and old != new:
            self._need("ADDRESS-HOLD", not self._held, f"{name} changes before the answer")
        elif name == "write" and old != new:
            self._need(
                "WRITE-HOLD",
                not self._strobed() and self._since(self._strobes_high) >= Ns.WRITE_HOLD,
                "WRITE* changes while, or right after, a data strobe is low",
            )
        elif name in _DATA:
            self._data(name, old, new)
        elif name.startswith("irq") and old != new:
            self._irq(name, new)
        elif "@" in name and old != new:
            self._chain(name, new)
        elif handler and (old != new or name == "bbsy"):
            handler(name, new)
        if old != new or name in _DATA:
            self._changed[name] = self.bus.now()

    # Data transfer bus: the master.

    def _as(self, name, new):
        if new == 0:
            self._need(
                "ADDRESS-SETUP",
                self._stable(*_ADDRESS) >= Ns.ADDRESS_SETUP,
                "the address is not stable long enough before AS*",
            )
            self._need("AS-HIGH", self._since(self._as_rose) >= Ns.STROBE_HIGH, "AS* was high too shortly")
            self._need("OWNER", bool(self.bus.drivers["bbsy"]), "AS* falls though nobody has BBSY*")
            self._held, self._moved = True, 0
            self._block_start = self.bus.level("address") << 1
            return
        self._as_rose = self.bus.now()
        self._need("AS-LOW", self._since(self._changed.get("as")) >= Ns.STROBE_LOW, "AS* was low too shortly")
        if not self.cut_short:
            self._need("AS-HOLD", self._answered, "AS* rises before the answer")
        self._held = False

    def _ds(self, name, new):
        other = _STROBES[name == "ds0"]
        if new == 0 and not self._low(other):
            self._strobe_fell = self.bus.now()
            self._answered = False
            self._need("DS-ORDER", self._low("as"), f"{name} falls while AS* is high")
            self._need(
                "DS-HIGH", self._since(self._strobes_high) >= Ns.STROBE_HIGH, "the data strobes were high too shortly"
            )
            self._need(
                "DS-FREE",
                not self._low("dtack") and not self._low("berr"),
                f"{name} falls before DTACK* and BERR* are high",
            )
            self._need(
                "DATA-SETUP",
                self._stable("write") >= Ns.DATA_SETUP,
                "WRITE* is not stable long enough before the data strobes",
            )
            if self._low("write"):
                self._need(
                    "DATA-SETUP",
                    all(self.bus.driven(line) for line in self._used())
                    and self._stable(*self._used()) >= Ns.DATA_SETUP,
                    "data are not valid long enough before the data strobes",
                )
            else:
                self._need(
                    "READ-TURN",
                    not any(self.bus.driven(line) for line in _DATA),
                    "data lines are driven when a read begins",
                )
            self._block()
        elif new == 0:
            self._need(
                "DS-SKEW",
                self._since(self._strobe_fell) <= Ns.DS_SKEW + 2 * _GRAIN,
                "the second data strobe falls too late",
            )
        else:
            if not self.cut_short:
                self._need("DS-HOLD", self._answered, f"{name} rises before the answer")
            if not self._low(other):
                self._strobes_high = self.bus.now()

    def _block(self):
        if self.bus.level("am") & 3 != _BLOCK or self.bus.level("am") & 8 == 0 or self._low("iack"):
            return
        begin = self._block_start % BLOCK_BYTES
        self._need("BLOCK", begin + self._moved < BLOCK_BYTES, "a block crosses 256 bytes")

    # Data transfer bus: data and the slave.

    def _data(self, name, old, new):
        if not self._strobed() or name not in self._used():
            return
        if self._low("write"):
            self._need("DATA-HOLD", self._answered, "data of a write change before the answer")
        elif self._low("dtack") and self._low("ds0") + self._low("ds1") == self._strobes_low:
            self._bad("READ-HOLD", "data of a read change while the data strobes are low")

    def _answer(self, name, new):
        if new == 0:
            self._strobes_low = self._low("ds0") + self._low("ds1")
            self._need(
                "ANSWER",
                self._strobed() and self._since(self._strobe_fell) >= Ns.ANSWER,
                f"{name} falls without a data strobe, or less than 30 ns after it",
            )
            self._need("ONE-ANSWER", len(self.bus.drivers["dtack"]) + len(self.bus.drivers["berr"]) == 1, "two answers")
            if name == "dtack" and not self._low("write") and self._strobed():
                lines = _DATA[:1] if self._low("iack") else self._used()
                self._need(
                    "READ-SETUP", all(self.bus.driven(line) for line in lines), "data are not there when DTACK* falls"
                )
            if self._moved == 0 and self._strobes_low == 1 and self._low("ds0"):
                self._block_start += 1
            self._moved += 4 if self._low("lword") else self._strobes_low
            self._answered, self._held = True, False
            return
        self._need("ANSWER-HOLD", not self._strobed(), f"{name} rises while a data strobe is low")
        if not self._low("write"):
            self._need(
                "READ-RELEASE",
                not any(self.bus.driven(line) for line in _DATA),
                "data lines are driven when DTACK* rises",
            )

    # Arbitration.

    def _busy(self, name, new):
        if new == 0:
            self._need("BUSY-FREE", len(self.bus.drivers["bbsy"]) == 1, "two have BBSY*")
            return
        self._need("BUSY-LOW", self._since(self._changed.get("bbsy")) >= Ns.BUSY, "BBSY* was low less than 90 ns")
        self._need(
            "BUSY-GRANT", all(not self._low(point(f"bg{n}", 0)) for n in range(4)), "BBSY* rises while a grant is out"
        )

    def _chain(self, name, new):
        kind, slot = name.split("@")
        slot = int(slot)
        if slot == 0:
            return
        before = point(kind, slot - 1)
        if new == 0:
            self._need("CHAIN", self._low(before), f"{name} falls though {before} is high")
            if kind == "iackin":
                self._need(
                    "IACK-ORDER",
                    self._low("as") and self._strobed() and self._low("iack"),
                    f"{name} falls outside of an acknowledgment",
                )
        elif kind == "iackin":
            self._need(
                "IACK-RELEASE",
                self._since(self._as_rose) <= Ns.IACKOUT_RELEASE + 2 * _GRAIN,
                f"{name} rises more than 30 ns after AS*",
            )

    # Interrupts.

    def _irq(self, name, new):
        if new == 1:
            level = int(name[3:])
            self._need(
                "IRQ-HOLD",
                self._low("as") and self._low("iack") and self._strobed() and self.bus.level("address") & 7 == level,
                f"{name} is let go without an acknowledgment",
            )

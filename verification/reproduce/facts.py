"""A figure of the papers, and what measuring it has found: the rows of ``nectar reproduce``."""

from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Fact", "Found", "Rule", "Verdict", "quantity", "shown"]

#: Units that are words -> what one of them is called.
_ONE = {"cycles": "cycle", "bytes": "byte"}


class Rule(Enum):
    """What the papers' figure is to ours."""

    EXACTLY = "exactly"  # ours is the same
    AT_MOST = "at most"  # ours is no larger
    AT_LEAST = "at least"  # ours is no smaller
    WITHIN = "within"  # ours lies in the range (lowest, highest)
    ROUNDED = "rounded"  # ours is no smaller when it has as many decimals as the papers'
    WORDS = "words"  # the papers give words and no figure: nothing is judged


class Verdict(Enum):
    """What came of a fact."""

    HOLDS = "holds"
    FAILS = "FAILS"
    NOT_MEASURED = "not measured"
    NO_FIGURE = "no figure"


@dataclass(frozen=True)
class Found:
    """What was measured: ``value`` in the fact's unit, None if it could not be; ``how`` it was, or why it was not,
    in words."""

    value: float | None
    how: str


@dataclass(frozen=True)
class Fact:
    """A figure, ``paper``, in ``unit`` (Rule.WITHIN: a pair; Rule.WORDS: what the papers
    say), of ``what``; ``source``: paper and section.

    ``id`` begins with the fact's number (H2) and says, after a point, which of its figures it is. ``measure()`` returns
    a Found."""

    id: str
    what: str
    paper: object
    unit: str
    rule: Rule
    source: str
    measure: object = field(repr=False)

    def verdict(self, found):
        """What ``found`` says of the figure."""
        value = found.value
        if value is None:
            return Verdict.NOT_MEASURED
        if self.rule is Rule.WORDS:
            return Verdict.NO_FIGURE
        match self.rule:
            case Rule.EXACTLY:
                holds = value == self.paper
            case Rule.AT_MOST:
                holds = value <= self.paper
            case Rule.AT_LEAST:
                holds = value >= self.paper
            case Rule.ROUNDED:
                holds = round(value, len(str(self.paper).partition(".")[2])) >= self.paper
            case Rule.WITHIN:
                holds = self.paper[0] <= value <= self.paper[1]
        return Verdict.HOLDS if holds else Verdict.FAILS

    @property
    def asked(self):
        """The papers' figure in words: ``at most 30 us``."""
        if self.rule is Rule.WORDS:
            return self.paper
        paper = quantity(self.paper, self.unit)
        return f"{self.rule.value} {paper}" if self.rule in (Rule.AT_MOST, Rule.AT_LEAST) else paper

    def difference(self, found):
        """How far the measured value is from the papers', in words: ``9.2 % below``. Empty if nothing was measured."""
        if found.value is None or self.rule is Rule.WORDS:
            return ""
        if self.rule is Rule.WITHIN:
            low, high = self.paper
            side = "below" if found.value < low else "above" if found.value > high else "in"
            return f"{side} the range"
        off = found.value - self.paper
        if not off:
            return "the same"
        if self.rule is Rule.ROUNDED and abs(off) < 10 ** -len(str(self.paper).partition(".")[2]):
            return "the same to its decimals"
        side = "below" if off < 0 else "above"
        if self.unit == "%" or not self.paper:
            return f"{shown(abs(off))} {'points ' if self.unit == '%' else ''}{side}"
        percent = abs(100 * off / self.paper)
        digits = ".0f" if percent >= 10 else ".1f" if percent >= 1 else ".1g"
        return f"{percent:{digits}} % {side}"

    def ratio(self, found):
        """The measured value as a multiple of the papers'; None if that says nothing."""
        if found.value is None or self.rule in (Rule.WITHIN, Rule.WORDS) or not self.paper:
            return None
        return found.value / self.paper


def shown(value):
    """A figure as people read it: ``700``, ``10 to 15``, ``27.4``."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " to ".join(map(shown, value))
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:,.0f}"


def quantity(value, unit):
    """A figure with its unit: ``1 cycle``, ``3 bytes``, ``27.4 us``; without one, ``16``. Empty for None."""
    if value is None:
        return ""
    return f"{shown(value)} {_ONE.get(unit, unit) if value == 1 else unit}".rstrip()

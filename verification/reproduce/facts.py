"""A figure of the papers, and what measuring it has found: the rows of ``nectar reproduce``."""

from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Fact", "Found", "Rule", "Verdict"]


class Rule(Enum):
    """What the papers' figure is to ours."""

    EXACTLY = "exactly"     # ours is the same
    AT_MOST = "at most"     # ours is no larger
    AT_LEAST = "at least"   # ours is no smaller
    WITHIN = "within"       # ours lies in the range (lowest, highest)
    ROUNDED = "rounded"     # ours is no smaller when it has as many decimals as the papers'


class Verdict(Enum):
    """What came of a fact."""

    HOLDS = "holds"
    FAILS = "FAILS"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Found:
    """What was measured: ``value`` in the fact's unit, None if it could not be; ``how`` it was, or why it was not, in words."""

    value: float | None
    how: str


@dataclass(frozen=True)
class Fact:
    """A figure, ``paper``, in ``unit`` (Rule.WITHIN: a pair), of ``what``; ``source``: paper and section.

    ``id`` begins with the fact's number (H2) and says, after a point, which of its figures it is. ``measure()`` returns a Found.
    """

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

    def ratio(self, found):
        """The measured value as a multiple of the papers'; None if that says nothing."""
        if found.value is None or self.rule is Rule.WITHIN or not self.paper:
            return None
        return found.value / self.paper

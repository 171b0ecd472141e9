"""What a benchmark found."""

from dataclasses import dataclass, field

__all__ = ["NotInstalled", "Outcome"]


class NotInstalled(Exception):
    """What a benchmark needs is not there; everything else can be measured without it. The message says how to get
    it."""


@dataclass(frozen=True)
class Outcome:
    """What a benchmark found: ``value`` in ``unit``, which must be at least (or, if ``at_most``, at most) ``target``,
    if that is not None.

    ``measured`` holds what it was made of, by name; ``text`` says the same to people, in one line or more. ``part``
    tells the outcomes of a benchmark that has several from each other.
    """

    value: float
    unit: str
    target: float | None
    text: str
    at_most: bool = False
    measured: dict = field(default_factory=dict)
    part: str = ""

    @property
    def ok(self):
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

"""What a receiver must tell, and when, by the receiver of ``channel``: benches compare with it while they run, and
so end at the first difference."""

from .channel import ReceiverModel

__all__ = ["CIRCUIT", "Expected", "Thinned"]

#: "A few cycles of the circuit" (docs/serial.md): from a line's level to what is told of it.
CIRCUIT = 10
#: An elastic buffer holds eight symbols, its first may wait for a second one, and one leaves in each symbol's time.
_BUFFER = 10
#: So many words more may pass before a link is up for the first time, while the place where bits are taken is being
#: found.
_FIRST = 24


class Expected:
    """What is to come of a line.

    ``line``: levels, one for each bit. ``bit``: cycles that each takes. ``symbols``, ``violations``, ``losses``: what
    the specification says that comes of them, in all."""

    def __init__(self, line, bit):
        reference = ReceiverModel()
        self._events = events = {"symbol": [], "violation": [], "loss": [], "change of up": []}
        for place, level in enumerate(line):
            up = reference.up
            reference.push(level)
            counts = (
                len(reference.delivered),
                reference.violations,
                reference.losses,
                len(events["change of up"]) + (up != reference.up),
            )
            for (name, times), count in zip(events.items(), counts, strict=True):
                # The place where bits are taken may be a bit away from where it should be. The buffer is behind all
                # else.
                words = _BUFFER if name == "symbol" else _FIRST if name == "change of up" and not times else 0
                times += [((place - 1) * bit, (place + 2 + 10 * words) * bit + CIRCUIT)] * (count - len(times))
        self.symbols, self.violations, self.losses = reference.delivered, reference.violations, reference.losses

    def check(self, name, count, cycle, stop=None):
        """So many symbols (violations, losses, changes of up) have been told by this cycle of the line: none may be
        too early or too late. ``stop``: where counting ends."""
        times = self._events[name]
        assert count <= len(times) and (not count or times[count - 1][0] <= cycle), (
            f"{name} {count} comes in cycle {cycle}, which is too early"
        )
        assert count in (len(times), stop) or cycle <= times[count][1], (
            f"{name} {count + 1} has not come by cycle {cycle}"
        )

    def follow(self, cycle, symbols, violations, losses, ups, stop=None):
        """All that has come by this cycle, of which the last symbol may be new: the four counts, and that symbol."""
        for name, count in zip(self._events, (len(symbols), violations, losses, ups), strict=True):
            self.check(name, count, cycle, stop if name in ("violation", "loss") else None)
        if symbols:
            found, wanted = symbols[-1], self.symbols[len(symbols) - 1]
            assert found == wanted, f"symbol {len(symbols)} is {found:#x}, not {wanted:#x}"


class Thinned:
    """``symbols`` that come in order, though some of them are lost. ``lost``: how many at least, of those that have
    come and what was to come before."""

    def __init__(self, symbols):
        self._rest = iter(symbols)
        self.lost = 0

    def take(self, symbol):
        """The next one has come. Raises AssertionError if there is no such symbol behind the one before."""
        for other in self._rest:
            if other == symbol:
                return
            self.lost += 1
        raise AssertionError(f"{symbol:#x} was not sent, or is out of order")

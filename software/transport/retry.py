"""How long to wait for an answer before asking again. Pure logic; times are CPU cycles.

Source: V. Jacobson, "Congestion Avoidance and Control" (SIGCOMM 1988): mean and mean deviation of the round trip; P.
Karn, C. Partridge, "Improving Round-Trip Time Estimates in Reliable Transport Protocols" (SIGCOMM 1987): no measurement
of what was sent twice, and the time-out doubles."""

__all__ = ["Retry"]


class Retry:
    """The time-out of exchanges with one peer.

    Parameters
    ----------
    first : int
        As long as nothing was measured.
    least, most : int
        Bounds of the time-out.
    """

    __slots__ = ("first", "least", "most", "mean", "deviation")

    def __init__(self, first, least, most):
        if not 0 < least <= first <= most:
            raise ValueError(f"0 < least <= first <= most must hold of time-outs, not of {least}, {first}, {most}")
        self.first = first
        self.least = least
        self.most = most
        self.mean = None
        self.deviation = 0

    def sample(self, cycles):
        """An exchange, nothing of which was sent twice, took ``cycles``."""
        if self.mean is None:
            self.mean, self.deviation = cycles, cycles // 2
        else:
            self.deviation += (abs(cycles - self.mean) - self.deviation) // 4
            self.mean += (cycles - self.mean) // 8

    def timeout(self, tries=0):
        """Cycles to wait when ``tries`` have been in vain since something was heard."""
        base = self.first if self.mean is None else max(self.least, self.mean + 4 * self.deviation)
        return min(base << min(tries, 16), self.most)

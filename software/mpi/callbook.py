"""Which collective calls the ranks have made: so that those of a program that do not fit together are told."""

from itertools import pairwise

__all__ = ["CallBook", "words"]


def words(communicator, number):
    """What a collective call is called."""
    return f"collective call {number} of {communicator.name or 'a communicator'}"


class CallBook:
    """The collective calls that not all ranks of their communicator have made yet, or not alike. The simulation keeps
    it: it takes no simulated time."""

    __slots__ = ("_calls",)

    def __init__(self):
        self._calls = {}  # (context, members, number) -> (communicator, dict of rank -> (name, place))

    def note(self, communicator, number, name, place):
        """A rank makes a call; ``place``: ``file:line`` of its program, or None."""
        key = communicator.context, communicator.members, number
        _, made = self._calls.setdefault(key, (communicator, {}))
        made[communicator.rank] = name, place
        if len(made) == len(communicator.members) and len({other for other, _ in made.values()}) == 1:
            del self._calls[key]

    def told(self, communicator, number, rank, name):
        """That ``rank`` makes a call of that name, and where."""
        _, made = self._calls.get((communicator.context, communicator.members, number), (None, {}))
        _, place = made.get(rank, (name, None))
        return f"rank {rank} calls {name}" + (f" ({place})" if place else "")

    def differing(self):
        """The first call that two ranks have made differently, in words; None if there is none."""
        for (*_, number), (communicator, made) in self._calls.items():
            for (one, (name, _)), (other, (different, _)) in pairwise(sorted(made.items())):
                if name != different:
                    told = (self.told(communicator, number, *each) for each in ((one, name), (other, different)))
                    return f"{words(communicator, number)}: {' where '.join(told)}"
        return None

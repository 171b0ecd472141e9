"""Which collective calls the ranks have made: those that do not fit together are told."""

from typing import NamedTuple

from .exception import ErrorClass, Exception

__all__ = ["CallBook", "Terms"]


class Terms(NamedTuple):
    """What all ranks of a communicator must give alike in a collective call.

    Members
    -------
    alike : tuple
        Equal on all ranks.
    words : str
        The same as a program gives it, as ``"4 MPI_INT, root=0"``; empty if there is nothing.
    """

    alike: tuple = ()
    words: str = ""

    @classmethod
    def of(cls, block=None, op=None, **given):
        """Of a Block, of which the number of bytes counts, and in a reduction the kind of its numbers; of an operation,
        an Op or any function of two objects; and of arguments by their names."""
        alike, words = [*given.values()], [f"{name}={value}" for name, value in given.items()]
        if op is not None:
            operation = getattr(op, "target", None)
            name = operation.name if operation else ""
            alike += [name, bool(operation) and operation.commutative]
            function = operation.function if operation else op
            words.insert(0, "op=" + (f"MPI_{name}" if name else getattr(function, "__name__", "a function")))
        if block is not None:
            kind = block.datatype.target
            alike += [block.nbytes] + ([kind.pair or kind.string] if op is not None else [])
            words.insert(0, f"{block.count} {kind.name}" if kind.name else f"{block.nbytes} bytes")
        return cls(tuple(alike), ", ".join(words))


class _Made(NamedTuple):
    """A call that a rank has made: its name, the Terms, ``file:line`` of the program or None."""

    name: str
    terms: Terms
    place: str | None

    def __str__(self):
        words = f"{self.name}({self.terms.words})" if self.terms.words else self.name
        return words if self.place is None else f"{words}, {self.place}"


class CallBook:
    """The collective calls that not all ranks of their communicator have made yet. The simulation keeps it: it takes no
    simulated time."""

    __slots__ = ("_calls",)

    def __init__(self):
        self._calls = {}  # (context, members, number) -> dict of rank -> _Made

    def note(self, communicator, number, name, terms, place):
        """A rank makes a call; ``place``: ``file:line`` of its program, or None.

        Raises Exception (ERR_OTHER) if another rank has made another call there, or has given other Terms."""
        key = communicator.context, communicator.members, number
        made = self._calls.setdefault(key, {})
        mine = made[communicator.rank] = _Made(name, terms, place)
        for rank, other in made.items():
            if (other.name, other.terms.alike) != (name, terms.alike):
                raise Exception(
                    ErrorClass.ERR_OTHER,
                    f"collective call {number} of {communicator.name or 'a communicator'}: rank {communicator.rank} "
                    f"calls {mine}, where rank {rank} calls {other}",
                )
        if len(made) == len(communicator.members):
            del self._calls[key]

"""Whose turn it is: messages to a member go one after the other, in the order in which they were given. Pure logic."""

from collections import deque

__all__ = ["Turns"]


class Turns:
    """Queues, one for each member. ``called``: callable(who, member), when it is the turn of ``who``."""

    __slots__ = ("_called", "_queues")

    def __init__(self, called):
        self._called = called
        self._queues = {}  # member -> those who want to send to it; the first may

    def queue(self, member, who):
        """``who`` wants to send to ``member``. Whether it may at once; else it is called."""
        queue = self._queues.setdefault(member, deque())
        queue.append(who)
        return len(queue) == 1

    def leave(self, member, who):
        """``who`` has sent to ``member``, or does not want to any more; nothing if that is known."""
        queue = self._queues.get(member, ())
        if who not in queue:
            return
        first = queue[0] is who
        queue.remove(who)
        if not queue:
            del self._queues[member]
        elif first:
            self._called(queue[0], member)

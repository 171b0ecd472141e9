"""Something that is to be so whenever a certain thread runs, as if the thread were a process of its own."""

__all__ = ["Scope"]


class Scope:
    """``await Scope(coroutine, enter)`` is what ``await coroutine`` is; ``enter()`` is called before each of its turns.

    For what Python keeps once for all threads of the simulation, as ``sys.argv``: ``enter`` puts there what belongs to
    the thread. It is called whenever the thread goes on, be its code async or plain. Other threads pay nothing.

    Members
    -------
    cr_await : coroutine
        What runs inside, under the name by which Python shows what a coroutine awaits.
    """

    __slots__ = ("cr_await", "_enter")

    def __init__(self, coroutine, enter):
        self.cr_await = coroutine
        self._enter = enter

    def __await__(self):
        return self

    def __next__(self):
        self._enter()
        return self.cr_await.send(None)

    def send(self, value):
        """See ``coroutine.send``."""
        self._enter()
        return self.cr_await.send(value)

    def throw(self, *error):
        """See ``coroutine.throw``."""
        self._enter()
        return self.cr_await.throw(*error)

    def close(self):
        """See ``coroutine.close``."""
        self._enter()
        self.cr_await.close()

"""Objects as bytes: what the lower-case calls send. Names are mpi4py's."""

from pickle import HIGHEST_PROTOCOL, dumps, loads

from .memory import buffer

__all__ = ["Pickle", "loaded", "pickle"]

#: Bytes from which ``dumps_oob`` gives a buffer by itself.
_THRESHOLD = 1 << 18


class Pickle:
    """How objects are turned into bytes and back.

    Parameters
    ----------
    dumps, loads : callable or None
        By default those of Python's pickle.
    protocol : int or None
        Second argument of ``dumps``; None: there is none. By default the highest of Python's pickle.
    threshold : int or None
        Bytes from which ``dumps_oob`` gives a buffer by itself; 262144 by default.
    """

    __module__ = "mpi4py.MPI"

    def __init__(self, dumps=dumps, loads=loads, protocol=None, threshold=None):
        self._dumps = dumps or globals()["dumps"]
        self._loads = loads or globals()["loads"]
        self.PROTOCOL = protocol
        self.THRESHOLD = threshold

    @property
    def PROTOCOL(self):
        """See ``protocol``."""
        return self._protocol

    @PROTOCOL.setter
    def PROTOCOL(self, protocol):
        by_default = HIGHEST_PROTOCOL if self._dumps is dumps else None
        self._protocol = by_default if protocol is None else protocol

    @property
    def THRESHOLD(self):
        """See ``threshold``."""
        return self._threshold

    @THRESHOLD.setter
    def THRESHOLD(self, threshold):
        self._threshold = _THRESHOLD if threshold is None else threshold

    def dumps(self, obj):
        """The bytes of an object."""
        return self._dumps(obj) if self._protocol is None else self._dumps(obj, self._protocol)

    def loads(self, data):
        """The object of the bytes."""
        return self._loads(data)

    def dumps_oob(self, obj):
        """The bytes of an object, and a list of the large buffers in it, which the bytes leave out."""
        buffers = []

        def inside(item):
            view = buffer.frombuffer(item, readonly=None)
            if view.nbytes < self._threshold:
                return True
            buffers.append(view)
            return False

        protocol = max(HIGHEST_PROTOCOL if self._protocol is None else self._protocol, 5)
        return self._dumps(obj, protocol, buffer_callback=inside), buffers

    def loads_oob(self, data, buffers):
        """The object of what ``dumps_oob`` has given."""
        return self._loads(data, buffers=buffers)


pickle = Pickle()


def loaded(data):
    """The object of a message's bytes; None of no bytes."""
    return pickle.loads(data) if data else None

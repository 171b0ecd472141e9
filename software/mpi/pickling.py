"""Python's objects as bytes: what the lowercase calls send. Names are mpi4py's."""

import os
import pickle as _pickle

from .memory import buffer, flat_memory

__all__ = ["Pickle", "pickle"]

_PROTOCOL = int(os.environ.get("MPI4PY_PICKLE_PROTOCOL", _pickle.HIGHEST_PROTOCOL))
_THRESHOLD = int(os.environ.get("MPI4PY_PICKLE_THRESHOLD", 1024 * 1024 // 4))


class Pickle:
    """Turns objects into bytes and back.

    Parameters
    ----------
    dumps : callable(object, protocol) → bytes
    loads : callable(bytes-like) → object
    protocol : int
        None: ``dumps`` is called with the object alone.
    threshold : int
        Buffers of as many bytes are kept apart by ``dumps_oob``.
    """

    __module__ = "mpi4py.MPI"

    def __init__(self, dumps=None, loads=None, protocol=None, threshold=None):
        self._dumps = dumps or _pickle.dumps
        self._loads = loads or _pickle.loads
        self.PROTOCOL = protocol
        self.THRESHOLD = threshold

    @property
    def PROTOCOL(self):
        """The protocol of ``pickle``; None: that of ``dumps``."""
        return self._protocol

    @PROTOCOL.setter
    def PROTOCOL(self, protocol):
        self._protocol = _PROTOCOL if protocol is None and self._dumps is _pickle.dumps else protocol

    @property
    def THRESHOLD(self):
        """Bytes of a buffer from which on ``dumps_oob`` keeps it apart."""
        return self._threshold

    @THRESHOLD.setter
    def THRESHOLD(self, threshold):
        self._threshold = _THRESHOLD if threshold is None else threshold

    def dumps(self, obj):
        """The bytes of an object."""
        return self._dumps(obj) if self._protocol is None else self._dumps(obj, self._protocol)

    def loads(self, data):
        """The object of such bytes; None of no bytes."""
        return self._loads(data) if len(data) else None

    def dumps_oob(self, obj):
        """The bytes of an object without its large buffers, and a list of these."""
        apart = []

        def inside(part):
            view = flat_memory(part)[0]
            if len(view) < self._threshold:
                return True
            apart.append(buffer.frombuffer(part, readonly=None))
            return False

        protocol = max(_PROTOCOL if self._protocol is None else self._protocol, 5)
        return self._dumps(obj, protocol, buffer_callback=inside), apart

    def loads_oob(self, data, buffers):
        """The object of what ``dumps_oob`` has given."""
        return self._loads(data, buffers=buffers)

    def dumps_each(self, objects, count):
        """List of the bytes of ``count`` objects; None stands for as many times None. ValueError for another number."""
        objects = [None] * count if objects is None else list(objects)
        if len(objects) != count:
            raise ValueError(f"expecting {count} items, got {len(objects)}")
        return [self.dumps(each) for each in objects]


pickle = Pickle()

"""Attributes: what a program attaches to a communicator under keys of its own. Names are mpi4py's."""

from .envelope import TAG_UB
from .exception import ErrorClass, Exception
from .process import caller

__all__ = ["KEYVALS", "WithAttributes", "copied", "deleted"]

#: Predefined keys.
KEYVALS = {
    name: 0x640 + number
    for number, name in enumerate(
        ("TAG_UB", "HOST", "IO", "WTIME_IS_GLOBAL", "UNIVERSE_SIZE", "APPNUM", "LASTUSEDCODE"), 1
    )
} | {"KEYVAL_INVALID": 0}
_FIRST = 0x1000


class _Key:
    """A key that a program has made: its functions, and how many attributes have it."""

    __slots__ = ("copy", "delete", "nopython")

    def __init__(self, copy, delete, nopython):
        self.copy = copy
        self.delete = delete
        self.nopython = nopython


def _predefined(process, keyval):
    return {
        KEYVALS["TAG_UB"]: TAG_UB,
        KEYVALS["IO"]: process.number,
        KEYVALS["WTIME_IS_GLOBAL"]: 1,
        KEYVALS["UNIVERSE_SIZE"]: process.world.size,
        KEYVALS["APPNUM"]: 0,
        KEYVALS["LASTUSEDCODE"]: ErrorClass.ERR_LASTCODE.value,
    }.get(keyval)


def copied(comm, made):
    """Copies the attributes of a communicator to ``made``, which is a duplicate, as their keys say."""
    for keyval, (key, value) in list(comm.communicator.attributes.items()):
        if key.copy is None:
            continue
        value = value if key.copy is True else key.copy(comm, keyval, value)
        if value is not NotImplemented:
            made.communicator.attributes[keyval] = key, value


def deleted(comm):
    """Deletes the attributes of a communicator that is to be freed."""
    for keyval in reversed(list(comm.communicator.attributes)):
        comm.Delete_attr(keyval)


class WithAttributes:
    """The calls of a communicator that concern its attributes.

    Raises
    ------
    Exception
        ERR_KEYVAL for a key that there is not.
    """

    __slots__ = ()

    @classmethod
    def Create_keyval(cls, copy_fn=None, delete_fn=None, nopython=False):
        """A new key.

        ``copy_fn(comm, keyval, value)`` gives the attribute of a duplicate, NotImplemented for none; True: the same
        value; None, False: none. ``delete_fn(comm, keyval, value)`` is called before an attribute is deleted."""
        process = caller()
        process.keyvals += 1
        keyval = _FIRST + process.keyvals
        process.keys[keyval] = _Key(copy_fn or None, delete_fn or None, nopython)
        return keyval

    @classmethod
    def Free_keyval(cls, keyval):
        """Frees a key; attributes that have it stay. Returns KEYVAL_INVALID."""
        if caller().keys.pop(keyval, None) is None:
            raise Exception(ErrorClass.ERR_KEYVAL, f"there is no key {keyval}")
        return KEYVALS["KEYVAL_INVALID"]

    def _key(self, keyval):
        communicator = self.communicator
        if keyval in communicator.attributes:
            return communicator.attributes[keyval][0]
        key = communicator.process.keys.get(keyval)
        if key is None:
            raise Exception(ErrorClass.ERR_KEYVAL, f"there is no key {keyval} that a program may use")
        return key

    def Get_attr(self, keyval):
        """The attribute with that key, or None."""
        communicator = self.communicator
        if keyval in KEYVALS.values() and keyval:
            return _predefined(communicator.process, keyval)
        self._key(keyval)
        return communicator.attributes.get(keyval, (None, None))[1]

    def Set_attr(self, keyval, attrval):
        """Sets the attribute with that key; an earlier one is deleted."""
        key = self._key(keyval)
        if keyval in self.communicator.attributes:
            self.Delete_attr(keyval)
        self.communicator.attributes[keyval] = key, attrval

    def Delete_attr(self, keyval):
        """Deletes the attribute with that key, if there is one."""
        key = self._key(keyval)
        found = self.communicator.attributes.get(keyval)
        if found is not None:
            if key.delete is not None:
                key.delete(self, keyval, found[1])
            del self.communicator.attributes[keyval]

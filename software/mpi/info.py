"""Info objects: pairs of key and value that a program hands to MPI. Names are mpi4py's."""

from .constants import MAX_INFO_KEY, MAX_INFO_VAL
from .exception import ErrorClass, Exception
from .handle import Handle

__all__ = ["INFO_ENV", "INFO_NULL", "Info"]


class _Pairs(dict):
    """The pairs of an Info, in the order in which their keys were set."""

    __slots__ = ("__weakref__", "constant")

    def __init__(self, *args):
        super().__init__(*args)
        self.constant = None


def _limited(text, longest, error):
    if not isinstance(text, str):
        raise TypeError(f"keys and values of an Info are str, not {type(text).__name__}")
    if not 0 < len(text.strip()) <= longest:
        raise Exception(error)
    return text


class Info(Handle):
    """Pairs of key and value, both str. It is a mapping as well; a null Info is an empty one that cannot be changed.

    Raises
    ------
    Exception
        ERR_INFO for a null Info; ERR_INFO_KEY, ERR_INFO_VALUE for text that is empty or too long; ERR_INFO_NOKEY for
        a key that it does not have; ERR_ARG for a number of a key that there is not.
    """

    @classmethod
    def Create(cls, items=None):
        """A new Info with the pairs of a mapping, or of an iterable of pairs."""
        info = cls.of(_Pairs())
        if items is not None:
            info.update(items)
        return info

    @classmethod
    def Create_env(cls, args=None):
        """A new Info of the environment, with the command among ``args`` (a list of str)."""
        info = cls.Create()
        if args:
            info.Set("command", args[0])
        if args and len(args) > 1:
            info.Set("argv", " ".join(args[1:]))
        return info

    @property
    def _pairs(self):
        if self.target is None:
            raise Exception(ErrorClass.ERR_INFO)
        return self.target

    def __reduce__(self):
        if self.constant or self.target is None or self.target.constant is not None:
            return super().__reduce__()
        return type(self).Create, (dict(self.target),)

    def Free(self):
        """Frees the Info; the handle is null then."""
        if self._pairs.constant is not None:
            raise Exception(ErrorClass.ERR_INFO)
        self.target = None

    def Dup(self):
        """A new Info with the same pairs."""
        return self.of(_Pairs(self._pairs))

    def Get(self, key):
        """The value of a key, or None."""
        return self._pairs.get(_limited(key, MAX_INFO_KEY, ErrorClass.ERR_INFO_KEY))

    def Set(self, key, value):
        """Gives a key its value."""
        key = _limited(key, MAX_INFO_KEY, ErrorClass.ERR_INFO_KEY)
        self._pairs[key] = _limited(value, MAX_INFO_VAL, ErrorClass.ERR_INFO_VALUE)

    def Delete(self, key):
        """Takes a key and its value out."""
        if self._pairs.pop(_limited(key, MAX_INFO_KEY, ErrorClass.ERR_INFO_KEY), None) is None:
            raise Exception(ErrorClass.ERR_INFO_NOKEY)

    def Get_nkeys(self):
        """Number of keys."""
        return len(self._pairs)

    def Get_nthkey(self, n):
        """Key number ``n``, from 0 on."""
        keys = list(self._pairs)
        if not 0 <= n < len(keys):
            raise Exception(ErrorClass.ERR_ARG)
        return keys[n]

    # -- as a mapping --------------------------------------------------------------------------------
    def __len__(self):
        return len(self.target or ())

    def __contains__(self, key):
        return key in (self.target or ())

    def __iter__(self):
        return iter(self.keys())

    def __getitem__(self, key):
        return (self.target or {})[key]

    def _changed(self, key=None):
        if self.target is None:
            raise KeyError(key)

    def __setitem__(self, key, value):
        self._changed(key)
        self.Set(key, value)

    def __delitem__(self, key):
        self._changed(key)
        del self.target[key]

    def get(self, key, default=None):
        """The value of a key, or ``default``."""
        return (self.target or {}).get(key, default)

    def keys(self):
        """List of the keys."""
        return list(self.target or ())

    def values(self):
        """List of the values."""
        return list((self.target or {}).values())

    def items(self):
        """List of the pairs."""
        return list((self.target or {}).items())

    def update(self, items=(), **more):
        """Sets the pairs of a mapping, or of an iterable of pairs, and those of ``more``."""
        self._changed()
        for key, value in [*(items.items() if hasattr(items, "items") else items), *more.items()]:
            self.Set(key, value)

    def pop(self, key, *default):
        """Takes a key out and returns its value, or ``default``. Raises KeyError if there is neither."""
        if self.target is None:
            return {}.pop(key, *default)
        return self.target.pop(key, *default)

    def popitem(self):
        """Takes the last pair out and returns it. Raises KeyError if there is none."""
        self._changed()
        return self.target.popitem()

    def copy(self):
        """As ``Dup``; a null Info of a null one."""
        return self.Dup() if self else type(self)()

    def clear(self):
        """Takes all pairs out."""
        if self:
            self.target.clear()


INFO_NULL = Info.nothing = Info.constant_of("INFO_NULL", None)
INFO_ENV = Info.constant_of("INFO_ENV", _Pairs())

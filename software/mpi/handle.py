"""Handles: what a program of MPI holds of a datatype, an operation, a group, a communicator.

Several handles may stand for one object; they are equal then. A handle that stands for nothing is null: it is false,
and equal to the null constant of its class.
"""

from weakref import WeakValueDictionary

__all__ = ["Handle"]

_numbered = WeakValueDictionary()


class Handle:
    """A handle of one kind of objects.

    Parameters
    ----------
    other : a handle of the same kind, or None
        The new handle stands for the same object; without it, it is null.

    ``target`` is the object, None if the handle is null. A class whose instances are a kind of their own names itself
    as ``family``; classes derived from it are of the same kind.

    Raises
    ------
    TypeError
        If ``other`` is something else.
    """

    __module__ = "mpi4py.MPI"
    __hash__ = None

    #: The class of all handles of one kind.
    family = None
    #: Name in the module MPI, of a constant.
    constant = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.__module__.startswith(__package__):  # not that of a program
            cls.__module__ = "mpi4py.MPI"
        if Handle in cls.__bases__:
            cls.family = cls

    def __new__(cls, other=None, *args, **options):
        if other is not None and not isinstance(other, cls.family):
            raise TypeError(f"{cls.__name__} is made of a {cls.family.__name__}, not of {type(other).__name__}")
        self = super().__new__(cls)
        self.target = None if other is None else other.target
        return self

    @classmethod
    def of(cls, target):
        """A handle of this class for ``target``."""
        self = cls.__new__(cls)
        self.target = target
        return self

    @classmethod
    def constant_of(cls, name, target):
        """The handle that the module MPI has under ``name``. It stays what it is: ``Free`` of it is refused."""
        self = cls.of(target)
        self.constant = name
        if target is not None:
            target.constant = self
        return self

    def __eq__(self, other):
        if not isinstance(other, self.family):
            return NotImplemented
        return self.target is other.target

    def __bool__(self):
        return self.target is not None

    def __reduce__(self):
        if self.constant:
            return self.constant
        constant = self.null() if self.target is None else getattr(self.target, "constant", None)
        if constant is None:
            raise ValueError(f"cannot pickle an MPI.{type(self).__name__} that is not predefined")
        return type(self), (constant,)

    @classmethod
    def null(cls):
        """The null constant of the class's kind."""
        return cls.family.nothing

    @property
    def handle(self):
        """A number that stands for the object; 0 if the handle is null."""
        if self.target is None:
            return 0
        _numbered[id(self.target)] = self.target
        return id(self.target)

    @classmethod
    def fromhandle(cls, handle):
        """The handle with the number ``handle``: a constant, or a new one.

        Raises
        ------
        ValueError
            If no handle has that number.
        """
        if not handle:
            return cls.null()
        try:
            target = _numbered[handle]
        except KeyError:
            raise ValueError(f"no {cls.__name__} has the handle {handle}") from None
        return getattr(target, "constant", None) or cls.of(target)

    def toint(self):
        """As ``handle``."""
        return self.handle

    py2f = toint

    @classmethod
    def fromint(cls, arg, /):
        """As ``fromhandle``."""
        return cls.fromhandle(arg)

    f2py = fromint

    def free(self):
        """Frees the object, unless the handle is null or a constant. A copy of a constant becomes null."""
        if self.target is None or self.constant:
            return
        if getattr(self.target, "constant", None) is not None:
            self.target = None
        else:
            self.Free()

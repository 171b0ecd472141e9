"""Status: what is known of a message that was received, probed for, or cancelled. Names are mpi4py's."""

from array import array

from .constants import ANY_SOURCE, ANY_TAG, UNDEFINED
from .datatype import Datatype
from .exception import ErrorClass
from .predefined import DATATYPES

__all__ = ["Status"]

_BYTE = DATATYPES["BYTE"]
_SOURCE, _TAG, _ERROR, _COUNT, _CANCELLED = range(5)


class Status:
    """The source, tag, error, length and cancellation of a message.

    Parameters
    ----------
    status : Status or None
        What it begins with; by default any source, any tag, no error and no bytes.
    """

    __module__ = "mpi4py.MPI"
    __hash__ = None

    def __new__(cls, status=None):
        if status is not None and not isinstance(status, Status):
            raise TypeError(f"Status is made of a Status, not of {type(status).__name__}")
        self = super().__new__(cls)
        self._fields = array("i", [ANY_SOURCE, ANY_TAG, ErrorClass.SUCCESS, 0, 0])
        self._count = 0
        if status is not None:
            self._fields[:] = status._fields
            self._count = status._count
        return self

    def fill(self, source=ANY_SOURCE, tag=ANY_TAG, count=0, cancelled=False, error=ErrorClass.SUCCESS):
        """Sets all of it; ``count`` in bytes."""
        self._fields[:] = array("i", [source, tag, error, 0, cancelled])
        self._count = count

    def __eq__(self, other):
        if not isinstance(other, Status):
            return NotImplemented
        return self._fields == other._fields and self._count == other._count

    def __reduce__(self):
        return type(self), (), self.__getstate__()

    def __getstate__(self):
        return {
            "source": self.source,
            "tag": self.tag,
            "error": self.error,
            "count": self.count,
            "cancelled": self.cancelled,
        }

    def __setstate__(self, state):
        for name, value in state.items():
            setattr(self, name, value)

    # -- source, tag, error --------------------------------------------------------------------------
    def Get_source(self):
        """Rank of the sender."""
        return self._fields[_SOURCE]

    def Set_source(self, source):
        """Sets the rank of the sender."""
        self._fields[_SOURCE] = source

    def Get_tag(self):
        """Tag of the message."""
        return self._fields[_TAG]

    def Set_tag(self, tag):
        """Sets the tag of the message."""
        self._fields[_TAG] = tag

    def Get_error(self):
        """Error code of the operation."""
        return self._fields[_ERROR]

    def Set_error(self, error):
        """Sets the error code of the operation."""
        self._fields[_ERROR] = error

    source = property(Get_source, Set_source)
    tag = property(Get_tag, Set_tag)
    error = property(Get_error, Set_error)

    # -- length --------------------------------------------------------------------------------------
    def Get_count(self, datatype=_BYTE):
        """Elements of ``datatype`` in the message; UNDEFINED if the last is not whole."""
        size = datatype.Get_size()
        if not size:
            return UNDEFINED if self._count else 0
        count, left = divmod(self._count, size)
        return UNDEFINED if left else count

    def Get_elements(self, datatype):
        """Basic items of ``datatype`` in the message; UNDEFINED if the last is not whole."""
        items = datatype.layout.items(self._count)
        return UNDEFINED if items is None else items

    def Set_elements(self, datatype, count):
        """Sets the length of the message, in basic items of ``datatype``."""
        if not isinstance(datatype, Datatype):
            raise TypeError(f"a Datatype is expected, not {type(datatype).__name__}")
        self._count = datatype.layout.nbytes(count)

    @property
    def count(self):
        """Bytes of the message."""
        return self.Get_count(_BYTE)

    @count.setter
    def count(self, value):
        self.Set_elements(_BYTE, value)

    # -- cancellation --------------------------------------------------------------------------------
    def Is_cancelled(self):
        """Whether the operation was cancelled."""
        return bool(self._fields[_CANCELLED])

    def Set_cancelled(self, flag):
        """Sets whether the operation was cancelled."""
        self._fields[_CANCELLED] = bool(flag)

    cancelled = property(Is_cancelled, Set_cancelled)

    # -- as memory -----------------------------------------------------------------------------------
    def tomemory(self):
        """Source, tag, error and two more numbers as a memoryview of int; writing into it changes the status."""
        return memoryview(self._fields)

    def py2f(self):
        """The numbers of ``tomemory`` as a list, with the bytes of the message."""
        return [*self._fields, self._count]

    @classmethod
    def f2py(cls, arg):
        """The Status of such a list."""
        status = cls()
        status._fields[:] = array("i", arg[:5])
        status._count = arg[5]
        return status

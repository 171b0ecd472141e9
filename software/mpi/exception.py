"""Errors of MPI: the exception, its classes and codes.

Names are mpi4py's. An error code is an error class, or a code that the program has added.
"""

from enum import IntEnum
from functools import total_ordering

__all__ = [
    "Add_error_class",
    "Add_error_code",
    "Add_error_string",
    "ErrorClass",
    "Exception",
    "Get_error_class",
    "Get_error_string",
    "Remove_error_class",
    "Remove_error_code",
    "Remove_error_string",
]


class ErrorClass(IntEnum):
    """The error classes of the standard. Each has its text."""

    def __new__(cls, number, text):
        self = int.__new__(cls, number)
        self._value_ = number
        self.text = text
        return self

    SUCCESS = 0, "no error"
    ERR_BUFFER = 1, "the buffer is not valid"
    ERR_COUNT = 2, "the count is not valid"
    ERR_TYPE = 3, "the datatype is not valid"
    ERR_TAG = 4, "the tag is not valid"
    ERR_COMM = 5, "the communicator is not valid"
    ERR_RANK = 6, "the rank is not valid"
    ERR_ROOT = 7, "the root is not valid"
    ERR_TRUNCATE = 8, "the message is longer than the buffer"
    ERR_GROUP = 9, "the group is not valid"
    ERR_OP = 10, "the operation is not valid, or not for this datatype"
    ERR_REQUEST = 11, "the request is not valid"
    ERR_TOPOLOGY = 12, "the communicator has no such topology"
    ERR_DIMS = 13, "the dimensions are not valid"
    ERR_ARG = 14, "an argument is not valid"
    ERR_UNKNOWN = 15, "unknown error"
    ERR_OTHER = 16, "another error"
    ERR_INTERN = 17, "an error inside MPI"
    ERR_IN_STATUS = 18, "the error is in the status"
    ERR_PENDING = 19, "the request is neither over nor in error"
    ERR_ACCESS = 20, "permission denied"
    ERR_AMODE = 21, "the mode of access is not valid"
    ERR_ASSERT = 22, "the assertion is not valid"
    ERR_BAD_FILE = 23, "the file name is not valid"
    ERR_BASE = 24, "the base address is not valid"
    ERR_CONVERSION = 25, "an error in the conversion of data"
    ERR_DISP = 26, "the displacement is not valid"
    ERR_DUP_DATAREP = 27, "the representation of data is defined already"
    ERR_FILE_EXISTS = 28, "the file exists"
    ERR_FILE_IN_USE = 29, "the file is in use"
    ERR_FILE = 30, "the file handle is not valid"
    ERR_INFO_KEY = 31, "the key of the info is too long, or empty"
    ERR_INFO_NOKEY = 32, "the info has no such key"
    ERR_INFO_VALUE = 33, "the value of the info is too long, or empty"
    ERR_INFO = 34, "the info is not valid"
    ERR_IO = 35, "an error of input or output"
    ERR_KEYVAL = 36, "the key of the attribute is not valid"
    ERR_LOCKTYPE = 37, "the kind of lock is not valid"
    ERR_NAME = 38, "the service name is not published"
    ERR_NO_MEM = 39, "no memory is left"
    ERR_NOT_SAME = 40, "the argument is not the same on all ranks"
    ERR_NO_SPACE = 41, "no space is left"
    ERR_NO_SUCH_FILE = 42, "there is no such file"
    ERR_PORT = 43, "the port name is not valid"
    ERR_QUOTA = 44, "the quota is exceeded"
    ERR_READ_ONLY = 45, "the file may only be read"
    ERR_RMA_ATTACH = 46, "the memory cannot be attached"
    ERR_RMA_CONFLICT = 47, "conflicting accesses of a window"
    ERR_RMA_FLAVOR = 48, "the window has the wrong flavor"
    ERR_RMA_RANGE = 49, "the memory is not part of the window"
    ERR_RMA_SHARED = 50, "the memory cannot be shared"
    ERR_RMA_SYNC = 51, "wrong synchronization of a window"
    ERR_SERVICE = 52, "the service name is not valid"
    ERR_SESSION = 53, "the session is not valid"
    ERR_SIZE = 54, "the size is not valid"
    ERR_SPAWN = 55, "processes cannot be spawned"
    ERR_UNSUPPORTED_DATAREP = 56, "the representation of data is not supported"
    ERR_UNSUPPORTED_OPERATION = 57, "the operation is not supported"
    ERR_VALUE_TOO_LARGE = 58, "the value is too large"
    ERR_WIN = 59, "the window is not valid"
    ERR_ERRHANDLER = 60, "the error handler is not valid"
    ERR_ABI = 61, "an error of the binary interface"
    ERR_REVOKED = 62, "the communicator is revoked"
    ERR_PROC_FAILED = 63, "a process has failed"
    ERR_PROC_FAILED_PENDING = 64, "a process has failed, and the request is not over"
    ERR_LASTCODE = 0x3FFFFFFF, "the largest predefined error code"


_LAST = ErrorClass.ERR_LASTCODE.value
_NUMBERS = frozenset(map(int, ErrorClass))
#: Codes that the program has added: code -> class, code -> text.
_classes = {}
_texts = {}


def _known(code):
    return code in _classes or code in _NUMBERS


def _next_code():
    return max(_classes, default=_LAST) + 1


def Get_error_class(errorcode):
    """The class of an error code.

    Raises
    ------
    Exception
        ERR_ARG, if there is no such code.
    """
    if errorcode in _classes:
        return _classes[errorcode]
    if errorcode not in _NUMBERS:
        raise Exception(ErrorClass.ERR_ARG)
    return errorcode


def Get_error_string(errorcode):
    """The text of an error code: the name of a predefined one and what it means. Raises as ``Get_error_class``."""
    if errorcode in _classes:
        return _texts.get(errorcode, "")
    if errorcode not in _NUMBERS:
        raise Exception(ErrorClass.ERR_ARG)
    member = ErrorClass(errorcode)
    return f"MPI_{member.name}: {member.text}"


def Add_error_class():
    """A new error class, which is a new error code as well."""
    code = _next_code()
    _classes[code] = code
    return code


def Add_error_code(errorclass):
    """A new error code of a class. Raises Exception (ERR_ARG) if there is no such class."""
    if not _known(errorclass):
        raise Exception(ErrorClass.ERR_ARG)
    code = _next_code()
    _classes[code] = Get_error_class(errorclass)
    return code


def Add_error_string(errorcode, string):
    """Gives a text to an error code that was added. Raises Exception (ERR_ARG) if it was not."""
    if errorcode not in _classes:
        raise Exception(ErrorClass.ERR_ARG)
    _texts[errorcode] = string


def _remove(code, what):
    if code not in _classes or (_classes[code] == code) is not (what == "class"):
        raise Exception(ErrorClass.ERR_ARG)
    if what == "class" and any(kind == code and other != code for other, kind in _classes.items()):
        raise Exception(ErrorClass.ERR_OTHER)
    if code in _texts:
        raise Exception(ErrorClass.ERR_OTHER)
    del _classes[code]


def Remove_error_class(errorclass):
    """Takes an error class back. Raises Exception: ERR_ARG if it was not added, ERR_OTHER if a code or text has it."""
    _remove(errorclass, "class")


def Remove_error_code(errorcode):
    """Takes an error code back. Raises as ``Remove_error_class``."""
    _remove(errorcode, "code")


def Remove_error_string(errorcode):
    """Takes the text of an error code back. Raises Exception (ERR_ARG) if it has none."""
    if _texts.pop(errorcode, None) is None:
        raise Exception(ErrorClass.ERR_ARG)


@total_ordering
class Exception(RuntimeError):
    """An error of MPI.

    Parameters
    ----------
    ierr : int
        The error code; it is what the exception compares as. A negative one is ERR_UNKNOWN.
    detail : str
        What is wrong; by default the text of the error code.
    """

    __module__ = "mpi4py.MPI"

    def __init__(self, ierr=0, detail=None, /):
        ierr = int(ierr)
        super().__init__(ErrorClass.ERR_UNKNOWN.value if ierr < 0 else ierr)
        self._detail = detail

    def __int__(self):
        return self.args[0]

    def __bool__(self):
        return self.args[0] != ErrorClass.SUCCESS

    def __hash__(self):
        return hash(self.args[0])

    def __eq__(self, other):
        return self.args[0] == (int(other) if isinstance(other, Exception) else other)

    def __lt__(self, other):
        return self.args[0] < int(other)

    def __repr__(self):
        return f"MPI.Exception({self.args[0]})"

    def __str__(self):
        text = self.Get_error_string()
        return f"{text.partition(':')[0]}: {self._detail}" if self._detail else text

    def Get_error_code(self):
        """The error code."""
        return self.args[0]

    def Get_error_class(self):
        """The class of the error code."""
        return Get_error_class(self.args[0])

    def Get_error_string(self):
        """The text of the error code."""
        return Get_error_string(self.args[0])

    error_code = property(Get_error_code)
    error_class = property(Get_error_class)
    error_string = property(Get_error_string)

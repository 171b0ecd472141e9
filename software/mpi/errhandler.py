"""Error handlers. Names are mpi4py's.

An error raises MPI.Exception, as mpi4py has it by default; a handler that ends the program instead is not there."""

from .exception import ErrorClass, Exception
from .handle import Handle

__all__ = ["ERRHANDLERS", "Errhandler", "WithErrhandler"]


class _Action:
    """What a handler does."""

    __slots__ = ("__weakref__", "constant")

    def __init__(self):
        self.constant = None


class Errhandler(Handle):
    """An error handler."""

    def Free(self):
        """Gives the handler back; the handle is null then, unless it is a constant."""
        if self.target is None:
            raise Exception(ErrorClass.ERR_ERRHANDLER)
        if self.constant is None:
            self.target = None


_NULL = Errhandler.nothing = Errhandler.constant_of("ERRHANDLER_NULL", None)
ERRHANDLERS = {"ERRHANDLER_NULL": _NULL} | {
    name: Errhandler.constant_of(name, _Action()) for name in ("ERRORS_RETURN", "ERRORS_ABORT", "ERRORS_ARE_FATAL")
}


class WithErrhandler:
    """The calls of a communicator that concern its handler."""

    __slots__ = ()

    def Get_errhandler(self):
        """The handler: ERRORS_RETURN."""
        return Errhandler.of(self.communicator.process and ERRHANDLERS["ERRORS_RETURN"].target)

    def Set_errhandler(self, errhandler):
        """Sets the handler. NotImplementedError for another one than ERRORS_RETURN."""
        self.communicator.of_caller()
        if not errhandler:
            raise Exception(ErrorClass.ERR_ARG, "the handler is null")
        if errhandler != ERRHANDLERS["ERRORS_RETURN"]:
            raise NotImplementedError("Set_errhandler: errors are exceptions, as with ERRORS_RETURN")

    def Call_errhandler(self, errorcode):
        """Calls the handler, which does nothing."""
        self.communicator.of_caller()

"""The module that a program imports as ``mpi4py.MPI``: everything under mpi4py's names.

A name of mpi4py that is missing here raises NotImplementedError with that name.
"""

# ruff: noqa: F401 - the names are for programs

from . import attributes, comm, constants, errhandler, exception, op, predefined
from .buffering import BSEND_OVERHEAD, BUFFER_AUTOMATIC, Attach_buffer, Detach_buffer, Flush_buffer, Iflush_buffer
from .comm import Cartcomm, Comm, Distgraphcomm, Graphcomm, Intercomm, Intracomm, Topocomm
from .constants import BOTTOM, IN_PLACE, UNWEIGHTED, WEIGHTS_EMPTY
from .datatype import Datatype
from .environment import (
    SUBVERSION,
    THREADS,
    VERSION,
    Aint_add,
    Aint_diff,
    Alloc_mem,
    Finalize,
    Free_mem,
    Get_address,
    Get_library_version,
    Get_processor_name,
    Get_version,
    Init,
    Init_thread,
    Is_finalized,
    Is_initialized,
    Is_thread_main,
    Pcontrol,
    Query_thread,
    Wtick,
    Wtime,
    get_vendor,
)
from .errhandler import Errhandler
from .exception import (
    Add_error_class,
    Add_error_code,
    Add_error_string,
    Exception,
    Get_error_class,
    Get_error_string,
    Remove_error_class,
    Remove_error_code,
    Remove_error_string,
)
from .group import GROUP_EMPTY, GROUP_NULL, Group
from .info import INFO_ENV, INFO_NULL, Info
from .matched import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from .memory import buffer
from .op import Op
from .pickling import Pickle, pickle
from .request import REQUEST_NULL, Grequest, Prequest, Request
from .status import Status
from .topology import Compute_dims

memory = buffer
ORDER_F = constants.ORDER_FORTRAN

#: Letters of texts, at most.
MAX_PROCESSOR_NAME = MAX_PORT_NAME = MAX_LIBRARY_VERSION_STRING = 256
MAX_DATAREP_STRING = 128
MAX_ERROR_STRING = MAX_PSET_NAME_LEN = MAX_STRINGTAG_LEN = 1024

globals().update(
    {name: value for name, value in vars(constants).items() if name in constants.__all__ and name.isupper()}
    | {f"COMBINER_{kind.name}": kind.value for kind in constants.Combiner}
    | {kind.name: kind.value for kind in exception.ErrorClass}
    | attributes.KEYVALS
    | comm.COMMS
    | comm.COMM_TYPES
    | errhandler.ERRHANDLERS
    | op.OPERATIONS
    | predefined.DATATYPES
    | THREADS
)

__all__ = [name for name in globals() if not name.startswith("_")]

#: Names of mpi4py that are missing here, or their beginnings.
_ABSENT = (
    *("BottomType", "BufferAutomaticType", "ERR_PROC_ABORTED", "InPlaceType"),
    *("Close_port", "DISP", "DISTRIBUTE_", "F_", "File", "FILE_NULL", "Get_abi_", "Get_hw_resource_info", "LOCK_"),
    *("Lookup_name", "MODE_", "Open_port", "Publish_name", "Register_datarep", "SEEK_", "Session", "SESSION_NULL"),
    *("Unpublish_name", "Win", "WIN_"),
)


class _NotThere(NotImplementedError, AttributeError):
    """A name of mpi4py that is missing here; ``hasattr`` is False."""


def __getattr__(name):
    if name.startswith(_ABSENT):
        raise _NotThere(f"MPI.{name} is not there: docs/mpi.md tells what is")
    raise AttributeError(f"module 'mpi4py.MPI' has no attribute {name!r}")

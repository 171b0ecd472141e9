"""Calls that belong to no object: begin and end, time, memory, what this MPI is. Names are mpi4py's."""

from importlib.metadata import PackageNotFoundError, version

from .exception import ErrorClass, Exception
from .info import INFO_NULL
from .memory import address_of, buffer, flat_memory
from .process import blocked, caller

__all__ = [
    "Aint_add",
    "Aint_diff",
    "Alloc_mem",
    "Finalize",
    "Free_mem",
    "Get_address",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Init",
    "Init_thread",
    "Is_finalized",
    "Is_initialized",
    "Is_thread_main",
    "Pcontrol",
    "Query_thread",
    "SUBVERSION",
    "THREADS",
    "VERSION",
    "Wtick",
    "Wtime",
    "get_vendor",
]

VERSION, SUBVERSION = 4, 1
#: Levels of threads of the host. A rank is one thread.
THREADS = {f"THREAD_{name}": level for level, name in enumerate(("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"))}
#: Key and value of an Info that ask ``Alloc_mem`` for data memory of the CAB.
_WHERE, _DATA_MEMORY = "nectar_memory", "cab"


def _release():
    try:
        return version("nectar-backplane")
    except PackageNotFoundError:  # run from its folder, not installed
        return "0.0.0"


# -- begin and end ---------------------------------------------------------------------------------------
def Init():
    """Begins MPI. Needed only after ``mpi4py.rc.initialize = False``."""
    process = caller()
    if Is_initialized():
        raise Exception(ErrorClass.ERR_OTHER, "MPI has begun already")
    process.initialized = True


def Init_thread(required=THREADS["THREAD_MULTIPLE"]):
    """As ``Init``; returns the level of threads that there is."""
    Init()
    return Query_thread()


def Finalize():
    """Ends MPI: returns when all messages have left and all ranks have called it."""
    process = caller()
    if process.finalized:
        raise Exception(ErrorClass.ERR_OTHER, "MPI has ended already")
    blocked(process.finalize())


def Is_initialized():
    """Whether MPI has begun."""
    return caller().has_mpi


def Is_finalized():
    """Whether MPI has ended."""
    return caller().finalized


def Query_thread():
    """THREAD_FUNNELED: the thread that runs the program makes the calls."""
    return THREADS["THREAD_FUNNELED"]


def Is_thread_main():
    """Whether the thread that calls is the one that runs the program."""
    caller()
    return True


# -- what this is ----------------------------------------------------------------------------------------
def Get_version():
    """Version and subversion of the standard."""
    return VERSION, SUBVERSION


def Get_library_version():
    """Name and version of this MPI."""
    return f"Nectar {_release()}"


def get_vendor():
    """Name of this MPI, and its version as three numbers."""
    return "Nectar", tuple(int(part) for part in _release().split(".")[:3])


def Get_processor_name():
    """Name of the CAB or the node that the rank runs on."""
    return caller().on.name


def Pcontrol(level):
    """Nothing: no profiler listens. Raises Exception (ERR_ARG) for another level than 0, 1, 2."""
    if not 0 <= level <= 2:
        raise Exception(ErrorClass.ERR_ARG, f"a level is 0, 1 or 2, not {level}")


# -- time ------------------------------------------------------------------------------------------------
def Wtime():
    """Seconds of simulated time since the CAB's reset, which is the same for all CABs."""
    return caller().on.now_us() / 1e6


def Wtick():
    """Seconds of a cycle of the CPU, in which ``Wtime`` counts."""
    return 1 / caller().on.door.cpu_hz


# -- memory ----------------------------------------------------------------------------------------------
def Alloc_mem(size, info=INFO_NULL):
    """Memory of ``size`` bytes, for ``Free_mem``: a ``buffer`` in Python's memory.

    With ``nectar_memory`` = ``cab`` in ``info`` it is a Buffer of Nectarine in the data memory of the rank's CAB, which
    ``Send`` and ``Recv`` take without any copy by the CPU."""
    process = caller()
    if info.get(_WHERE) == _DATA_MEMORY:
        task = process.task if process.carrier is None else process.carrier.task
        return task.buffer(size, memory="cab")
    return buffer.allocate(size)


def Free_mem(mem):
    """Gives memory of ``Alloc_mem`` back."""
    caller()
    if isinstance(mem, buffer):
        mem.release()
    else:
        mem.free()


def Get_address(location):
    """Address of the first byte of a buffer, for displacements from BOTTOM."""
    return address_of(flat_memory(location)[0])


def Aint_add(base, disp):
    """The address ``disp`` bytes behind ``base``."""
    return base + disp


def Aint_diff(addr1, addr2):
    """The bytes from ``addr2`` to ``addr1``."""
    return addr1 - addr2

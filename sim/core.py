"""The functions of the C++ core (api.cpp, fst.cpp), called by ctypes: what they take and return."""

import ctypes

from .numbers import FaultWord, Word

__all__ = ["Costs", "FaultWords", "load"]

#: What goes in and out with a run: int64 for each Word.
_Exchange = ctypes.c_int64 * len(Word)
#: A fault: int64 for each FaultWord.
FaultWords = ctypes.c_int64 * len(FaultWord)
#: What evaluations have cost: float64 in ns, the sum, and for 2, 4, 8, 16 threads.
Costs = ctypes.c_double * 5

#: Name → type of the result, types of the arguments.
_FUNCTIONS = {
    "new": (ctypes.c_void_p, ctypes.c_int),
    "free": (None, ctypes.c_void_p),
    "add": (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int,
    ),
    "connect": (ctypes.c_int, ctypes.c_void_p, *[ctypes.c_int] * 4, ctypes.c_int64, ctypes.c_int64),
    "begin": (None, ctypes.c_void_p, ctypes.c_uint),
    "use_threads": (None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_double),
    "threads": (ctypes.c_size_t, ctypes.c_void_p),
    "costs": (ctypes.POINTER(Costs), ctypes.c_void_p),
    "cost": (ctypes.c_double, ctypes.c_void_p, ctypes.c_int),
    "exchange": (ctypes.POINTER(_Exchange), ctypes.c_void_p),
    "words": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    "data": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    "start": (None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    "halt": (None, ctypes.c_void_p, ctypes.c_int),
    "attach": (None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t),
    "wake": (None, ctypes.c_void_p, ctypes.c_int),
    "stop": (None, ctypes.c_void_p, ctypes.c_int),
    "fault": (ctypes.c_int, ctypes.c_void_p, *[ctypes.c_int] * 3, FaultWords),
    "fault_end": (None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64),
    "fault_hits": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    "fault_symbols": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    "reset": (None, ctypes.c_void_p, ctypes.c_int),
    "inject": (ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    "pass": (None, ctypes.c_void_p, ctypes.c_int64),
    "run": (ctypes.c_int, ctypes.c_void_p),
    "seconds": (ctypes.c_double, ctypes.c_void_p),
    "evaluated": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int),
    "skipped": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int),
    "napped": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int),
    "symbols": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int),
    "records": (ctypes.c_void_p, ctypes.c_void_p),
    "records_size": (ctypes.c_size_t, ctypes.c_void_p),
    "records_clear": (None, ctypes.c_void_p),
    "records_close": (None, ctypes.c_void_p),
    "records_dropped": (ctypes.c_int64, ctypes.c_void_p),
    "trace": (ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64),
    "trace_full": (ctypes.c_int64, ctypes.c_void_p),
    "trace_first": (ctypes.c_int64, ctypes.c_void_p),
    "trace_close": (ctypes.c_int, ctypes.c_void_p),
    "value_names": (ctypes.c_char_p, ctypes.c_char_p),
    "vcd_to_fst": (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p),
}


def load(path):
    """The library at ``path``, with its functions typed: each is called ``nectar_`` and its name here."""
    loaded = ctypes.CDLL(str(path))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(loaded, f"nectar_{name}")
        function.restype = result
        function.argtypes = arguments
    return loaded

"""The package ``mpi4py`` that a program finds: its version, its options, and the module ``MPI``."""

import importlib
import os
import types

__all__ = ["VERSION", "packages", "rc"]

#: The mpi4py whose calls these are.
VERSION = "4.1.2"


class Rc:
    """Options of mpi4py. Only ``initialize``, ``finalize`` and ``irecv_bufsz`` have an effect here."""

    __module__ = "mpi4py"

    def __init__(self):
        vars(self).update(
            initialize=True,
            threads=True,
            thread_level="multiple",
            finalize=None,
            fast_reduce=True,
            recv_mprobe=True,
            irecv_bufsz=32768,
            errors="exception",
        )

    def __setattr__(self, name, value):
        if not hasattr(self, name):
            raise TypeError(f"object has no attribute {name!r}")
        super().__setattr__(name, value)

    def __call__(self, **options):
        """Sets options."""
        for name in options:
            if not hasattr(self, name):
                raise TypeError(f"unexpected argument {name!r}")
        vars(self).update(options)

    def __repr__(self):
        return "<mpi4py.rc>"


def packages(set_abort_status):
    """The modules of a rank, by name. ``set_abort_status(status)``: of ``mpi4py.run``."""
    package = types.ModuleType("mpi4py", "MPI on Nectar, with the calls of mpi4py.")
    package.__version__ = VERSION
    package.__path__ = [os.path.join(os.path.dirname(__file__), "mpi4py")]  # nothing is there: all modules are below
    package.__all__ = ["MPI"]
    package.rc = Rc()
    package.MPI = importlib.import_module(".MPI", __package__)
    run = package.run = types.ModuleType("mpi4py.run")
    run.set_abort_status = set_abort_status
    package.get_include = _absent("get_include")
    package.get_config = dict
    package.profile = _absent("profile")
    return {"mpi4py": package, "mpi4py.rc": package.rc, "mpi4py.MPI": package.MPI, "mpi4py.run": run}


def _absent(name):
    def call(*args, **options):
        raise NotImplementedError(f"mpi4py.{name}")

    call.__name__ = name
    return call


def rc(process):
    """The options of a Process."""
    return process.python.modules["mpi4py"].rc

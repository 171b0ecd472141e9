"""Methods of mpi4py's classes that are missing here: a call raises NotImplementedError with the method's name."""

__all__ = ["name_absent"]


def _absent(name):
    def call(*args, **options):
        raise NotImplementedError(f"{name} is not there: docs/mpi.md tells what is")

    call.__name__ = name.rpartition(".")[2]
    call.__doc__ = "Not there: NotImplementedError."
    return call


def name_absent(kind, names, of_class=()):
    """Gives the class ``kind`` these methods, and ``of_class`` as methods of the class itself."""
    for name in names:
        setattr(kind, name, _absent(f"{kind.__name__}.{name}"))
    for name in of_class:
        setattr(kind, name, staticmethod(_absent(f"{kind.__name__}.{name}")))

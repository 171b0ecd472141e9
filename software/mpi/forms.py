"""The three forms of a collective call with buffers: blocking, non-blocking and persistent."""

from functools import update_wrapper

from .info import INFO_NULL

__all__ = ["collective"]


class collective:
    """Decorator of a method that prepares a collective call: it makes the three calls of that name.

    The method reads the arguments. It returns an async function of an Exchange, which takes the data from the buffers,
    does the operation and stores what comes; and the Terms of the call. ``Name`` runs the function, ``Iname`` begins it
    and returns a Request, and ``Name_init`` returns a persistent Request that runs it each time it is started.
    """

    def __init__(self, prepare):
        self._prepare = prepare

    def __set_name__(self, owner, name):
        prepare = self._prepare

        def blocking(self, *args, **options):
            self._collective(name, *prepare(self, *args, **options))

        def begun(self, *args, **options):
            return self._icollective(f"I{name.lower()}", *prepare(self, *args, **options))

        def persistent(self, *args, info=INFO_NULL, **options):
            return self._persistent(f"{name}_init", *prepare(self, *args, **options))

        for form, made in ((name, blocking), (f"I{name.lower()}", begun), (f"{name}_init", persistent)):
            update_wrapper(made, prepare)
            made.__name__ = form
            made.__qualname__ = f"{owner.__qualname__}.{form}"
            setattr(owner, form, made)

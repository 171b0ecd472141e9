"""Plain functions as tasks: a call that a coroutine awaits blocks in a plain function.

A plain function runs in a greenlet of its own inside the coroutine of its thread. A blocking call switches to that
coroutine with what is to be awaited, and is switched back to with the result or the exception. The kernel knows nothing
of it, so simulated times are those of a coroutine that awaits the same calls.
"""

import functools
import inspect

from greenlet import getcurrent, greenlet

from ..errors import ProgramError

__all__ = ["BlockingContext", "Placed", "as_coroutine", "blocking", "in_plain_task", "is_call", "stack", "wait"]


class _Task(greenlet):
    """The greenlet of a plain function that runs as a task. ``give(awaitable)`` has its thread await something."""

    __slots__ = ("give",)

    def __init__(self, function):
        super().__init__(function)
        self.belong()

    def belong(self):
        """What runs now is the coroutine of its thread."""
        self.parent = current = getcurrent()
        self.give = current.switch


class Placed:
    """A plain function whose code runs in a place: ``place.enter()`` is called before each of its turns, and
    ``place.leave()`` behind it, whatever becomes of it. What it awaits runs outside."""

    def __init__(self, function, place):
        functools.update_wrapper(self, function)
        self.function = function
        self.place = place

    def __call__(self, *args):
        return self.function(*args)

    def turn(self, step, *args):
        """One turn of the function: ``step(*args)``."""
        self.place.enter()
        try:
            return step(*args)
        finally:
            self.place.leave()


def blocking(function):
    """Decorator of an async function that tasks call: in a plain function the call blocks and gives the result."""

    @functools.wraps(function)
    def made(*args, **options):
        coroutine = function(*args, **options)
        task = getcurrent()
        return task.give(coroutine) if type(task) is _Task else coroutine

    return made


def is_call(function):
    """Whether ``function`` is an async function, or one that ``blocking`` has decorated."""
    return inspect.iscoroutinefunction(inspect.unwrap(function))


def in_plain_task():
    """Whether the code that runs now is that of a plain function that runs as a task."""
    return type(getcurrent()) is _Task


def wait(awaitable):
    """What ``awaitable`` gives: ``await`` for plain functions, as of an async function of the program.

    Calls of a CAB or a node need no ``wait``: they block by themselves.

    Raises
    ------
    ProgramError
        If no plain function runs as a task here: in an async function, in ``main``, before the run.
    """
    task = getcurrent()
    if type(task) is not _Task:
        if hasattr(awaitable, "close"):
            awaitable.close()
        raise ProgramError(
            "a call can block only in a plain function that runs as a task: "
            "start it with system.spawn; in an async function it is 'await'"
        )
    return task.give(awaitable)


class BlockingContext:
    """Base class of asynchronous context managers that plain functions use by ``with``."""

    __slots__ = ()

    def __enter__(self):
        return wait(self.__aenter__())

    def __exit__(self, *error):
        return wait(self.__aexit__(*error))


def as_coroutine(function, *args):
    """The coroutine that runs ``function(*args)``, async or plain.

    Raises
    ------
    TypeError
        If it cannot be called with these arguments.
    """
    if inspect.iscoroutinefunction(function):
        return function(*args)
    try:
        inspect.signature(function).bind(*args)
    except ValueError:
        pass  # a function of C that tells nothing of its parameters
    except TypeError as error:
        raise TypeError(f"{getattr(function, '__name__', function)}(): {error}") from None
    return _run(function, args)


async def _run(function, args):
    task = _Task(function)
    go_on, throw = task.switch, task.throw
    if isinstance(function, Placed):
        go_on, throw = functools.partial(function.turn, go_on), functools.partial(function.turn, throw)
    wanted = go_on(*args)
    while not task.dead:
        try:
            value = await wanted
        except BaseException as error:
            task.belong()
            wanted = throw(error)
        else:
            if getcurrent() is not task.parent:
                task.belong()
            wanted = go_on(value)
    # A lambda, or an object, that has called an async function.
    return await wanted if inspect.isawaitable(wanted) else wanted


def stack(coroutine):
    """The frames of a suspended coroutine, the outermost first, those of plain functions among them; and what the
    innermost awaits."""
    frames = []
    while hasattr(coroutine, "cr_await"):
        frame = getattr(coroutine, "cr_frame", None)  # a Scope has none
        if frame is not None:
            frames.append(frame)
            if frame.f_code is _run.__code__ and (inner := frame.f_locals["task"].gr_frame) is not None:
                plain = []
                while inner is not None:
                    plain.append(inner)
                    inner = inner.f_back
                frames += reversed(plain)
        coroutine = coroutine.cr_await
    return frames, coroutine

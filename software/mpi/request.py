"""Requests: operations under way, persistent ones, and those that a program makes itself. Names are mpi4py's."""

import sys
import traceback

from .constants import UNDEFINED
from .exception import ErrorClass, Exception
from .handle import Handle
from .pending import Pending, Persistent
from .process import blocked, caller
from .status import Status

__all__ = ["Grequest", "Prequest", "REQUEST_NULL", "Request"]


def _empty(status):
    if status is not None:
        status.fill()


def _seen(request, status=None):
    """The end of an operation has been seen: its request becomes null, unless it is persistent. Returns the object of a
    lower-case call."""
    pending = request.target
    if status is not None:
        pending.fill(status)
    found = pending.take()
    pending.end()
    if not pending.persistent:
        request.target = None
    return found


def _active(requests):
    """(index, request) of those whose operation is under way."""
    return [(index, each) for index, each in enumerate(requests) if each.target is not None and each.target.active]


async def _charged(process, action=None):
    """A call; ``action``: what it does, an async function."""
    process.spend()
    if action is not None:
        await action()


async def _until(process, pendings, enough):
    """Waits until so many of the operations could be finished without a wait; finishes none."""
    process.spend()
    process.kernel.check_pending()
    words = pendings[0] if len(pendings) == 1 else f"one of {len(pendings)} requests, first {pendings[0]}"
    await process.task.inbox.wait(words, lambda: sum(each.ready for each in pendings) >= enough)


async def _look(process):
    """Lets time pass in a test: what would bring an operation to its end has its turn."""
    process.spend()
    await process.kernel.pause()


def _wait(requests, enough=1):
    """Waits for ``enough`` of the active requests; returns (index, request) of those that are over."""
    process, active = caller(), _active(requests)
    if active:
        blocked(_until(process, [each.target for _, each in active], min(enough, len(active))))
    return _over(active)


def _test(requests):
    """(index, request) of the active requests, and of those that are over."""
    process, active = caller(), _active(requests)
    if active and not all(each.target.ready for _, each in active):
        blocked(_look(process))
    return active, _over(active)


def _over(active):
    return [(index, each) for index, each in active if each.target.ready]


def _finish(request, status=None):
    """Finishes an operation that is over, and returns its object. Raises its error; its end has been seen then."""
    pending = request.target
    try:
        blocked(pending.finish())
    except Exception as error:
        _seen(request, status)
        if status is not None:
            status.error = error.Get_error_code()
        raise
    return _seen(request, status)


def _finish_all(requests, statuses=None, indices=None):
    """Finishes the operations of all these requests; returns their objects. A list of statuses is filled."""
    indices = range(len(requests)) if indices is None else indices
    made = [Status() for _ in indices]
    objects, first = [], None
    for index, status in zip(indices, made, strict=True):
        request = requests[index]
        if request.target is None or not request.target.active:
            objects.append(None)
            continue
        try:
            objects.append(_finish(request, status))
        except Exception as error:
            objects.append(None)
            first = first or error
    _tell(statuses, made)
    if first is not None:
        raise first
    return objects


def _tell(statuses, made):
    """Fills a program's list of statuses, which grows or shrinks to what there is."""
    if statuses is None:
        return
    for given, status in zip(statuses, made, strict=False):
        Status.__setstate__(given, status.__getstate__())
    if isinstance(statuses, list):
        statuses[len(made) :] = []
        statuses += made[len(statuses) :]


def _look_at(requests, statuses=None):
    """Fills statuses of operations that are over, whose end is not seen by that."""
    made = [Status() for _ in requests]
    for request, status in zip(requests, made, strict=True):
        if request.target is not None and request.target.active:
            blocked(request.target.finish())
            request.target.fill(status)
    _tell(statuses, made)


class Request(Handle):
    """An operation under way. A null request is one that is over."""

    def __new__(cls, other=None):
        self = super().__new__(cls, other)
        if not isinstance(other, cls) and other and issubclass(cls, (Prequest, Grequest)):
            raise TypeError(f"{cls.__name__} is not made of a {type(other).__name__}")
        return self

    # -- one -----------------------------------------------------------------------------------------
    def Wait(self, status=None):
        """Waits until it is over."""
        self.wait(status)
        return True

    def wait(self, status=None):
        """Waits until it is over; returns the object of a lower-case receive."""
        _empty(status)
        for _, request in _wait([self]):
            return _finish(request, status)
        return None

    def Test(self, status=None):
        """Whether it is over."""
        return self.test(status)[0]

    def test(self, status=None):
        """Whether it is over, and the object of a lower-case receive."""
        active, over = _test([self])
        if over:
            return True, _finish(self, status)
        if not active:
            _empty(status)
        return not active, None

    def Get_status(self, status=None):
        """Whether it is over; the request stays as it is."""
        active, over = _test([self])
        if over and self.target is not None:
            blocked(self.target.finish())
            if status is not None:
                self.target.fill(status)
        elif not active:
            _empty(status)
        return bool(over or not active)

    get_status = Get_status

    # -- any -----------------------------------------------------------------------------------------
    @classmethod
    def Waitany(cls, requests, status=None):
        """Waits until one is over; returns its index, UNDEFINED if none is under way."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def waitany(cls, requests, status=None):
        """As ``Waitany``; returns index and object."""
        for index, request in _wait(requests):
            return index, _finish(request, status)
        _empty(status)
        return UNDEFINED, None

    @classmethod
    def Testany(cls, requests, status=None):
        """Index of one that is over, and whether there is one; UNDEFINED, True if none is under way."""
        return cls.testany(requests, status)[:2]

    @classmethod
    def testany(cls, requests, status=None):
        """As ``Testany``; returns index, flag and object."""
        active, over = _test(requests)
        for index, request in over:
            return index, True, _finish(request, status)
        if not active:
            _empty(status)
        return UNDEFINED, not active, None

    @classmethod
    def Get_status_any(cls, requests, status=None):
        """As ``Testany``; the requests stay as they are."""
        active, over = _test(requests)
        for index, request in over:
            return index, request.Get_status(status)
        if not active:
            _empty(status)
        return UNDEFINED, not active

    get_status_any = Get_status_any

    # -- all -----------------------------------------------------------------------------------------
    @classmethod
    def Waitall(cls, requests, statuses=None):
        """Waits until all are over."""
        cls.waitall(requests, statuses)
        return True

    @classmethod
    def waitall(cls, requests, statuses=None):
        """As ``Waitall``; returns a list of the objects."""
        requests = list(requests)
        _wait(requests, len(requests))
        return _finish_all(requests, statuses)

    @classmethod
    def Testall(cls, requests, statuses=None):
        """Whether all are over; otherwise none is touched."""
        return cls.testall(requests, statuses)[0]

    @classmethod
    def testall(cls, requests, statuses=None):
        """As ``Testall``; returns flag and list of objects."""
        requests = list(requests)
        active, over = _test(requests)
        if len(over) < len(active):
            return False, None
        return True, _finish_all(requests, statuses)

    @classmethod
    def Get_status_all(cls, requests, statuses=None):
        """Whether all are over; the requests stay as they are."""
        requests = list(requests)
        active, over = _test(requests)
        if len(over) == len(active):
            _look_at(requests, statuses)
        return len(over) == len(active)

    get_status_all = Get_status_all

    # -- some ----------------------------------------------------------------------------------------
    @classmethod
    def Waitsome(cls, requests, statuses=None):
        """Waits until one is over; returns a list of the indices of all that are over, None if none is under way."""
        return cls.waitsome(requests, statuses)[0]

    @classmethod
    def waitsome(cls, requests, statuses=None):
        """As ``Waitsome``; returns a list of indices and one of objects."""
        requests = list(requests)
        indices = [index for index, _ in _wait(requests)]
        if not indices:
            return None, None
        return indices, _finish_all(requests, statuses, indices)

    @classmethod
    def Testsome(cls, requests, statuses=None):
        """A list of the indices of all that are over, None if none is under way."""
        return cls.testsome(requests, statuses)[0]

    @classmethod
    def testsome(cls, requests, statuses=None):
        """As ``Testsome``; returns a list of indices and one of objects."""
        requests = list(requests)
        active, over = _test(requests)
        if not active:
            return None, None
        indices = [index for index, _ in over]
        return indices, _finish_all(requests, statuses, indices)

    @classmethod
    def Get_status_some(cls, requests, statuses=None):
        """As ``Testsome``; the requests stay as they are."""
        requests = list(requests)
        active, over = _test(requests)
        if not active:
            return None
        _look_at([request for _, request in over], statuses)
        return [index for index, _ in over]

    get_status_some = Get_status_some

    # -- its end -------------------------------------------------------------------------------------
    def Cancel(self):
        """Cancels the operation if that is possible still; ``Is_cancelled`` of the status tells."""
        if self.target is None:
            raise Exception(ErrorClass.ERR_REQUEST, "the request is null")
        blocked(_charged(caller(), self.target.cancel))

    cancel = Cancel

    def Free(self):
        """Forgets the request; the operation goes on."""
        if self.target is None:
            raise Exception(ErrorClass.ERR_REQUEST, "the request is null")
        blocked(_charged(caller()))
        self.target.free()
        self.target = None


class Prequest(Request):
    """A request whose operation can be started again and again."""

    def Start(self):
        """Starts the operation."""
        self.Startall([self])

    @classmethod
    def Startall(cls, requests):
        """Starts several operations."""
        blocked(_charged(caller()))
        for request in requests:
            if not isinstance(request.target, Persistent):
                raise Exception(ErrorClass.ERR_REQUEST, "only a persistent request can be started")
            blocked(request.target.start())

    def Pready(self, partition):
        """Not there: NotImplementedError."""
        raise NotImplementedError("Pready: partitioned communication is not there")

    def Pready_range(self, partition_low, partition_high):
        """Not there: NotImplementedError."""
        raise NotImplementedError("Pready_range: partitioned communication is not there")

    def Pready_list(self, partitions):
        """Not there: NotImplementedError."""
        raise NotImplementedError("Pready_list: partitioned communication is not there")

    def Parrived(self, partition):
        """Not there: NotImplementedError."""
        raise NotImplementedError("Parrived: partitioned communication is not there")


class _Made(Pending):
    """An operation of the program's own."""

    def __init__(self, process, query, free, cancel, args, kargs):
        super().__init__(process)
        self.ready = False
        self.result = None
        self._status = Status()
        self._functions = {"query": query, "free": free, "cancel": cancel}
        self._args, self._kargs = args, kargs

    def __str__(self):
        return "a Grequest"

    def _call(self, name, *first):
        function = self._functions[name]
        if function is None:
            return
        try:
            function(*first, *self._args, **self._kargs)
        except BaseException as error:
            traceback.print_exc(file=sys.stderr)
            code = error.Get_error_code() if isinstance(error, Exception) else ErrorClass.ERR_OTHER
            raise Exception(code, f"the {name} function of a Grequest has raised {type(error).__name__}") from error

    async def finish(self):
        """See Pending."""
        self._status = Status()
        self._call("query", self._status)

    def fill(self, status):
        """See Pending."""
        Status.__setstate__(status, self._status.__getstate__())

    def take(self):
        """See Pending."""
        return self.result

    def end(self):
        """See Pending."""
        self._call("free")

    def free(self):
        """See Pending."""
        if self.ready:
            self._call("free")

    async def cancel(self):
        """See Pending."""
        self._call("cancel", self.ready)


class Grequest(Request):
    """A request of an operation that the program carries out itself."""

    @classmethod
    def Start(cls, query_fn=None, free_fn=None, cancel_fn=None, args=None, kargs=None):
        """A new request.

        ``query_fn(status, *args, **kargs)`` tells the status once the operation is over, ``free_fn(*args, **kargs)`` is
        called when its end has been seen, ``cancel_fn(completed, *args, **kargs)`` when it is to be cancelled."""
        return cls.of(_Made(caller(), query_fn, free_fn, cancel_fn, args or (), kargs or {}))

    def Complete(self):
        """The operation is over."""
        self.complete()

    def complete(self, obj=None):
        """The operation is over; ``wait`` gives ``obj``."""
        if not isinstance(self.target, _Made) or self.target.ready:
            raise Exception(ErrorClass.ERR_REQUEST, "only a Grequest that is under way can be completed")
        self.target.ready, self.target.result = True, obj
        self.target.process.task.inbox.changed()


REQUEST_NULL = Request.nothing = Request.constant_of("REQUEST_NULL", None)

"""Many independent jobs: on the cores of this machine, or on the workers of a Dask cluster.

``spread`` is the only function of the project that distributes work: sweeps, the night, mutants, place and route.
"""

import contextlib
import logging
import multiprocessing
import os
import queue
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from .extras import how_to_get
from .progress import Progress
from .sim.host import cores

__all__ = ["Ended", "SpreadError", "spread"]

#: Seconds after which a scheduler that does not answer is given up.
_ANSWER_S = 5
#: Seconds between two updates of the progress.
_PAUSE_S = 0.5


class SpreadError(Exception):
    """The jobs cannot go on, or one cannot be finished: no scheduler, no worker; the message is one line."""


@dataclass(frozen=True)
class Ended:
    """A job that has ended.

    ``number``: its place among the jobs, from 0 on. ``result``: what the function returned. ``error``: what it raised,
    or None; a SpreadError if the job has ended its process.
    """

    number: int
    result: object = None
    error: BaseException | None = None

    def value(self):
        """The result; raises the error."""
        if self.error is not None:
            raise self.error
        return self.result


def spread(function, jobs, *, scheduler=None, workers=None, prepare=None, progress=None, what="runs"):
    """Calls ``function`` with each of ``jobs`` and yields an Ended for each, in the order in which they end.

    Parameters
    ----------
    function : callable
        Stands in a module, under its name; other processes import it. Jobs and results can be pickled.
    jobs : iterable
    scheduler : str or None
        Address of a Dask scheduler, as ``tcp://host:8786``. A job whose worker ends goes to another worker. None: this
        machine.
    workers : int or None
        Processes on this machine; by default one for each core. 0: this process does the jobs, one after the other, and
        no progress is told.
    prepare : callable or None
        Called without arguments before the first job: here, or on each worker of the cluster. What it raises ends all.
    progress : Progress or None
        Told how many jobs have ended.
    what : str
        What the jobs are called there.

    When the caller stops early, by an exception or by closing the generator, the processes on this machine are ended
    with everything that they have started. A worker of a cluster finishes the job that it has begun.

    Raises SpreadError.
    """
    jobs = list(jobs)
    if not jobs:
        return
    if scheduler is None and prepare is not None:
        prepare()
    if scheduler is None and workers == 0:
        yield from _here(function, jobs)
        return
    progress = progress or Progress()
    if scheduler is None:
        ended = _on_cores(function, jobs, workers or cores(), progress)
    else:
        ended = _on_cluster(function, jobs, scheduler, prepare, progress)
    try:
        with contextlib.closing(ended):
            yield from progress.each(what, len(jobs), ended)
    finally:
        progress.clear()


def _here(function, jobs):
    for number, job in enumerate(jobs):
        try:
            yield Ended(number, function(job))
        except Exception as error:
            yield Ended(number, error=error)


# -- processes of this machine -----------------------------------------------------------------------------
class _Worker:
    """A pool of one process: it is known which job has ended its process. The process leads a session of its own, so
    that Ctrl-C does not reach it, and is ended together with what it has started."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self._held, leash = context.Pipe()
        self._pool = ProcessPoolExecutor(1, context, _begin, (leash,))

    def submit(self, function, job):
        """The Future of the job."""
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until ``_begin``: it may start now
        try:
            return self._pool.submit(function, job)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def end(self):
        """Ends the process, whatever it does."""
        self._held.close()
        self._pool.shutdown(cancel_futures=True)


def _begin(leash):
    """Begins a worker's process, which ends with its session when the other end of ``leash`` is closed."""
    os.setsid()
    # A Ctrl-C that came before was meant for the session that this process has left: what is ignored waits no longer.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, handler)

    def held():
        with contextlib.suppress(EOFError, OSError):
            leash.recv()
        os.killpg(0, signal.SIGTERM)

    threading.Thread(target=held, daemon=True).start()


def _on_cores(function, jobs, count, progress):
    waiting, running = deque(enumerate(jobs)), {}
    idle = [_Worker() for _ in range(min(count, len(jobs)))]
    try:
        while waiting or running:
            while waiting and idle:
                worker, (number, job) = idle.pop(), waiting.popleft()
                running[worker.submit(function, job)] = number, worker
            progress.show()
            done, _ = wait(running, timeout=_PAUSE_S, return_when=FIRST_COMPLETED)
            for future in done:
                number, worker = running.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    worker.end()
                    worker, error = _Worker(), SpreadError("the process of this job was ended")
                idle.append(worker)
                yield Ended(number, None if error is not None else future.result(), error)
    finally:
        for worker in [*idle, *(worker for _, worker in running.values())]:
            worker.end()


# -- a cluster ---------------------------------------------------------------------------------------------
def _on_cluster(function, jobs, scheduler, prepare, progress):
    client = _client(scheduler)
    try:
        if prepare is not None:
            addresses = _addresses(client, scheduler)
            checks = [
                client.submit(prepare, workers=[address], allow_other_workers=False, pure=False)
                for address in addresses
            ]
            for ended in _ends(client, scheduler, checks, progress):
                if ended.error is not None:
                    raise SpreadError(f"worker {addresses[ended.number]}: {_first_line(ended.error)}")
        yield from _ends(client, scheduler, client.map(function, jobs, pure=False), progress)
    finally:
        with contextlib.suppress(Exception):  # the scheduler has gone
            client.close(timeout=2)


def _client(scheduler):
    """The connection to the scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise SpreadError(
            f"a scheduler needs Dask, whose package 'distributed' is not installed; {how_to_get('cluster')}"
        ) from None
    for name in ("distributed", "distributed.client"):  # what it has to say is an error here, in one line
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return Client(scheduler, timeout=_ANSWER_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SpreadError(
            f"no Dask scheduler answers at {scheduler}; 'dask scheduler' starts one and prints its address"
        ) from error


def _addresses(client, scheduler):
    """Addresses of the workers there."""
    addresses = list(client.scheduler_info(n_workers=-1)["workers"])
    if not addresses:
        raise SpreadError(f"{scheduler} has no worker; 'dask worker {scheduler}' starts one")
    return addresses


def _ends(client, scheduler, futures, progress):
    """Yields an Ended for each of ``futures``; what has been yielded, the cluster forgets."""
    ended = queue.SimpleQueue()
    left = {}
    for number, future in enumerate(futures):
        left[future.key] = number, future
        future.add_done_callback(ended.put)
    del futures, future
    while left:
        progress.show()
        try:
            key = ended.get(timeout=_PAUSE_S).key
        except queue.Empty:
            key = None
        if client.status != "running":
            raise SpreadError(f"the scheduler at {scheduler} has gone")
        if key is None:
            continue
        number, future = left.pop(key)
        if future.cancelled():
            raise SpreadError(f"the scheduler at {scheduler} has gone")
        error = future.exception()
        yield Ended(number, None if error is not None else future.result(), error)


def _first_line(error):
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__

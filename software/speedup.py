"""How much faster a program gets on more CABs: one problem on the first 1, 2, 4, … CABs of a system, and a table::

    scaling = Scaling(system, "sum", counts_of(system, options.cabs))
    async for answers in scaling.run(add_up, alone, 1000):
        ...  # compare the answers with the sequential one

``add_up(task, team, 1000)`` is a task of Nectarine, async or plain. It measures itself by a ``Meter`` and returns
(meter, answer)."""

import hashlib
from dataclasses import dataclass

from .errors import ProgramError
from .kernel.plain import blocking
from .nectarine import Application

__all__ = ["COUNTS", "Meter", "Measured", "Scaling", "Team", "counts_of"]

#: Numbers of CABs that are tried, as far as the system has them.
COUNTS = (1, 2, 4, 8, 16)
_HEAD = "CABs     time, ms  speed-up  ideal  communication"


class Meter:
    """What a task takes, and how much of it it computes.

    Members
    -------
    begin_us, end_us : float
        Simulated times of ``start`` and ``stop``, microseconds.
    computing_us : float
        What ``compute`` has charged, microseconds.
    """

    __slots__ = ("_cab", "begin_us", "end_us", "computing_us")

    def __init__(self, cab):
        self._cab = cab
        self.begin_us = self.end_us = self.computing_us = 0.0

    @blocking
    async def start(self):
        """The measured part begins."""
        self.begin_us = await self._cab.now_us()

    @blocking
    async def stop(self):
        """The measured part ends."""
        self.end_us = await self._cab.now_us()

    def compute(self, work):
        """The CPU computes for as long as ``work`` takes (``arithmetic.Work``)."""
        self._cab.compute(work)
        self.computing_us += self._cab.compute_us(work)


@dataclass(frozen=True)
class Team:
    """The tasks of one run: ``names`` has one for each CAB, and ``index`` is the place of this task in it."""

    names: tuple[str, ...]
    index: int

    @property
    def size(self):
        """Tasks, which is CABs."""
        return len(self.names)

    def share(self, count):
        """The part of ``range(count)`` that falls to this task; the parts differ by one at most."""
        return self.share_of(self.index, count)

    def share_of(self, index, count):
        """The part of ``range(count)`` that falls to task ``index``."""
        return range(count * index // self.size, count * (index + 1) // self.size)


@dataclass(frozen=True)
class Measured:
    """One run. ``time_us``: from the first start to the last stop. ``computing_us``: the sum of all CABs."""

    cabs: int
    time_us: float
    computing_us: float

    @classmethod
    def of(cls, meters):
        """What the tasks of a run have measured, one on each CAB."""
        time = max(meter.end_us for meter in meters) - min(meter.begin_us for meter in meters)
        return cls(len(meters), time, sum(meter.computing_us for meter in meters))

    @property
    def communication(self):
        """The share of the CABs' time, 0 to 1, in which their tasks did not compute: they handled messages, or waited
        for them."""
        return 1 - self.computing_us / (self.cabs * self.time_us)

    def row(self, alone_us):
        """The line of the table. ``alone_us``: what the sequential computation takes on one CAB."""
        return "%4d %12.3f %9.2f %6d %12.1f %%" % (
            self.cabs,
            self.time_us / 1000,
            alone_us / self.time_us,
            self.cabs,
            100 * self.communication,
        )


def counts_of(system, wanted=None):
    """The numbers of CABs of ``--cabs``, as in ``1,2,4``: a list. None: those of COUNTS that the system has.

    Raises ProgramError for what is no such list, and for more CABs than the system has.
    """
    most = len(system.cabs)
    if wanted is None:
        return [count for count in COUNTS if count <= most]
    try:
        counts = list(dict.fromkeys(int(text) for text in wanted.split(",")))
    except ValueError:
        raise ProgramError(f"--cabs {wanted}: give numbers of CABs with commas between them, as in 1,2,4") from None
    for count in counts:
        if not 1 <= count <= most:
            raise ProgramError(f"--cabs {wanted}: give numbers from 1 to {most}, or a --topology with more CABs")
    return counts


class Scaling:
    """One problem, on several numbers of CABs one after the other.

    Parameters
    ----------
    system : System
    name : str
        Of the problem; its results are reported as ``name.time.N``, ``name.speedup.N``, ``name.communication.N``.
    counts : list of int
        How many CABs take part in each run: the first so many.

    Members
    -------
    runs : list of Measured
    """

    def __init__(self, system, name, counts):
        self.system = system
        self.name = name
        self.counts = counts
        self.runs = []
        self._application = Application(system)

    async def run(self, function, alone, *args):
        """For each number of CABs, ``function(task, team, *args)`` runs on each CAB and returns (Meter, answer).
        Yields the list of answers, in the order of the CABs; then prints the run's line of the table. The caller raises
        ProgramError for a wrong answer; its line is not printed then.

        ``alone``: the sequential computation on one CAB, a Work or microseconds. Raises ProgramError as
        ``Application.run``, and if a task has not returned: its CAB was stopped.
        """
        cabs = [cab.name for cab in self.system.cabs]
        alone_us = self.system.cabs[0].compute_us(alone)
        print(f"sequential: {alone_us / 1000:.3f} ms", _HEAD, sep="\n", flush=True)
        for turn, count in enumerate(self.counts):
            names = tuple(f"{self.name}.{turn}.{index}" for index in range(count))
            for index, name in enumerate(names):
                self._application.spawn(name, function, Team(names, index), *args, on=cabs[index])
            await self._application.run()
            meters, answers = zip(*(self._result(name) for name in names), strict=True)
            measured = Measured.of(meters)
            self.runs.append(measured)
            yield list(answers)
            print(measured.row(alone_us), flush=True)
            self.system.report(f"{self.name}.time.{count}", measured.time_us, "us")
            self.system.report(f"{self.name}.speedup.{count}", alone_us / measured.time_us)
            self.system.report(f"{self.name}.communication.{count}", 100 * measured.communication, "%")

    def answer(self, value):
        """In the loop's body: marks ``value`` as the answer of this run, for comparisons of machines (docs/compare.md).
        A digest of its text is reported as ``name.answer.N``."""
        count = self.runs[-1].cabs
        digest = hashlib.sha256(repr(value).encode()).hexdigest()[:16]
        self.system.report(f"{self.name}.answer.{count}", digest, answer=True)

    def _result(self, name):
        record = self._application.tasks[name]
        if record.result is None:
            raise ProgramError(f"task {name} on {record.cab} has no result: {record.end.value}")
        return record.result

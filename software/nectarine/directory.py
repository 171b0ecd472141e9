"""The tasks of an application: names, numbers, places, how they ended. Takes no simulated time: every CAB has been
given the same program."""

from enum import Enum

from ..errors import NoSuchTask, ProgramError
from .agent import AGENT

__all__ = ["Directory", "End", "Record"]


class End(Enum):
    """How a task has ended."""

    RETURNED = "its function has returned"
    EXIT = "it has called exit"
    ENDED = "it was ended by another task"
    FAULT = "a protected task has touched what is not its own"
    FAILED = "its function has raised an exception"
    STOPPED = "its CAB was stopped by a fault, or its node was stopped"


class Record:
    """A task, as all tasks know it.

    Members
    -------
    name : str
    number : int
        0, 1, 2, … in the order in which the application's tasks were made.
    cab : str
        Name of its CAB.
    on : str
        Name of the CAB or node that it runs on.
    place : (int, int)
        ID of its CAB, and ``number``.
    end : End or None
        How it has ended.
    status : int or None
        0 if it has returned, what it gave to ``exit``; None if it ended otherwise, or has not ended.
    result : object
        What its function has returned.
    unreceived : int
        Messages that it had not received when it ended.
    """

    __slots__ = (
        "name",
        "number",
        "cab",
        "on",
        "place",
        "function",
        "args",
        "end",
        "status",
        "result",
        "unreceived",
        "agent",
        "begun",
        "node_task",
        "protected",
    )

    def __init__(self, name, number, cab, cab_id, on, function, args):
        self.name = name
        self.number = number
        self.cab = cab
        self.on = on
        self.place = cab_id, number
        self.function = function
        self.args = args
        self.end = None
        self.status = None
        self.result = None
        self.unreceived = 0
        self.agent = None  # of the start of its CAB that has its thread
        self.begun = False  # its function has been called
        self.protected = False  # it runs in a protection domain of its own
        self.node_task = None  # NodeTask, if it runs on a node

    def __repr__(self):
        return f"<task {self.name}, number {self.number}, on {self.on}>"

    def finish(self, end, status=None, result=None):
        """It has ended, unless it is known to have."""
        if self.end is None:
            self.end, self.status, self.result = end, status, result


class Directory:
    """All tasks of an application, by name and in order."""

    __slots__ = ("_by_name", "_records")

    def __init__(self):
        self._by_name = {}
        self._records = []

    def __getitem__(self, name):
        """The Record of that name, or one itself. Raises NoSuchTask."""
        if isinstance(name, Record):
            return name
        record = self._by_name.get(name)
        if record is None:
            known = ", ".join(self._by_name) or "none yet"
            raise NoSuchTask(f"there is no task {name!r}; there are: {known}")
        return record

    def __iter__(self):
        return iter(self._records)

    def __len__(self):
        return len(self._records)

    def __contains__(self, name):
        return name in self._by_name

    def add(self, name, cab, cab_id, on, function, args):
        """A new Record. ProgramError if the name is taken, or there are too many."""
        if name in self._by_name:
            raise ProgramError(f"there is a task {name!r} already: give this one another name")
        if len(self._records) == AGENT:
            raise ProgramError(f"an application has {AGENT} tasks at most")
        record = self._by_name[name] = Record(name, len(self._records), cab, cab_id, on, function, args)
        self._records.append(record)
        return record

    def at(self, place):
        """The Record of the task at (CAB ID, number)."""
        return self._records[place[1]]

    def name(self, number):
        """The name of the task of that number, as far as there is one."""
        return self._records[number].name if number < len(self._records) else f"number {number}"

    def expects(self, agent, number):
        """Whether the task of that number is on the CAB of ``agent``, or will be once it has heard of it."""
        if number >= len(self._records):
            return False
        record = self._records[number]
        return record.place[0] == agent.cab.id and record.end is None and record.agent in (None, agent)

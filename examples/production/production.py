"""Solves a puzzle by rules: a production system with a distributed RETE network, on 1, 2, 4, 8 and 16 CABs.

    nectar run examples/production/production.py [queens|missionaries] [--size N] [--cabs 1,2,4,8,16]

Follows the parallel production system of "The Design of Nectar" (1989), section 7: matching is performed in parallel
using a distributed RETE network, and tokens that propagate through the network are stored in a distributed task queue.

The task *control* decides which rule fires, and sends what changes to the *matchers*, one on each CAB. Each of them has
a part of the buckets of all nodes (network.py), by a hash, and a queue of activations: it takes one, makes the change
in the bucket, and puts what comes of it into the queue of the matcher that has the next bucket, or, if a rule matches,
into that of control. A cycle of matching is over when all credit is back: control gives some with each activation, an
activation divides its credit among those that come of it, and gives back what nobody has got. The sequence of firings
(agenda.py) is compared with that of one CPU without messages."""

import argparse

from agenda import Agenda, solve
from network import Memories, Network, Tally
from puzzles import missionaries, queens
from wire import Wire

from nectar.software import ProgramError
from nectar.software.nectarine import ANY
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"

#: Credit of a cycle.
CREDIT = 1 << 62
#: Bytes of activations for one matcher that are sent at once though there are others to be done.
FULL = 1000


class Post:
    """What a task sends to matchers and control: records that are gathered for each of them."""

    def __init__(self, task, wire, names):
        self._task = task
        self._wire = wire
        self._names = names
        self._gathered = {}  # name -> records
        self._sending = []

    def add(self, name, record):
        """A record for the task of that name."""
        records = self._gathered.setdefault(name, [])
        records.append(record)
        if sum(map(len, records)) >= FULL:
            self.send(name)

    def send(self, name):
        """Sends what has been gathered for a task."""
        records = self._gathered.pop(name)
        data = b"".join(records)
        self._task.cab.compute(self._wire.work(len(records), len(data)).microseconds)
        self._sending = [handle for handle in self._sending if not handle.test()]
        self._sending.append(self._task.isend(name, data))

    def flush(self):
        """Sends all that has been gathered."""
        for name in list(self._gathered):
            self.send(name)

    def receive(self):
        """The records of the next message; none if it is the last one."""
        data = self._task.receive().data
        records = self._wire.unpack(data)
        self._task.cab.compute(self._wire.work(len(records), len(data)).microseconds)
        return records

    def finish(self):
        """Waits until all has been received."""
        for handle in self._sending:
            handle.wait()


def matcher(task, meter, index, control, matchers, network, wire):
    """Has its buckets; ends when an empty message comes."""
    memories, post = Memories(network), Post(task, wire)
    queue, left = [], 0
    while True:
        if not queue:
            if left:
                post.add(control, wire.returned(left))
                left = 0
            post.flush()
            queue = post.receive()
            if not queue:
                break
        activation, credit = queue.pop()
        tally = Tally()
        found = memories.activate(activation, tally)
        meter.compute(tally.work)
        share = credit // len(found) if found else 0
        if found and not share:
            raise ProgramError("too many tokens come of one fact: there is no credit left for them")
        left += credit - share * len(found)
        for each in found:
            if network.nodes[each.node].rule is not None:
                post.add(control, wire.pack(each, share))
            elif (owner := wire.owner(each, len(matchers))) == index:
                queue.append((each, share))
            else:
                post.add(matchers[owner], wire.pack(each, share))
    post.finish()

"""Solves a puzzle by rules: a production system with a distributed RETE network, on 1, 2, 4, 8 and 16 CABs.

    nectar run examples/production/production.py [queens|missionaries] [--size N] [--cabs 1,2,4,8,16]

Follows the parallel production system of "The Design of Nectar" (1989), section 7: matching is performed in parallel
using a distributed RETE network, and tokens that propagate through the network are stored in a distributed task queue.

The task *control* decides which rule fires, and sends what changes to the *matchers*, one on each CAB. Each of them has
a part of the buckets of all nodes (network.py), by a hash, and a queue of activations: it takes one, makes the change
in the bucket, and puts what comes of it into the queue of the matcher that has the next bucket, or, if a rule matches,
into that of control. A cycle of matching is over when all credit is back: control gives some with each activation, an
activation divides its credit among those that come of it, and gives back what nobody has got. The sequence of firings
(agenda.py) is compared with that of one CPU without messages.

Prints for each number of CABs: simulated time, speed-up over one CPU without messages, the ideal, and the share of the
CABs' time in which they did not compute; then the solution, as facts."""

import argparse

from agenda import Agenda, solve
from network import Memories, Network, Tally
from puzzles import missionaries, queens
from wire import RECORD, Wire

from nectar.software import ProgramError
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"

#: The greatest size of each puzzle.
SIZES = {"queens": 8, "missionaries": 63}
#: Credit of a cycle.
CREDIT = 1 << 62
#: Bytes of a message at most: up to 100 it travels with its envelope.
FULL = 100
#: Microseconds, for each matcher that there is, without a message after which a matcher gives credit back: so control
#: does not get a message at each short idle time of each of them.
HOLD_US = 8


class Post:
    """What a task sends to matchers and control: records that are gathered for each of them."""

    def __init__(self, task, wire):
        self._task = task
        self._wire = wire
        self._gathered = {}  # name -> records
        self._sending = []

    def add(self, name, record):
        """A record for the task of that name."""
        records = self._gathered.setdefault(name, [])
        if records and sum(map(len, records)) + len(record) > FULL:
            self.send(name)
            records = self._gathered.setdefault(name, [])
        records.append(record)

    def send(self, name):
        """Sends what has been gathered for a task."""
        records = self._gathered.pop(name)
        data = b"".join(records)
        self._task.cab.compute(len(records) * RECORD)
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
        self._task.cab.compute(len(records) * RECORD)
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
            if not task.probe():
                post.flush()
                if left and not task.probe(timeout_us=HOLD_US * len(matchers)):
                    post.add(control, wire.returned(left))
                    post.flush()
                    left = 0
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


def control(task, meter, matchers, network, wire, facts):
    """Runs the production system. Returns its firings, and its facts at the end."""
    agenda, post = Agenda(network), Post(task, wire)
    changes = agenda.start(facts)
    while changes is not None:
        tally = Tally()
        found = [each for change in changes for each in network.changed(*change, tally)]
        meter.compute(tally.work)
        credit = CREDIT // max(1, len(found))
        out = 0
        for each in found:
            if network.nodes[each.node].rule is not None:
                agenda.note(each)
            else:
                post.add(matchers[wire.owner(each, len(matchers))], wire.pack(each, credit))
                out += credit
        post.flush()
        while out:
            for activation, credit in post.receive():
                out -= credit
                if activation:
                    agenda.note(activation)
        tally = Tally()
        changes = agenda.fire(tally)
        meter.compute(tally.work)
    post.finish()
    for name in matchers:
        task.send(name)
    return agenda.fired, sorted(agenda.facts.items())


def production(task, team, network, wire, facts):
    """The task of each CAB: a matcher; the first one's CAB has control, too. Returns what control does, or None."""
    meter = Meter(task.cab)
    matchers = (f"{team.names[0]}.matcher", *team.names[1:])
    arguments = meter, team.index, team.names[0], matchers, network, wire
    meter.start()
    result = None
    if team.index:
        matcher(task, *arguments)
    else:
        task.spawn(matchers[0], matcher, *arguments, on=task.cab.name)
        result = control(task, meter, matchers, network, wire, facts)
    meter.stop()
    return meter, result


def puzzle(name, size):
    """Rules and facts of a puzzle; the boat of the missionaries has 2 seats for up to 3 pairs, 4 for more."""
    if not 2 <= size <= SIZES[name]:
        raise ProgramError(f"--size {size}: {name} may have 2 to {SIZES[name]}")
    return queens(size) if name == "queens" else missionaries(size, 2 if size < 4 else 4)


async def main(system, arguments):
    """Solves the puzzle on each number of CABs, prints a table and the solution."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/production/production.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("puzzle", nargs="?", choices=SIZES, default="queens", help="default: queens")
    parser.add_argument(
        "--size", type=int, default=7, help="queens, or pairs of a missionary and a cannibal (default: 7)"
    )
    parser.add_argument("--cabs", metavar="N,N,…", help="numbers of CABs (default: 1,2,4,8,16)")
    options = parser.parse_args(arguments)
    rules, facts = puzzle(options.puzzle, options.size)
    network = Network(rules)
    expected, tally = solve(network, facts)
    scaling = Scaling(system, options.puzzle, counts_of(system, options.cabs))
    print(
        f"{options.puzzle} of size {options.size}: {len(rules)} rules, {len(facts)} first facts, "
        f"{len(expected.fired)} firings, {tally.activations} activations"
    )
    async for answers in scaling.run(production, tally.work, network, Wire(network, facts), facts):
        if answers[0] != (expected.fired, sorted(expected.facts.items())):
            raise ProgramError("other rules have fired than on one CPU")
        scaling.answer(answers[0])
    for fact in reversed(expected.facts.values()):
        if fact[0] in ("solution", "path"):
            print(*fact)

"""Places the cells of a netlist by simulated annealing with parallel moves, on 1, 2, 4, 8 and 16 CABs.

    nectar run examples/annealing/annealing.py [--rounds 40] [--moves 256] [--seed 1] [--cabs 1,2,4,8,16]

The netlist, ``arbiter.net``, is the arbiter of a HUB as yosys maps it. The protocol of the moves:

1. Every CAB has the whole placement, the same as all others.
2. In each round every place of the grid belongs to one CAB, by a division that all CABs know. A CAB tries moves
   between its own places only, so two CABs never move the same cell. It sees its own moves of the round, and the
   others' cells where they were when the round began: its costs may be wrong, its moves never clash.
3. At the end of the round all CABs tell each other the moves that they have made, and make those of the others. The
   placements are the same again. The temperature falls.

The sum of moves is the same on any number of CABs. What is compared: the placements of all CABs with that of a
sequential program that does the CABs' parts of each round one after the other, and its wire length with one computed
anew. What is printed: simulated time, speed-up over one CAB that does all moves, the ideal, the share of the CABs' time
in which they did not compute; then the wire length that each number of CABs arrives at.

"The Design of Nectar" (1989), section 7: simulated annealing was ported to Nectar from the iPSC."""

import argparse
import math
import random
import struct

from placement import APPLY, DRAW, Netlist, Placement

from nectar.software import ProgramError
from nectar.software.arithmetic import Work
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"

#: Temperature of the first round, and what each round leaves of it.
HOT, COOLING = 6.0, 0.88
#: A place of a CAB in a round is found.
STEP = Work(add=2, branch=1, store=1)
#: A move in a message: two places.
PAIR = struct.Struct(">HH")


def share(seed, turn, index, size, places):
    """The places of CAB ``index`` of ``size`` in a round: a stretch of all places in the order in which steps of equal
    length come to them."""
    draw = random.Random(f"{seed} {turn}")
    begin, step = draw.randrange(places), draw.choice([step for step in range(places) if math.gcd(step, places) == 1])
    stretch = range(places * index // size, places * (index + 1) // size)
    return [(begin + step * number) % places for number in stretch]


def moves(placement, seed, turn, index, size, tries):
    """The part of a CAB in a round: what ``Placement.anneal`` returns, with the Work of the division."""
    own = share(seed, turn, index, size, len(placement.grid))
    part = range(tries * index // size, tries * (index + 1) // size)
    draw = random.Random(f"{seed} {turn} {index}")
    made, work = placement.anneal(own, len(part), HOT * COOLING**turn, draw)
    return made, work + 2 * DRAW + len(own) * STEP


def gather(task, team, mine):
    """What all tasks of the team give (bytes), in their order: in each step twice as much is known (Bruck, 1997)."""
    known = [mine]
    while len(known) < team.size:
        step = len(known)
        wanted = min(step, team.size - step)
        data = b"".join(struct.pack(">I", len(part)) + part for part in known[:wanted])
        sending = task.isend(team.names[(team.index - step) % team.size], data, step)
        got = bytes(task.receive(source=team.names[(team.index + step) % team.size], type=step).data)
        sending.wait()
        for _ in range(wanted):
            (length,) = struct.unpack_from(">I", got)
            known.append(got[4 : 4 + length])
            got = got[4 + length :]
    return [known[(index - team.index) % team.size] for index in range(team.size)]


def anneal(task, team, netlist, seed, rounds, tries):
    """The task of each CAB. Returns the grid at the end."""
    meter, placement = Meter(task.cab), Placement(netlist)
    meter.start()
    for turn in range(rounds):
        made, work = moves(placement, seed, turn, team.index, team.size, tries)
        meter.compute(work)
        told = gather(task, team, b"".join(PAIR.pack(*pair) for pair in made))
        for index, data in enumerate(told):
            if index != team.index:
                for pair in PAIR.iter_unpack(data):
                    placement.exchange(*pair)
                    meter.compute(APPLY)
    meter.stop()
    return meter, placement.grid


def sequential(netlist, seed, rounds, tries, size):
    """The same without CABs: in each round the parts of ``size`` CABs, each from the placement at its beginning.
    Returns the placement and the Work."""
    placement, total = Placement(netlist), Work()
    for turn in range(rounds):
        told = []
        for index in range(size):
            made, work = moves(placement, seed, turn, index, size, tries)
            total += work
            for pair in reversed(made):
                placement.exchange(*pair)
            told += made
        for pair in told:
            placement.exchange(*pair)
    return placement, total


def wire_length(netlist, grid):
    """The cost of a grid, computed from the nets anew."""
    side, where = netlist.side, {cell: place for place, cell in enumerate(grid)}
    total = 0
    for cells, pads in netlist.nets:
        across = sorted([1 + where[cell] % side for cell in cells] + [x for x, _ in pads])
        down = sorted([1 + where[cell] // side for cell in cells] + [y for _, y in pads])
        total += across[-1] - across[0] + down[-1] - down[0]
    return total


async def main(system, arguments):
    """Places the netlist on each number of CABs, prints a table and the wire lengths."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/annealing/annealing.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--rounds", type=int, default=40, help="how often the CABs tell their moves (default: 40)")
    parser.add_argument("--moves", type=int, default=256, help="moves tried in a round by all CABs (default: 256)")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (default: 1)")
    parser.add_argument("--cabs", metavar="N,N,…", help="numbers of CABs (default: 1,2,4,8,16)")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.moves < 1:
        raise ProgramError("--rounds and --moves must be 1 at least")
    netlist = Netlist.of_file("arbiter.net")
    problem = options.seed, options.rounds, options.moves
    expected = {1: sequential(netlist, *problem, 1)}
    alone = expected[1][1]
    scaling = Scaling(system, "annealing", counts_of(system, options.cabs))
    begin = Placement(netlist).cost()
    side = netlist.side
    print(
        f"{len(netlist.cells)} cells, {len(netlist.nets)} nets on {side} x {side} places; length of the wires: {begin}"
    )
    lengths = []
    async for grids in scaling.run(anneal, alone, netlist, *problem):
        size = len(grids)
        if size not in expected:
            expected[size] = sequential(netlist, *problem, size)
        same = expected[size][0]
        if any(grid != same.grid for grid in grids):
            raise ProgramError("the placement is not that of the sequential program")
        lengths.append(wire_length(netlist, grids[0]))
        if lengths[-1] != same.cost():
            raise ProgramError("the wire length is wrong")
        scaling.answer(lengths[-1])
        system.report(f"annealing.wires.{size}", lengths[-1])
    print("length of the wires at the end:", *lengths)

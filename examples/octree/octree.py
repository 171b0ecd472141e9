"""Unites two solids and draws the result, on 1, 2, 4, 8 and 16 CABs: an octree solid modeller.

    nectar run examples/octree/octree.py [--size 64] [--level 2] [--cabs 1,2,4,8,16] [--picture FILE.pgm]

Follows the solid modelling system based on the octree data structure of "The Design of Nectar" (1989), section 7. That
one was a program for a hypercube; this one uses Nectarine. The space is divided into cubes, 8 at level 1, 64 at level
2. The task *modeller* has a queue of cubes. On each CAB a *worker* takes a cube, makes the octrees of both
solids in it, unites them, draws the result as a square of depths, and sends back both; then it gets the next cube. The
modeller puts octree and picture together. Both are compared, node by node and pixel by pixel, with what one CPU
computes without messages.

Prints for each number of CABs: simulated time, speed-up over one CPU without messages, the ideal, and the share of the
CABs' time in which they did not compute; then how many pixels show the solid."""

import argparse
from pathlib import Path

from solids import NOTHING, Ball, Box, Solid, Tally, divide, draw, greys, joined, make, nearest, pack, unite, unpack

from nectar.software import ProgramError
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"

#: Microseconds of computation after which a worker lets other threads of its CAB run.
SLICE_US = 250


def solids(size):
    """The two solids in a space of so many voxels in each direction: a block with two dents, a ball with one."""
    unit = size / 32  # half voxels of a 64th of the space

    def at(*lengths):
        return tuple(round(length * unit) for length in lengths)

    block = Box(at(8, 8, 10), at(40, 40, 40)), (Ball(at(24, 24, 8), *at(13)), Ball(at(8, 24, 24), *at(10)))
    return Solid((block[0],), block[1]), Solid((Ball(at(40, 40, 34), *at(20)),), (Ball(at(42, 42, 10), *at(12)),))


def cubes(level, corner, size):
    """The lowest corners of the cubes at a level, in the order of an octree."""
    if not level:
        return [corner]
    return [each for part in divide(corner, size) for each in cubes(level - 1, part, size // 2)]


def assembled(trees, level):
    """The octree of the space, of an iterator of those of its cubes."""
    return joined(tuple(assembled(trees, level - 1) for _ in range(8))) if level else next(trees)


def modelled(size, corner, edge, tally):
    """Octree and square of depths of a cube: what a worker computes. With the whole space it is the whole job."""
    one, other = (make(solid, corner, edge, tally) for solid in solids(size))
    tree = unite(one, other, tally)
    tile = bytearray([NOTHING]) * (edge * edge)
    draw(tree, corner, edge, tile, edge, tally, corner[:2])
    return tree, tile


def slowly(task, meter, work):
    """Computes, and lets other threads of the CAB run at times."""
    slices = max(1, round(task.cab.compute_us(work) / SLICE_US))
    for _ in range(slices):
        meter.compute(work * (1 / slices))
        task.cab.pause()


def worker(task, meter, modeller, size):
    """Does cubes until an empty message comes."""
    sending = None
    while (order := task.receive(source=modeller)).length:
        *corner, edge = order.data
        done, packing = Tally(), Tally()
        tree, tile = modelled(size, corner, edge, done)
        slowly(task, meter, done.work)
        nodes = pack(tree, packing)
        task.cab.compute(packing.work)
        if sending:
            sending.wait()
        answer = len(nodes).to_bytes(4, "big") + nodes + (tile if tree else b"")
        sending = task.isend(modeller, answer, order.type)
    if sending:
        sending.wait()


def modeller(task, meter, workers, size, level):
    """Has the workers do the cubes. Returns octree and picture."""
    edge = size >> level
    corners = cubes(level, (0, 0, 0), size)
    queue = iter(enumerate(corners))
    for name in workers:
        give(task, name, queue, edge)
    trees, image = {}, bytearray([NOTHING]) * (size * size)
    while len(trees) < len(corners):
        answer = task.receive()
        give(task, answer.source, queue, edge)
        tally, length = Tally(), int.from_bytes(answer.data[:4], "big")
        trees[answer.type] = unpack(answer.data[4 : 4 + length], tally)
        if trees[answer.type]:
            nearest(image, size, answer.data[4 + length :], edge, corners[answer.type], tally)
        task.cab.compute(tally.work)
    for name in workers:
        task.send(name)
    tally = Tally()
    picture = greys(image, size, tally)
    slowly(task, meter, tally.work)
    return assembled(map(trees.get, range(len(corners))), level), picture


def give(task, name, queue, edge):
    """Sends a worker the next cube of the queue, if there is one."""
    for number, corner in queue:
        task.send(name, bytes((*corner, edge)), number)
        return


def octree(task, team, size, level):
    """The task of each CAB: a worker; the first one's CAB has the modeller, too, and returns what it does."""
    meter = Meter(task.cab)
    meter.start()
    result = None
    if team.index:
        worker(task, meter, team.names[0], size)
    else:
        workers = (f"{task.name}.worker", *team.names[1:])
        task.spawn(workers[0], worker, meter, task.name, size, on=task.cab.name)
        result = modeller(task, meter, workers, size, level)
    meter.stop()
    return meter, result


async def main(system, arguments):
    """Runs the modeller on each number of CABs, prints a table; writes the picture."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/octree/octree.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--size", type=int, default=64, help="voxels in each direction, a power of two (default: 64)")
    parser.add_argument("--level", type=int, default=2, help="the space is divided into 8**LEVEL cubes (default: 2)")
    parser.add_argument("--cabs", metavar="N,N,…", help="numbers of CABs (default: 1,2,4,8,16)")
    parser.add_argument("--picture", metavar="FILE.pgm", help="write the picture as a grey map")
    options = parser.parse_args(arguments)
    size = options.size
    if not 8 <= size <= 128 or size & (size - 1):
        raise ProgramError(f"--size must be a power of two from 8 to 128, not {size}")
    if not 0 <= options.level <= 3:
        raise ProgramError(f"--level must be 0 to 3, not {options.level}")
    tally = Tally()
    tree, image = modelled(size, (0, 0, 0), size, tally)
    picture = greys(image, size, tally)
    scaling = Scaling(system, "octree", counts_of(system, options.cabs))
    print(f"two solids in {size} x {size} x {size} voxels, {8**options.level} cubes; picture of {size} x {size} pixels")
    async for answers in scaling.run(octree, tally.work, size, options.level):
        found, drawn = answers[0]
        wrong = sum(one != other for one, other in zip(drawn, picture, strict=True))
        if wrong or found != tree:
            raise ProgramError(f"the solid is wrong: {wrong} pixels differ")
        scaling.answer(bytes(drawn))
    print(f"{sum(grey > 0 for grey in picture)} pixels show the solid")
    if options.picture:
        try:
            Path(options.picture).write_bytes(b"P5\n%d %d\n255\n" % (size, size) + picture)
        except OSError as error:
            raise ProgramError(f"--picture {options.picture}: {error.strerror}") from error

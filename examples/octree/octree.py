"""Unites two solids and draws the result, on 1, 2, 4, 8 and 16 CABs: an octree solid modeller.

    nectar run examples/octree/octree.py [--size 64] [--level 2] [--cabs 1,2,4,8,16] [--picture FILE.pgm]

Follows the solid modelling system based on the octree data structure of "The Design of Nectar" (1989), section 7. That
one was a program for a hypercube; this one uses Nectarine. The space is divided into cubes, 8 at level 1, 64 at level
2. The task *modeller* has a queue of cubes. Each task *worker.N* has two of them at a time: it makes the octrees of
both solids in the cube, unites them, draws the result as a square of depths, and sends back both. The modeller puts
octree and picture together. Both are compared with what one CPU computes without messages."""

import argparse

from solids import NOTHING, Ball, Box, Solid, Tally, divide, draw, greys, joined, make, nearest, pack, unite, unpack

from nectar.software import ProgramError
from nectar.software.nectarine import Application

TOPOLOGY = "hub:16"

#: Cubes that a worker has at a time: it computes one while the other is on its way.
AHEAD = 1
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


def compute(task, work, busy):
    """The task computes for as long as ``work`` takes, and lets other threads of its CAB run at times. ``busy``: a list
    with the microseconds of all tasks so far."""
    left = work.microseconds
    busy[0] += left
    while left > 0:
        task.cab.compute(min(left, SLICE_US))
        task.cab.pause()
        left -= SLICE_US


def worker(task, size, busy):
    """Does cubes until an empty message comes."""
    sending = None
    while (order := task.receive(source="modeller")).length:
        *corner, edge = order.data
        tally = Tally()
        tree, tile = modelled(size, corner, edge, tally)
        nodes = pack(tree, tally)
        compute(task, tally.work, busy)
        if sending:
            sending.wait()
        answer = len(nodes).to_bytes(4, "big") + nodes + (tile if tree else b"")
        sending = task.isend("modeller", answer, order.type)
    if sending:
        sending.wait()


def modeller(task, size, level, counts, busy):
    """Does the job with so many workers, one number after the other. Returns for each number the microseconds that it
    took, those of them in which CPUs computed, added up, the octree and the picture."""
    done = []
    edge = size >> level
    corners = cubes(level, (0, 0, 0), size)
    for count in counts:
        begin, busy[0] = task.cab.now_us(), 0.0
        trees, image = {}, bytearray([NOTHING]) * (size * size)
        queue = iter(enumerate(corners))
        for worker in [f"worker.{number}" for _ in range(AHEAD) for number in range(count)]:
            give(task, worker, queue, edge)
        while len(trees) < len(corners):
            answer = task.receive()
            give(task, answer.source, queue, edge)
            tally, length = Tally(), int.from_bytes(answer.data[:4], "big")
            trees[answer.type] = unpack(answer.data[4 : 4 + length], tally)
            if trees[answer.type]:
                nearest(image, size, answer.data[4 + length :], edge, corners[answer.type], tally)
            compute(task, tally.work, busy)
        tally = Tally()
        tree = assembled(map(trees.get, range(len(corners))), level)
        picture = greys(image, size, tally)
        compute(task, tally.work, busy)
        done.append((task.cab.now_us() - begin, busy[0], tree, picture))
    for number in range(max(counts)):
        task.send(f"worker.{number}")
    return done


def give(task, worker, queue, edge):
    """Sends a worker the next cube of the queue, if there is one."""
    for number, corner in queue:
        task.send(worker, bytes((*corner, edge)), number)
        return


async def main(system, arguments):
    """Runs the modeller, compares what it gives, and tells how long it took."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/octree/octree.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--size", type=int, default=64, help="voxels of the space in each direction (default: 64)")
    parser.add_argument("--level", type=int, default=2, help="the space is divided into 8**LEVEL cubes (default: 2)")
    options = parser.parse_args(arguments)
    counts = [1, 2, 4, 8, 16]
    busy = [0.0]
    application = Application(system)
    application.spawn("modeller", modeller, options.size, options.level, counts, busy, on=system.cabs[0].name)
    for number, cab in enumerate(system.cabs):
        application.spawn(f"worker.{number}", worker, options.size, busy, on=cab.name)
    await application.run()
    tally = Tally()
    tree, image = modelled(options.size, (0, 0, 0), options.size, tally)
    picture = greys(image, options.size, tally)
    alone = tally.work.microseconds
    for count, (took, computing, found, painted) in zip(counts, application.tasks["modeller"].result, strict=True):
        if found != tree or painted != picture:
            raise ProgramError("no")
        print(
            count,
            f"{took / 1000:.1f} ms {alone / took:.2f} comm {1 - computing / count / took:.2%} {computing / 1000:.1f} {alone / 1000:.1f}",
        )

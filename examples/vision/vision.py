"""Finds edges in images and answers questions about them while images flow, on 1, 2, 4, 8 and 16 CABs.

    nectar run examples/vision/vision.py [--size 64] [--frames 32] [--cabs 1,2,4,8,16]

Follows the vision application of "The Design of Nectar" (1989), section 7: low-level vision, and image features in a
distributed spatial database; tasks are assigned to CABs when the application starts. There a Warp machine did the
low-level vision; here CABs do. The tasks, which address each other by name:

camera    on the first CAB; sends the images, from its buffers, to the filters in turns
filter    one on each CAB; the Sobel filter, then features, which go to the stores
store     one on each CAB; has the features in an upright strip of all images, answers queries about them
client    on the last CAB; four queries about each image and the three before, put to the stores whose strips they touch

A store answers a query when it has the features of all images that the query asks about. So the answers do not depend
on who is faster; they are compared with those of a sequential program.

Prints for each number of CABs: simulated time, speed-up over the sequential program, the ideal, and the share of the
CABs' time in which they did not compute."""

import argparse
import random
import struct

from images import DIRECTIONS, LOOK, Feature, Query, edges, features, image

from nectar.software import ProgramError
from nectar.software.arithmetic import Work
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"

#: Queries about each image; how many images before it they also ask about.
QUERIES, BEFORE = 4, 3
#: Images on their way to a filter at most.
AHEAD = 2
#: Types of messages: to filters; to stores; that something is ready or over. That of an answer is its query's number.
IMAGE, FEATURES, QUERY, OVER = 1, 2, 3, 4
#: How features and queries travel: their fields, one byte each; the number of a query.
FEATURE_FORM = struct.Struct("5B")
QUERY_FORM = struct.Struct("7BH")


def queries(size, frames):
    """The queries of the client, in their order: rectangles at random places."""
    draw = random.Random(f"{size} {frames}")
    asked = []
    for last in range(frames):
        for _ in range(QUERIES):
            (left, right), (top, bottom) = (sorted(draw.choices(range(size), k=2)) for _ in range(2))
            asked.append(Query(max(0, last - BEFORE), last, left, top, right, bottom, draw.randint(0, DIRECTIONS)))
    return asked


def packed(found):
    """Features as bytes."""
    return b"".join(FEATURE_FORM.pack(*each) for each in found)


def unpacked(data):
    """Features from bytes."""
    return [Feature(*each) for each in FEATURE_FORM.iter_unpack(data)]


def sequential(size, frames, asked):
    """The answers to the queries, and the Work of one CPU that does all."""
    every, work = [], Work()
    for frame in range(frames):
        pixels = image(size, frame)
        rows, costs = zip(*(edges(pixels, size, row) for row in range(size)), strict=True)
        found, cost = features(frame, rows)
        every.append(found)
        work = sum(costs, work + cost)
    answers = []
    for query in asked:
        there = [feature for found in every[query.first : query.last + 1] for feature in found]
        work += len(there) * LOOK
        answers.append(sorted(filter(query.wants, there)))
    return answers, work


class Names:
    """The names of the tasks of a run, and which store has what."""

    def __init__(self, team, size):
        self.filters = team.names
        self.stores = [f"{name}.store" for name in team.names]
        self.camera = f"{team.names[0]}.camera"
        self.client = f"{team.names[-1]}.client"
        self._size = size

    def store_of(self, x):
        """The number of the store that has the features in a column."""
        return x * len(self.stores) // self._size


async def camera(task, names, buffers):
    """Sends the images to the filters in turns. AHEAD of them are on their way to each: more would take up the
    slots that the other messages between the two CABs need."""
    under_way = []
    for frame, buffer in enumerate(buffers):
        before = frame - AHEAD * len(names.filters)
        if before >= 0:
            await under_way[before].wait()
        under_way.append(await task.isend(names.filters[frame % len(names.filters)], buffer, IMAGE))
    for handle in under_way:
        await handle.wait()


async def work_of_filter(task, meter, names, index, size, frames):
    """Filters each image that it gets, while the next one is on its way into its other buffer."""
    mine = range(index, frames, len(names.filters))
    buffers = [await task.buffer(size * size) for _ in range(2)]
    coming = await task.ireceive(buffers[0], type=IMAGE) if mine else None
    sending = []
    for turn, frame in enumerate(mine):
        await coming.wait()
        pixels = await buffers[turn % 2].read()
        if frame != mine[-1]:
            coming = await task.ireceive(buffers[1 - turn % 2], type=IMAGE)
        rows = []
        for row in range(size):
            found, work = edges(pixels, size, row)
            rows.append(found)
            meter.compute(work)
            await task.cab.pause()
        found, work = features(frame, rows)
        meter.compute(work)
        parts = [[] for _ in names.stores]
        for feature in found:
            parts[names.store_of(feature.x)].append(feature)
        for handle in sending:
            await handle.wait()
        sending = [
            await task.isend(name, bytes([frame]) + packed(part), FEATURES)
            for name, part in zip(names.stores, parts, strict=True)
        ]
    for handle in sending:
        await handle.wait()


async def store(task, meter, names):
    """Keeps features, answers queries; ends when the client says so."""
    kept, waiting, sending = {}, [], []
    while (message := await task.receive()).type != OVER:
        if message.type == FEATURES:
            kept[message.data[0]] = unpacked(message.data[1:])
        else:
            *fields, number = QUERY_FORM.unpack(message.data)
            waiting.append((number, Query(*fields)))
        for number, query in list(waiting):
            wanted = range(query.first, query.last + 1)
            if all(frame in kept for frame in wanted):
                waiting.remove((number, query))
                there = [feature for frame in wanted for feature in kept[frame]]
                meter.compute(len(there) * LOOK)
                sending.append(await task.isend(names.client, packed(filter(query.wants, there)), number))
    for handle in sending:
        await handle.wait()


async def client(task, names, asked):
    """Asks about each image, and gives back the answers."""
    await task.receive(source=names.filters[0], type=OVER)
    answers, sending = [[] for _ in asked], []
    for first in range(0, len(asked), QUERIES):
        there = 0
        for number in range(first, first + QUERIES):
            query = asked[number]
            for place in range(names.store_of(query.left), names.store_of(query.right) + 1):
                sending.append(await task.isend(names.stores[place], QUERY_FORM.pack(*query, number), QUERY))
                there += 1
        for _ in range(there):
            answer = await task.receive(source=names.stores)
            answers[answer.type] += unpacked(answer.data)
    for handle in sending:
        await handle.wait()
    for name in names.stores:
        await task.send(name, type=OVER)
    await task.send(names.filters[-1], type=OVER)
    return [sorted(answer) for answer in answers]


async def vision(task, team, size, frames, asked):
    """The task of each CAB: a filter; begins the others. The last one returns the client's answers."""
    meter, names = Meter(task.cab), Names(team, size)
    last = team.index == team.size - 1
    await task.spawn(names.stores[team.index], store, meter, names, on=task.cab.name)
    if last:
        asking = await task.spawn(names.client, client, names, asked, on=task.cab.name)
    if team.index:
        await task.send(team.names[0], type=OVER)
        await task.receive(source=team.names[0], type=OVER)
        await meter.start()
    else:
        buffers = [await task.buffer(size * size) for _ in range(frames)]
        for frame, buffer in enumerate(buffers):
            buffer.write(image(size, frame))
        for name in team.names[1:]:
            await task.receive(source=name, type=OVER)
        await meter.start()
        await task.spawn(names.camera, camera, names, buffers, on=task.cab.name)
        for name in (names.client, *team.names[1:]):
            await task.send(name, type=OVER)
    await work_of_filter(task, meter, names, team.index, size, frames)
    if last:
        await task.receive(source=names.client, type=OVER)
    await meter.stop()
    return meter, asking if last else None


async def main(system, arguments):
    """Runs the tasks on each number of CABs, prints a table."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/vision/vision.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--size", type=int, default=64, help="rows and columns of an image (default: 64)")
    parser.add_argument("--frames", type=int, default=32, help="images (default: 32)")
    parser.add_argument("--cabs", metavar="N,N,…", help="numbers of CABs (default: 1,2,4,8,16)")
    options = parser.parse_args(arguments)
    size, frames = options.size, options.frames
    if not 8 <= size <= 128 or size % 4:
        raise ProgramError(f"--size must be a multiple of 4 from 8 to 128, not {size}")
    if not 1 <= frames <= 64:
        raise ProgramError(f"--frames must be 1 to 64, not {frames}")
    need, there = (frames + 2) * size * size, system.cabs[0].memory.size // 2
    if need > there:
        raise ProgramError(f"so many images need {need} bytes of a CAB's memory; they may have {there}: take fewer")
    asked = queries(size, frames)
    expected, work = sequential(size, frames, asked)
    scaling = Scaling(system, "vision", counts_of(system, options.cabs))
    found = sum(map(len, expected))
    print(f"{frames} images of {size} x {size} pixels, {len(asked)} queries, {found} features in the answers")
    async for answers in scaling.run(vision, work, size, frames, asked):
        wrong = sum(one != other for one, other in zip(answers[-1].result, expected, strict=True))
        if wrong:
            raise ProgramError(f"{wrong} of {len(asked)} answers are wrong")
        scaling.answer(answers[-1].result)

"""Images of a moving scene, their edges, and features of the edges. Knows nothing of tasks and messages.

An image is bytes, a grey value for each pixel, row by row. A feature is a short piece of an edge."""

from typing import NamedTuple

from nectar.software.arithmetic import Work

__all__ = ["DIRECTIONS", "Feature", "LOOK", "Query", "edges", "features", "image"]

#: A pixel filtered: its eight neighbours, both sums, their absolute values, the threshold.
FILTER = Work(load=8, store=1, add=18, branch=4)
#: The direction of a pixel of an edge.
DIRECTION = Work(store=1, add=4, branch=4)
#: A pixel looked at for features.
GATHER = Work(load=1, add=3, branch=1)
#: A feature made: two divisions for its place, the most frequent direction.
FEATURE = Work(call=1, load=8, store=5, add=16, branch=8, divide=3)
#: A feature of the store compared with a query.
LOOK = Work(load=4, add=6, branch=5)

#: The sum of both derivatives from which a pixel belongs to an edge.
THRESHOLD = 160
#: Rows and columns of the squares in which features are looked for, and how many pixels of an edge make one.
SQUARE, ENOUGH = 4, 3
#: Of an edge: 0 upright, 1 level, 2 and 3 oblique.
DIRECTIONS = 4


class Feature(NamedTuple):
    """``x``, ``y``: the middle of the piece of an edge, pixels; ``direction``; ``strength``: its contrast, 0 to 255."""

    frame: int
    x: int
    y: int
    direction: int
    strength: int


class Query(NamedTuple):
    """Asks for the features of the frames ``first`` to ``last`` in a rectangle: corners ``left``, ``top`` and
    ``right``, ``bottom``, which belong to it. ``direction``: DIRECTIONS for any."""

    first: int
    last: int
    left: int
    top: int
    right: int
    bottom: int
    direction: int

    def wants(self, feature):
        """Whether a feature is an answer."""
        return (
            self.first <= feature.frame <= self.last
            and self.left <= feature.x <= self.right
            and self.top <= feature.y <= self.bottom
            and self.direction in (feature.direction, DIRECTIONS)
        )


def image(size, frame):
    """What the camera sees: a ball and a block that move over a background that grows brighter to the right."""
    ball = (size // 4 + frame) % size, size // 3, size // 6
    block = size - 1 - frame % (size // 2), size // 2 + frame % (size // 4), size // 5
    rows = []
    for y in range(size):
        row = bytearray(20 + 40 * x // size for x in range(size))
        for x in range(size):
            if (x - ball[0]) ** 2 + (y - ball[1]) ** 2 < ball[2] ** 2:
                row[x] = 220
            elif abs(x - block[0]) < block[2] and abs(y - block[1]) < block[2]:
                row[x] = 130
        rows.append(row)
    return b"".join(rows)


def edges(pixels, size, row):
    """The Sobel filter on a row of an image: ({x: (direction, sum of both derivatives)} of the pixels on an edge,
    Work). The first and the last row have none."""
    if row in (0, size - 1):
        return {}, Work()
    above, here, below = (pixels[at : at + size] for at in range((row - 1) * size, (row + 2) * size, size))
    found = {}
    for x in range(1, size - 1):
        left = above[x - 1] + 2 * here[x - 1] + below[x - 1]
        right = above[x + 1] + 2 * here[x + 1] + below[x + 1]
        across = right - left
        down = below[x - 1] + 2 * below[x] + below[x + 1] - above[x - 1] - 2 * above[x] - above[x + 1]
        strength = abs(across) + abs(down)
        if strength >= THRESHOLD:
            found[x] = direction_of(across, down), strength
    return found, (size - 2) * FILTER + len(found) * DIRECTION


def direction_of(across, down):
    """The direction of an edge with these derivatives."""
    if abs(across) > 2 * abs(down):
        return 0
    if abs(down) > 2 * abs(across):
        return 1
    return 2 if across * down > 0 else 3


def features(frame, rows):
    """The features of an image, and the Work. ``rows``: what ``edges`` has found in each row."""
    found, size = [], len(rows)
    for top in range(0, size, SQUARE):
        for left in range(0, size, SQUARE):
            pixels = [
                (x, y, *rows[y][x])
                for y in range(top, top + SQUARE)
                for x in range(left, left + SQUARE)
                if x in rows[y]
            ]
            if len(pixels) >= ENOUGH:
                xs, ys, directions, strengths = zip(*pixels, strict=True)
                middle = sum(xs) // len(xs), sum(ys) // len(ys)
                direction = max(range(DIRECTIONS), key=directions.count)
                found.append(Feature(frame, *middle, direction, sum(strengths) // len(pixels) // 8))
    return found, size * size * GATHER + len(found) * FEATURE

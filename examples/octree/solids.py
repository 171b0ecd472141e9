"""Solids as octrees: made from shapes, united, written as bytes, drawn. Knows nothing of tasks and messages.

An octree is 0 (nothing), 1 (full) or a tuple of eight octrees. Bit 0 of a child's place stands for the upper half in x,
bit 1 in y, bit 2 in z. Lengths are voxels (coordinates of shapes: half voxels, so that all arithmetic is of integers).
Each function adds what it has done to a Tally."""

from dataclasses import dataclass

from nectar.software.arithmetic import Work

__all__ = [
    "Ball",
    "Box",
    "NOTHING",
    "Solid",
    "Tally",
    "divide",
    "draw",
    "greys",
    "joined",
    "make",
    "nearest",
    "pack",
    "unite",
    "unpack",
]

#: Depth of a pixel behind which there is nothing.
NOTHING = 255

#: A ball compared with a cube: on each axis both distances, the greater and the lesser of them, and their squares.
BALL = Work(call=1, load=7, multiply=6, add=18, branch=11)
#: A box compared with a cube: on each axis four comparisons of a corner.
BOX = Work(call=1, load=9, add=18, branch=12)
#: A node of an octree: a step of the recursion, its kind, the place of a child.
NODE = Work(call=1, load=3, store=1, add=8, branch=3)
#: A pixel of an image: compared with a depth, or replaced.
PIXEL = Work(load=1, store=1, add=2, branch=1)


@dataclass
class Tally:
    """What was done: ``balls`` and ``boxes`` compared with a cube, ``nodes`` of octrees visited, ``pixels`` compared
    or set."""

    balls: int = 0
    boxes: int = 0
    nodes: int = 0
    pixels: int = 0

    @property
    def work(self):
        """All of it as Work of a CAB's CPU."""
        return self.balls * BALL + self.boxes * BOX + self.nodes * NODE + self.pixels * PIXEL


@dataclass(frozen=True)
class Ball:
    """Centre and radius, in half voxels."""

    centre: tuple[int, int, int]
    radius: int

    def holds(self, cube, size):
        """1 if the whole cube lies in the ball, 0 if nothing of it, None otherwise. ``cube``: its lowest corner in
        half voxels; ``size``: half voxels, 0 for a point."""
        near = far = 0
        for low, centre in zip(cube, self.centre, strict=True):
            below, above = centre - low, low + size - centre
            far += max(below, above) ** 2
            near += 0 if below > 0 < above else min(abs(below), abs(above)) ** 2
        limit = self.radius**2
        return 1 if far <= limit else 0 if near >= limit else None


@dataclass(frozen=True)
class Box:
    """Lowest and highest corner, in half voxels; the lowest belongs to it."""

    low: tuple[int, int, int]
    high: tuple[int, int, int]

    def holds(self, cube, size):
        """As of a Ball."""
        inside = 1
        for at, low, high in zip(cube, self.low, self.high, strict=True):
            if at >= high or at + (size or 1) <= low:
                return 0
            if at < low or at + size > high:
                inside = None
        return inside


@dataclass(frozen=True)
class Solid:
    """What lies in one of the shapes ``added`` and in none of the shapes ``removed``."""

    added: tuple
    removed: tuple = ()

    def holds(self, cube, size, tally):
        """As of a Ball."""
        for shape in (*self.added, *self.removed):
            tally.balls += isinstance(shape, Ball)
            tally.boxes += isinstance(shape, Box)
        removed = [shape.holds(cube, size) for shape in self.removed]
        if 1 in removed:
            return 0
        added = [shape.holds(cube, size) for shape in self.added]
        if 1 in added and not any(one is None for one in removed):
            return 1
        return None if 1 in added or None in added else 0


def divide(cube, size):
    """The lowest corners of the eight halves of a cube, in the order of an octree."""
    x, y, z = cube
    half = size // 2
    return [(x + half * (at & 1), y + half * (at >> 1 & 1), z + half * (at >> 2)) for at in range(8)]


def make(solid, cube, size, tally):
    """The octree of the part of ``solid`` in a cube. ``cube``: its lowest corner, ``size``: a power of two, in voxels.

    A voxel at a solid's surface belongs to the solid if the voxel's centre does."""
    tally.nodes += 1
    corner = tuple(2 * at for at in cube)
    held = solid.holds(corner, 2 * size, tally)
    if held is None and size == 1:
        return solid.holds(tuple(at + 1 for at in corner), 0, tally)
    if held is not None:
        return held
    return joined(tuple(make(solid, part, size // 2, tally) for part in divide(cube, size)))


def joined(parts):
    """The octree with eight children, as one leaf if they are eight equal leaves."""
    return parts[0] if parts in ((0,) * 8, (1,) * 8) else parts


def unite(one, other, tally):
    """The octree of what lies in one or the other."""
    tally.nodes += 1
    if one == 1 or other == 1:
        return 1
    if one == 0 or other == 0:
        return one or other
    return joined(tuple(unite(a, b, tally) for a, b in zip(one, other, strict=True)))


def draw(tree, cube, size, image, width, tally, origin=(0, 0)):
    """Sets the pixels that an octree covers to its depth: the z of the nearest voxel behind the pixel (one byte).

    ``image``: a bytearray of rows of ``width`` pixels, whose first pixel is at ``origin``. The viewer is at z = 0."""
    tally.nodes += 1
    if tree == 0:
        return
    if tree != 1:
        for part, corner in zip(tree, divide(cube, size), strict=True):
            draw(part, corner, size // 2, image, width, tally, origin)
        return
    x, y, z = cube
    tally.pixels += size * size
    for row in range(y - origin[1], y - origin[1] + size):
        first = row * width + x - origin[0]
        for at in range(first, first + size):
            if image[at] > z:
                image[at] = z


def nearest(image, width, tile, size, corner, tally):
    """Draws a square ``tile`` of depths, whose first pixel is at ``corner``, into ``image``: the nearer depth stays."""
    tally.pixels += size * size
    for row in range(size):
        first = (corner[1] + row) * width + corner[0]
        theirs = tile[row * size : (row + 1) * size]
        image[first : first + size] = bytes(map(min, image[first : first + size], theirs))


def greys(image, size, tally):
    """The picture of an image of depths: the nearer, the brighter; nothing is black."""
    tally.pixels += len(image)
    shades = [255 - 200 * depth // size if depth < size else 0 for depth in range(256)]
    return bytes(shades[depth] for depth in image)


def pack(tree, tally):
    """The octree as bytes: its nodes from the root on, each before its children, 2 bits each (2: has children)."""
    nodes, left = [], [tree]
    while left:
        node = left.pop()
        if isinstance(node, tuple):
            left += reversed(node)
            node = 2
        nodes.append(node)
    tally.nodes += len(nodes)
    nodes += [0] * (-len(nodes) % 4)
    return bytes(a | b << 2 | c << 4 | d << 6 for a, b, c, d in zip(*[iter(nodes)] * 4, strict=True))


def unpack(data, tally):
    """The octree of which ``pack`` has made ``data``."""
    nodes = (byte >> shift & 3 for byte in data for shift in (0, 2, 4, 6))

    def tree():
        tally.nodes += 1
        node = next(nodes)
        return tuple(tree() for _ in range(8)) if node == 2 else node

    return tree()

"""How the data of a datatype lie in memory, and their way into contiguous bytes and back.

A layout is a list of blocks. A block (displacement, unit, count) stands for ``count`` basic items of ``unit`` bytes
each, one behind the other, from ``displacement`` bytes on. The order of the blocks is the order of the packed bytes.
"""

from itertools import accumulate

__all__ = ["Layout"]


def _joined(blocks):
    """The blocks, with those joined that lie one behind the other."""
    joined = []
    for displacement, unit, count in blocks:
        if not count:
            continue
        if joined and joined[-1][1] == unit and joined[-1][0] + unit * joined[-1][2] == displacement:
            joined[-1] = joined[-1][0], unit, joined[-1][2] + count
        else:
            joined.append((displacement, unit, count))
    return tuple(joined)


class Layout:
    """The layout of one element.

    Members
    -------
    blocks : tuple of (displacement, unit, count), see above
    size : bytes of data
    numbers : basic items
    lb, ub, extent : where an element begins and ends, and the distance to the next one, in bytes
    true_lb, true_ub : where its data begin and end
    align : bytes; the largest alignment of its items
    bounded : bool
        The bounds were given, and are not those of the data.
    """

    __slots__ = ("align", "blocks", "bounded", "dense", "extent", "lb", "numbers", "size", "true_lb", "true_ub", "ub")

    def __init__(self, blocks, bounds=None, align=1, bounded=False):
        self.blocks = _joined(blocks)
        self.size = sum(unit * count for _, unit, count in self.blocks)
        self.numbers = sum(count for _, _, count in self.blocks)
        self.true_lb = min((at for at, _, _ in self.blocks), default=0)
        self.true_ub = max((at + unit * count for at, unit, count in self.blocks), default=0)
        self.lb, self.ub = bounds or (self.true_lb, self.true_ub)
        self.extent = self.ub - self.lb
        self.align = align
        self.bounded = bounded
        # One block from the start to the end: packed bytes are a copy.
        self.dense = self.size == self.extent and (
            not self.blocks or len(self.blocks) == 1 and self.lb == self.true_lb == 0
        )

    @classmethod
    def basic(cls, unit, align, extent=None):
        """One item of ``unit`` bytes."""
        return cls([(0, unit, 1)], (0, unit if extent is None else extent), align)

    @classmethod
    def placed(cls, parts, padded=False):
        """The layout of ``parts``, (displacement in bytes, elements one behind the other, Layout of an element) each.

        ``padded``: the end is rounded up to the alignment, as a C compiler does with a struct.
        """
        blocks, lower, upper, align = [], [], [], 1
        parts = [part for part in parts if part[1]]
        bounded = any(layout.bounded for _, _, layout in parts)
        for displacement, count, layout in parts:
            align = max(align, layout.align)
            if layout.dense:
                blocks += [(displacement + at, unit, each * count) for at, unit, each in layout.blocks]
            else:
                for index in range(count):
                    start = displacement + index * layout.extent
                    blocks += [(start + at, unit, each) for at, unit, each in layout.blocks]
            if layout.bounded or not bounded:
                ends = displacement, displacement + (count - 1) * layout.extent
                lower.append(min(ends) + layout.lb)
                upper.append(max(ends) + layout.ub)
        bounds = min(lower, default=0), max(upper, default=0)
        if padded and not bounded:
            bounds = bounds[0], bounds[1] + (bounds[0] - bounds[1]) % align
        return cls(blocks, bounds, align, bounded)

    def resized(self, lb, extent):
        """The same data with other bounds."""
        return Layout(self.blocks, (lb, lb + extent), self.align, True)

    def span(self, count):
        """First and last byte + 1 of the data of ``count`` elements, from the address of the first one."""
        if not count or not self.size:
            return 0, 0
        last = (count - 1) * self.extent
        return min(0, last) + self.true_lb, max(0, last) + self.true_ub

    def _pieces(self, count):
        """(displacement, bytes) of each piece of ``count`` elements, in the order of the packed bytes."""
        if self.dense:
            yield 0, count * self.size
            return
        pieces = [(at, unit * each) for at, unit, each in self.blocks]
        for index in range(count):
            start = index * self.extent
            for at, length in pieces:
                yield start + at, length

    def pack(self, memory, base, count):
        """The bytes of ``count`` elements from ``memory[base]`` on. ``memory`` gives bytes-like slices."""
        if self.dense:
            return bytes(memory[base : base + count * self.size])
        return b"".join(bytes(memory[base + at : base + at + length]) for at, length in self._pieces(count))

    def unpack(self, memory, base, count, data):
        """Stores ``data`` as elements from ``memory[base]`` on, at most ``count`` of them."""
        done, length = 0, min(len(data), count * self.size)
        data = memoryview(data)
        for at, piece in self._pieces(count):
            if done >= length:
                break
            piece = min(piece, length - done)
            memory[base + at : base + at + piece] = data[done : done + piece]
            done += piece

    def items(self, nbytes):
        """Number of basic items in ``nbytes`` packed bytes; None if the last is not whole."""
        if not self.size:
            return 0 if not nbytes else None
        whole, left = divmod(nbytes, self.size)
        items = whole * self.numbers
        for _, unit, count in self.blocks:
            if left < unit * count:
                return None if left % unit else items + left // unit
            items += count
            left -= unit * count
        return items

    def nbytes(self, items):
        """Packed bytes of ``items`` basic items."""
        if not self.numbers:
            return 0
        whole, left = divmod(items, self.numbers)
        nbytes = whole * self.size
        for (_, unit, count), before in zip(
            self.blocks, accumulate((count for _, _, count in self.blocks), initial=0), strict=False
        ):
            nbytes += unit * max(0, min(count, left - before))
        return nbytes

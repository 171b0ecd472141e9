"""Allocator of data memory: buddies, with the putting together of halves put off until somebody needs it.

Source: "The Design of Nectar" (1989), section 6.1 (the kernel manages memory). The method is ours: blocks are powers
of two, so that finding one is a few instructions and every block is aligned to its size.
"""

__all__ = ["Allocator", "SMALLEST"]

#: Bytes of the smallest block.
SMALLEST = 32


class Allocator:
    """Blocks of a region of memory.

    Parameters
    ----------
    base : int
        First byte address; a multiple of ``size``.
    size : int
        Bytes; a power of two, at least SMALLEST.

    Members
    -------
    used : int
        Bytes in blocks that are given out.
    splits, looks : int
        Halvings, and blocks looked at in putting halves together, for which the kernel has not charged: it sets them to
        0 when it does.
    """

    __slots__ = ("base", "size", "used", "splits", "looks", "_free", "_given", "_top")

    def __init__(self, base, size):
        if size < SMALLEST or size & size - 1:
            raise ValueError(f"the size must be a power of two, at least {SMALLEST}, not {size}")
        if base % size:
            raise ValueError(f"the base 0x{base:X} must be a multiple of the size {size}")
        self.base = base
        self.size = size
        self.used = 0
        self.splits = 0
        self.looks = 0
        self._top = size.bit_length() - 1
        self._free = [[] for _ in range(self._top + 1)]  # by the logarithm of the block's size
        self._free[self._top].append(base)
        self._given = {}  # address of a block given out -> logarithm of its size

    def allocate(self, size):
        """Address of a block of at least ``size`` bytes, aligned to its own size; None if there is none now.

        ValueError for less than 0 bytes.
        """
        if size < 0:
            raise ValueError(f"a block has 0 bytes or more, not {size}")
        order = (size - 1).bit_length() if size > SMALLEST else 5
        if order > self._top:
            return None
        free = self._free
        blocks = free[order]
        if blocks:
            address = blocks.pop()
        else:
            address = self._split(order)
            if address is None:
                self._merge()
                address = blocks.pop() if blocks else self._split(order)
                if address is None:
                    return None
        self._given[address] = order
        self.used += 1 << order
        return address

    def free(self, address):
        """Takes a block back. ValueError if ``address`` is not one that was given out."""
        order = self._given.pop(address, None)
        if order is None:
            raise ValueError(f"0x{address:06X} is not a block that was allocated; was it freed before?")
        self.used -= 1 << order
        self._free[order].append(address)

    def size_of(self, address):
        """Bytes of a block that is given out. ValueError if ``address`` is not one."""
        order = self._given.get(address)
        if order is None:
            raise ValueError(f"0x{address:06X} is not a block that was allocated; was it freed before?")
        return 1 << order

    def _split(self, order):
        """Makes a block of ``order`` from the next larger one."""
        free = self._free
        larger = order + 1
        while larger <= self._top and not free[larger]:
            larger += 1
        if larger > self._top:
            return None
        address = free[larger].pop()
        while larger > order:
            larger -= 1
            self.splits += 1
            free[larger].append(address + (1 << larger))
        return address

    def _merge(self):
        """Puts halves together again, from the smallest up."""
        base = self.base
        for order in range(5, self._top):
            blocks = self._free[order]
            if len(blocks) < 2:
                continue
            blocks.sort()
            self.looks += len(blocks)
            kept = []
            for address in blocks:
                if kept and address == kept[-1] + (1 << order) and not (kept[-1] - base) >> order & 1:
                    self._free[order + 1].append(kept.pop())
                else:
                    kept.append(address)
            blocks[:] = kept

"""A netlist, its cells on a grid, and the moves of simulated annealing: two places of the grid exchange their cells.

The cost of a placement is the sum over all nets of half the perimeter of the rectangle around their pins. Cells have
places on a square grid, at most one each; pads lie around it and do not move."""

import math
import re
from pathlib import Path

from nectar.software.arithmetic import Work

#: A pin of a net in a rectangle that grows: its cell, the cell's place, two coordinates, four comparisons.
PIN = Work(load=4, add=6, branch=5)
#: A net whose cost is computed: its pins are found; two differences and a sum.
NET = Work(load=3, add=8, branch=1, call=1)
#: A random number: a multiplication and an addition (a linear congruence), and its range.
DRAW = Work(multiply=2, add=4)
#: A move: two places are drawn, exchanged, and perhaps exchanged back.
MOVE = 2 * DRAW + Work(load=8, store=8, add=12, branch=6, call=1)
#: Whether a move that makes the placement worse is taken: exp(-change / temperature) against a random number.
CHANCE = DRAW + Work(float_divide=1, float_function=1, float_compare=1, float_convert=1)
#: A move of another CAB is made here.
APPLY = Work(load=4, store=4, add=4, branch=1)

_CELL = re.compile(r"[lf]\d+\Z")


class Netlist:
    """What is to be placed.

    Members
    -------
    cells : list of str
    nets : list of (list of int, list of (int, int))
        Of each net the numbers of its cells, and the coordinates of its pads.
    pins : list of int
        How many cells and pads each net has.
    nets_of : list of list of int
        The nets of each cell.
    side : int
        Of the grid: it has ``side`` × ``side`` places, from (1, 1) on.
    """

    def __init__(self, text):
        lines = re.sub("\n ", " ", re.sub("#.*\n", "", text)).splitlines()
        named = [line.split() for line in lines]
        cells = sorted({name for net in named for name in net if _CELL.match(name)})
        pads = list(dict.fromkeys(name for net in named for name in net if not _CELL.match(name)))
        number = {name: index for index, name in enumerate(cells)}
        self.cells = cells
        self.side = math.isqrt(len(cells) - 1) + 1
        at = dict(zip(pads, self._around(len(pads)), strict=True))
        self.nets = [
            ([number[name] for name in net if name in number], [at[name] for name in net if name in at])
            for net in named
        ]
        self.pins = [len(members) + len(pads) for members, pads in self.nets]
        self.nets_of = [[] for _ in cells]
        for index, (members, _) in enumerate(self.nets):
            for cell in members:
                self.nets_of[cell].append(index)

    @classmethod
    def of_file(cls, name):
        """The netlist in a file beside this one."""
        return cls((Path(__file__).parent / name).read_text())

    def _around(self, count):
        """Coordinates of ``count`` pads around the grid, at equal distances."""
        edge = self.side + 1
        for index in range(count):
            side, along = divmod(4 * edge * index // count, edge)
            yield [(along, 0), (edge, along), (edge - along, edge), (0, edge - along)][side]

    def cost(self, index, places):
        """Half the perimeter of net ``index``; ``places`` are the coordinates of the cells."""
        members, pads = self.nets[index]
        across, down = zip(*[places[cell] for cell in members], *pads, strict=True)
        return max(across) - min(across) + max(down) - min(down)


class Placement:
    """Where the cells are. ``grid`` has the cell of each place, or None; ``places`` the coordinates of each cell."""

    def __init__(self, netlist):
        self.netlist = netlist
        count = netlist.side * netlist.side
        self.grid = [index if index < len(netlist.cells) else None for index in range(count)]
        self.places = [self.at(index) for index in range(len(netlist.cells))]

    def at(self, place):
        """The coordinates of a place."""
        return 1 + place % self.netlist.side, 1 + place // self.netlist.side

    def cost(self):
        """The cost of all nets."""
        return sum(self.netlist.cost(index, self.places) for index in range(len(self.netlist.nets)))

    def exchange(self, a, b):
        """The cells at places ``a`` and ``b`` change over."""
        grid = self.grid
        grid[a], grid[b] = grid[b], grid[a]
        for place in (a, b):
            if grid[place] is not None:
                self.places[grid[place]] = self.at(place)

    def anneal(self, own, tries, temperature, draw):
        """Tries ``tries`` moves between the places ``own``. Returns those made, a list of (place, place), and the
        Work of all. ``draw``: a ``random.Random``."""
        netlist, places, made = self.netlist, self.places, []
        nets_seen = pins_seen = worse = 0
        for _ in range(tries):
            a, b = draw.sample(own, 2)
            moved = [cell for cell in (self.grid[a], self.grid[b]) if cell is not None]
            nets = {net for cell in moved for net in netlist.nets_of[cell]}
            before = sum(netlist.cost(net, places) for net in nets)
            self.exchange(a, b)
            change = sum(netlist.cost(net, places) for net in nets) - before
            nets_seen += 2 * len(nets)
            pins_seen += 2 * sum(netlist.pins[net] for net in nets)
            if change > 0:
                worse += 1
                if draw.random() >= math.exp(-change / temperature):
                    self.exchange(a, b)
                    continue
            made.append((a, b))
        return made, tries * MOVE + nets_seen * NET + pins_seen * PIN + worse * CHANCE

"""Multiplies two matrices on a ring of nodes: a program for the Intel iPSC/2, on Nectar.

    nectar run examples/nx_matrix.py [--order 24] [--nodes N]

Each node has some rows of A, of B and of the product. The rows of B go round the ring: while a node multiplies those
that it has, the next ones are on their way into its other buffer."""

import argparse
from array import array

from nectar.software import ProgramError
from nectar.software.arithmetic import Work
from nectar.software.nx import NX, gcolx, gdhigh, gsync, irecv, isend, msgwait, mynode, numnodes

TOPOLOGY = "hub:4"

#: The type of a message with rows of B.
ROWS = 1
#: An element of B, times a factor that is in a register, is added to an element of the product.
STEP = Work(float_multiply=1, float_add=1, load_double=2, store_double=1, add=4, branch=1)


def entry(row, column):
    """An entry of A; B is A transposed."""
    return float((3 * row + 5 * column) % 11 - 4)


def share(order, node):
    """The rows of a node."""
    return range(order * node // numnodes(), order * (node + 1) // numnodes())


def multiply(process, order):
    """The program of every node. Returns the microseconds that the slowest node took, and the product."""
    me, nodes = mynode(), numnodes()
    mine = share(order, me)
    a = [[entry(row, column) for column in range(order)] for row in mine]
    b = array("d", (entry(column, row) for row in mine for column in range(order)))
    product = array("d", bytes(8 * order * len(mine)))
    gsync()
    begin = process.cab.now_us()
    for turn in range(nodes):
        rows = share(order, (me + turn) % nodes)
        coming = share(order, (me + turn + 1) % nodes)
        further = turn + 1 < nodes
        if further:
            other = array("d", bytes(8 * order * len(coming)))
            receiving = irecv(ROWS, other, 8 * len(other))
            sending = isend(ROWS, b, 8 * len(b), (me - 1) % nodes, 0)
        for index, factors in enumerate(a):
            for at, row in enumerate(rows):
                for column in range(order):
                    product[index * order + column] += factors[row] * b[at * order + column]
            process.cab.compute(len(rows) * order * STEP)
        if further:
            msgwait(receiving)
            msgwait(sending)
            b = other
    took = [process.cab.now_us() - begin]
    gdhigh(took, 1, [0.0])
    whole = array("d", bytes(8 * order * order))
    gcolx(product, [8 * order * len(share(order, node)) for node in range(nodes)], whole)
    return took[0], whole


def expected(order):
    """The product, row by row."""
    rows = [[entry(row, column) for column in range(order)] for row in range(order)]
    return array("d", (sum(a * b for a, b in zip(one, other, strict=True)) for one in rows for other in rows))


async def main(system, arguments):
    """Runs the program on one node and on all, tells how long it took."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/nx_matrix.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--order", type=int, default=24, help="rows and columns of the matrices (default: 24)")
    parser.add_argument("--nodes", type=int, default=len(system.cabs), help="CABs that take part (default: all)")
    options = parser.parse_args(arguments)
    if options.order < 1:
        raise ProgramError("--order must be 1 at least")
    nx = NX(system, options.nodes)
    nx.load(multiply, options.order)
    await nx.run()
    for took, product in nx.results.values():
        if product != expected(options.order):
            raise ProgramError("the product is wrong")
    alone = system.cabs[0].compute_us(options.order**3 * STEP)
    print(f"{nx.numnodes} nodes: {took / 1000:.2f} ms, {alone / took:.2f} times as fast as one node computes")
    system.report("nx_matrix.time", took, "us")

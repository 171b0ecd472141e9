"""Computes pi by the midpoint rule, as programs for MPI do: each rank sums its share, rank 0 has the sum of all.

    nectar mpirun -n 4 examples/mpi_pi.py [INTERVALS]

It runs unchanged under a real MPI, too: mpirun -n 4 python examples/mpi_pi.py
"""

import math
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
begin = MPI.Wtime()
intervals = comm.bcast(int(sys.argv[1]) if sys.argv[1:] else 1000)
step = 1 / intervals
part = sum(4 / (1 + ((number + 0.5) * step) ** 2) for number in range(comm.rank, intervals, comm.size))
pi = comm.reduce(part * step)
if comm.rank == 0:
    print(f"{comm.size} ranks: pi is {pi:.6f}, off by {abs(pi - math.pi):.1e}; {1e6 * (MPI.Wtime() - begin):.0f} us")

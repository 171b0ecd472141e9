"""MPI on Nectarine, with the names of mpi4py (docs/mpi.md)."""

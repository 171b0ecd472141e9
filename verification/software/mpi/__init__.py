"""Tests of MPI on Nectarine."""

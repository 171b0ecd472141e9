"""Tests of the programs in ``examples/`` that are run on several numbers of CABs."""

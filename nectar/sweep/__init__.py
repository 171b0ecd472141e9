"""Sweeps (docs/sweep.md): ``grid`` says which runs there are, ``check`` refuses what cannot run, ``run`` runs one,
``folder`` keeps what has ended, ``table`` makes tables and plots of it."""

"""Caches of a test's own, which need not make again what the tests' common cache has."""

import shutil

__all__ = ["verilog_of"]


def verilog_of(simulator, cache):
    """Makes the directory ``cache``, with the Verilog of all boards in the cache where ``simulator`` is kept."""
    cache.mkdir()
    for file in [*simulator.parent.glob("verilog-*"), *simulator.parent.glob(".verilog-*")]:
        shutil.copy(file, cache)

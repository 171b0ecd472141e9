"""Simulated times as people read them."""

__all__ = ["time_text"]


def time_text(picoseconds):
    """``picoseconds`` in the unit that suits it: ``0 s``, ``12.500 us``, ``3.142 ms``."""
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if picoseconds >= size:
            return f"{picoseconds / size:.3f} {unit}"
    return f"{picoseconds} ps" if picoseconds else "0 s"

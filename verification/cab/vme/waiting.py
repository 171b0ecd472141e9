"""Waiting for time and for lines, under cocotb."""

import random

from cocotb.triggers import Event, First, Timer
from cocotb.utils import get_sim_time

__all__ = ["between", "now", "pause", "until"]


def now():
    """Simulated time in ns."""
    return get_sim_time("ps") / 1000


async def pause(ns):
    """Lets ``ns`` pass, to the ps."""
    if ns > 0:
        await Timer(max(1, round(ns * 1000)), "ps")


def between(least, most):
    """Random time in ns."""
    return random.uniform(least, most)


async def until(bus, condition, ns=None):
    """Waits until ``condition()`` holds, looked at whenever a line of ``bus`` changes; whether it came to hold within
    ``ns``."""
    if condition():
        return True
    event = Event()

    def look(name, old, new):
        if condition():
            event.set()

    bus.watch(look)
    try:
        if ns is None:
            await event.wait()
        else:
            await First(event.wait(), Timer(max(1, round(ns * 1000)), "ps"))
        return event.is_set()
    finally:
        bus.unwatch(look)

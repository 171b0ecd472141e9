"""Host time of the software of CABs, which is Python: what ``nectar bench python`` measures.

Compared with the host time of the engine's core for the same datagrams, from the call of the send until the receiver
has freed the message, on fast boards, in one thread."""

import statistics

from . import workloads
from .outcome import Outcome

__all__ = ["measure"]

#: Messages of a run, and runs; the median counts.
_MESSAGES, _ROUNDS = 1000, 7
#: Bytes of a message: the shortest, and one that fills a packet.
_SIZES = (1, 1000)
_CABS = 16


def _pair(messages, size):
    return workloads.pair(messages, size, fast=True, threads=1)


def _ring(messages, size):
    return workloads.ring(_CABS, messages // _CABS, size, fast=True, threads=1)


def measure(scale):
    """Outcomes: Python over core, for two CABs of which one sends, and for 16 that all send."""
    rounds = max(1, round(_ROUNDS * scale))
    outcomes = []
    for name, workload in ("pair", _pair), (f"{_CABS} CABs", _ring):
        for size in _SIZES:
            workload(2 * _CABS, size)
            runs = [workload(_MESSAGES, size) for _ in range(rounds)]
            count = runs[0].carried // size
            python = statistics.median(run.python_seconds for run in runs) / count
            core = statistics.median(run.processor_seconds - run.python_seconds for run in runs) / count
            outcomes.append(
                Outcome(
                    python / core,
                    "",
                    None,
                    f"{name} on a HUB, {count} datagrams of {size} bytes: {python * 1e6:.1f} us of Python each, "
                    f"{core * 1e6:.1f} us of the engine's core",
                    at_most=True,
                    measured={"python": python, "core": core, "messages": count},
                    part=f"{name.replace(' ', '')}.{size}",
                )
            )
    return outcomes

"""What the campaign has cocotb run: every claim of a bench on every mutant, until one claim fails. Imported inside the
simulator only.

Each pair of a mutant and a claim is a cocotb test of its own, which always passes; what it found is added to a file, a
line each."""

import importlib
import json
import os
from pathlib import Path

import cocotb
from cocotb.triggers import SimTimeoutError, with_timeout
from cocotb.utils import get_sim_time

from .mutants import SELECT

__all__ = ["FOUND", "ORDER", "trial"]

#: Environment variable with what is to be done: ``bench`` (module), ``claims``, ``mutants`` (numbers), and perhaps
#: ``share``: claims are cut off when that share of their time is over, and have then found nothing.
ORDER = "NECTAR_MUTANTS"
#: File that the findings go to.
FOUND = "found.jsonl"

_order = json.loads(os.environ.get(ORDER, '{"bench": "nectar", "claims": [], "mutants": [0]}'))
_bench = importlib.import_module(_order["bench"])
_pairs = [f"{number}:{claim}" for number in _order["mutants"] for claim in _order["claims"]]
_killed = set()
#: Simulated time, in ns, that each claim took without a mutant.
_times = {}
#: A claim that takes so many times as long has failed: waiting for its own time-out would take hours.
_SLOWER = 5


def _note(**what):
    with Path(FOUND).open("a") as file:
        file.write(json.dumps(what) + "\n")


@cocotb.test()
@cocotb.parametrize(pair=_pairs)
async def trial(dut, pair):
    """One claim on one mutant."""
    number, _, name = pair.partition(":")
    number = int(number)
    if number in _killed:
        return
    claim = getattr(_bench, name)
    getattr(dut, SELECT).value = number
    _note(mutant=number, claim=name, begun=True)
    reason, begun = None, get_sim_time("ns")
    try:
        run = claim.func(dut)
        share = _order.get("share")
        limit = (round((share or _SLOWER) * _times[name]) + 1000, "ns") if name in _times else claim.timeout
        await (with_timeout(run, *limit) if limit else run)
        _times.setdefault(name, get_sim_time("ns") - begun)
    except SimTimeoutError:
        if not share or name not in _times:
            reason = f"still running after {get_sim_time('ns') - begun:.0f} ns"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
    except BaseException as error:  # cocotb cancels us when a task that the claim has started fails
        _killed.add(number)
        _note(mutant=number, claim=name, reason=f"a task of the claim failed ({type(error).__name__})")
        raise
    if reason:
        _killed.add(number)
    _note(mutant=number, claim=name, reason=reason)

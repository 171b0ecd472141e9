"""Times of broadcasts and barriers on the RTL, by multicast and by messages.

``python -m nectar.verification.software.mpi.figures`` measures the tables of docs/mpi-collectives.md and writes them
into the page; it takes some minutes.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from nectar.verification.imports import ROOT

__all__ = ["LENGTHS", "RANKS", "measured", "tables"]

PAGE = Path(ROOT) / "docs" / "mpi-collectives.md"
RANKS = (2, 4, 8, 12, 16, 24)
LENGTHS = (0, 100, 101, 1000, 4000, 16000)
_BEGIN, _END = "<!-- times of broadcasts -->\n", "<!-- end of times -->\n"

#: What each rank runs. All ranks make the call at the same time; the figure is the time until the last one returns.
_PROGRAM = """
import json
import sys
from mpi4py import MPI
from nectar.software.mpi.collective.broadcast import barrier_by_messages, barrier_by_multicast, bcast_by_messages

comm = MPI.COMM_WORLD
ways, lengths = json.loads(sys.argv[1])


def took(name, operation):
    for _ in range(2):  # first contact is made the first time
        begin = comm.bcast(MPI.Wtime() + 0.002)
        comm.communicator.process.cab.sleep((begin - MPI.Wtime()) * 1e6)  # all begin together
        comm._collective(name, operation)
        ends = comm.gather(MPI.Wtime())
    return ends and round((max(ends) - begin) * 1e6, 1)


def broadcast(way, length):
    data = bytes(length) if comm.rank == 0 else None

    async def multicast(exchange):
        await (exchange.multicast(data) if data is not None else exchange.from_multicast(0))

    async def tree(exchange):
        await bcast_by_messages(exchange, data, 0)

    async def one_by_one(exchange):
        if data is None:
            await exchange.receive(0)
        else:
            for each in [await exchange.isend(data, to) for to in range(1, exchange.size)]:
                await each.wait()

    return took("Bcast", {"multicast": multicast, "tree": tree, "one by one": one_by_one}[way])


found = {f"{way} {length}": broadcast(way, length) for way in ways for length in lengths}
found["barrier multicast"] = took("Barrier", barrier_by_multicast)
found["barrier messages"] = took("Barrier", barrier_by_messages)
if comm.rank == 0:
    print(json.dumps(found))
"""


def measured(ranks, ways, lengths):
    """Microseconds of ``"WAY LENGTH"`` and ``"barrier WAY"``; up to 16 ranks are on one HUB.

    Ways: multicast, tree, one by one."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "times.py"
        program.write_text(_PROGRAM)
        nectar = Path(sys.executable).with_name("nectar")
        shape = ["--topology", f"hub:{ranks}"] if ranks <= 16 else []  # else a mesh of HUBs
        command = [nectar, "mpirun", "-n", str(ranks), *shape, str(program), json.dumps([ways, lengths])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def tables():
    """Both tables, as Markdown."""
    found = {ranks: measured(ranks, ["multicast", "tree"], LENGTHS) for ranks in RANKS}
    rows = [
        "| ranks | " + " | ".join(f"{length:,} bytes" for length in LENGTHS) + " |",
        "|---|" + "---|" * len(LENGTHS),
    ]
    for ranks, times in found.items():
        cells = (f"{times[f'multicast {length}']:.0f} / {times[f'tree {length}']:.0f}" for length in LENGTHS)
        rows.append(f"| {ranks} | " + " | ".join(cells) + " |")
    rows += ["", "| Barrier | " + " | ".join(f"{ranks} ranks" for ranks in RANKS) + " |", "|---|" + "---|" * len(RANKS)]
    for way in ("multicast", "messages"):
        cells = (f"{times[f'barrier {way}']:.0f}" for times in found.values())
        rows.append(f"| by {way} | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    text = PAGE.read_text()
    made = f"{_BEGIN}\n{tables()}\n{_END}"
    PAGE.write_text(re.sub(f"{_BEGIN}(.*\n)*?{_END}", lambda _: made, text))

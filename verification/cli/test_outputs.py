"""Everything that ``nectar run`` can write, at once: the examples take the same simulated time as without."""

import json
from pathlib import Path

import pytest

from nectar.sim.recording import Recording

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
SMALL = ["--topology", "hub:2"]
#: Path of an example → the command that runs it; options and arguments with which it does not take long.
PROGRAMS = {
    "annealing/annealing": (["run", *SMALL], ["--rounds", "2", "--moves", "16", "--cabs", "2"]),
    "fft/fft1d": (["run", *SMALL], ["--points", "64", "--cabs", "2"]),
    "fft/fft2d": (["run", *SMALL], ["--order", "8", "--cabs", "2"]),
    "hub_monitor": (["run"], []),
    "message_time": (["run"], ["--size", "1024"]),
    "mpi_pi": (["mpirun", "-n", "2", *SMALL], ["10"]),
    "node_files": (["run"], []),
    "nx_matrix": (["run"], []),
    "octree/octree": (["run", *SMALL], ["--size", "8", "--level", "1", "--cabs", "2"]),
    "production/production": (["run", *SMALL], ["queens", "--size", "3", "--cabs", "2"]),
    "request": (["run"], []),
    "send_file": (["run"], ["LICENSE"]),
    "sockets": (["run"], ["1"]),
    "stream": (["run"], ["--kbytes", "20"]),
    "transactions/transactions": (["run", *SMALL], ["--transfers", "2", "--accounts", "8", "--cabs", "2"]),
    "vision/vision": (["run", *SMALL], ["--size", "16", "--frames", "2", "--cabs", "2"]),
}
OUTPUTS = {
    "--record": "run.events",
    "--report": "run.html",
    "--trace": "run.pftrace",
    "--pcap": "run.pcapng",
    "--waves": "run.fst",
    "--wave-window": "0us:60us",
}


def test_every_example_is_run():
    programs = {
        str(path.relative_to(EXAMPLES).with_suffix(""))
        for path in EXAMPLES.rglob("*.py")
        if "async def main(" in (text := path.read_text()) or "from mpi4py import" in text
    }
    assert programs == PROGRAMS.keys()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "request" else [pytest.mark.nightly]) for name in PROGRAMS]
)
def test_all_outputs_at_once_change_nothing(here, simulator, name):
    (here.folder / "LICENSE").write_text((EXAMPLES.parent / "LICENSE").read_text())
    (command, *options), arguments = PROGRAMS[name]
    program = [EXAMPLES / f"{name}.py", *arguments]
    plain = here(command, *options, "--json", "plain.json", *program)
    outputs = [word for pair in OUTPUTS.items() for word in pair]
    done = here(command, *options, "--json", "all.json", *outputs, *program)
    assert (plain.returncode, done.returncode) == (0, 0), done
    times = [
        {row["id"]: row["value"] for row in json.loads((here.folder / file).read_text())["results"]}[
            "run.simulated_time"
        ]
        for file in ("plain.json", "all.json")
    ]
    assert times[0] == times[1] > 0
    assert all((here.folder / file).stat().st_size > 500 for option, file in OUTPUTS.items() if "window" not in option)
    with Recording(here.folder / "run.events") as recording:
        assert recording.complete and recording.end_ps == pytest.approx(times[0] * 1000)

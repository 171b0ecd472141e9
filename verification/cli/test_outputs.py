"""Everything that ``nectar run`` can write, at once: the examples take the same simulated time as without."""

import json
from pathlib import Path

import pytest

from nectar.sim.recording import Recording

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
#: Name of an example → its arguments, none of which takes long.
PROGRAMS = {
    "hub_monitor": [],
    "message_time": ["--size", "1024"],
    "node_files": [],
    "nx_matrix": [],
    "request": [],
    "send_file": ["LICENSE"],
    "stream": ["--kbytes", "20"],
}
OUTPUTS = {
    "--record": "run.events",
    "--report": "run.html",
    "--trace": "run.pftrace",
    "--pcap": "run.pcapng",
    "--waves": "run.fst",
    "--wave-window": "0us:60us",
}


def test_every_example_in_a_file_of_its_own_is_run():
    programs = {path.stem for path in EXAMPLES.glob("*.py") if "async def main(" in path.read_text()}
    assert programs == PROGRAMS.keys()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "request" else [pytest.mark.nightly]) for name in PROGRAMS]
)
def test_all_outputs_at_once_change_nothing(here, simulator, name):
    (here.folder / "LICENSE").write_text((EXAMPLES.parent / "LICENSE").read_text())
    arguments = [EXAMPLES / f"{name}.py", *PROGRAMS[name]]
    plain = here("run", *arguments, "--json", "plain.json")
    done = here("run", *arguments, "--json", "all.json", *(word for pair in OUTPUTS.items() for word in pair))
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

"""Everything that ``nectar run`` can write, at once: the examples take the same simulated time as without."""

import json

import pytest

from nectar.sim.recording import Recording
from nectar.verification.cli.examples import EXAMPLES, PROGRAMS

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

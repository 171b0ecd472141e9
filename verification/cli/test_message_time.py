"""``examples/message_time.py``: what it prints and reports, alone and in a sweep, and what it refuses."""

import csv
import re
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "message_time.py"
FAST = ("--set", "boards=fast")


def test_it_prints_the_time_and_the_rate_of_a_message(here):
    done = here("run", PROGRAM, "--boards", "fast", "--size", "4096", "--switching", "circuit")
    assert (done.returncode, done.stderr) == (0, "")
    size, time, rate = re.fullmatch(
        r"(\d+) bytes from CAB1 to CAB2 in ([\d.]+) us: ([\d.]+) Mbyte/s\n", done.stdout
    ).groups()
    assert size == "4096" and abs(4096 / float(time) - float(rate)) < 0.01 and 5 < float(rate) < 12.5


def test_a_sweep_shows_that_each_hub_on_the_way_takes_time(here, tmp_path):
    done = here("sweep", PROGRAM, *FAST, "--set", "topology=chain:2x1,chain:4x1", "--set", "size=64", "-o", "r")
    assert done.returncode == 0, done
    with open(tmp_path / "r" / "table.csv") as file:
        near, far = (float(row["message.time"]) for row in csv.DictReader(file))
    assert near < far


def test_a_size_or_a_network_that_cannot_be_is_refused(here):
    run = ["run", PROGRAM, "--boards", "fast"]
    assert here.refused(*run, "--size", "0").endswith("--size 0: a message has 1 to 65536 bytes")
    assert here.refused(*run, "--topology", "hub:1").endswith("a message needs two CABs; give another --topology")
    assert here.refused("sweep", PROGRAM, *FAST, "--set", "switching=slow", "-o", "r").startswith(
        f"{PROGRAM}: argument --switching: invalid choice: 'slow'"
    )

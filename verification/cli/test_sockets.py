"""``examples/sockets.py``: what it prints and reports, and what it does with a wrong argument."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "sockets.py"


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.mark.parametrize("boards", [pytest.param("rtl", marks=pytest.mark.nightly), "fast"])
def test_every_interface_has_its_row(nectar, simulator, boards):
    done = nectar("run", "--boards", boards, PROGRAM, "8", "--json", "results.json")
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["1", "byte", "8", "kbyte"]
    assert [row[:26].strip() for row in rows] == [
        "shared memory, datagrams",
        "memory of the nodes, DMA",
        "shared memory, byte stream",
        "datagram sockets",
        "stream sockets",
    ]
    found = {each["id"]: each["value"] for each in json.loads((nectar.folder / "results.json").read_text())["results"]}
    assert found["sockets.datagrams.latency"] < found["sockets.stream.latency"] < found["sockets.tcp.latency"]
    assert found["sockets.udp.rate"] < found["sockets.datagrams.rate"] and found["sockets.tcp.rate"] > 10


def test_a_number_of_kbyte_that_is_none(nectar):
    done = nectar("run", "--boards", "fast", PROGRAM, "0")
    assert done.returncode == 2 and "KBYTES is a number of kbyte, 1 or more" in done.stderr

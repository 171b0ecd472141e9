"""What is measured at a HUB's pins is what comes out there: a HUB that does worse is found to do worse."""

import subprocess
import sys

import pytest

from nectar.verification.reproduce import pins
from nectar.verification.reproduce.catalogue import FACTS
from nectar.verification.reproduce.facts import Verdict

#: To compile the HUB of 16 ports takes half a minute.
pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "spoil, value",
    [
        (lambda sent: sent, 1024),
        (lambda sent: sent[:700] + sent[701:], 695),  # behind the close all of the first connection and the start
        (lambda sent: [], 0),
    ],
    ids=["as it is", "a symbol lost", "nothing"],
)
def test_a_packet_that_does_not_come_whole_is_no_largest_packet(monkeypatch, spoil, value):
    play = pins._play
    monkeypatch.setattr(pins, "_play", lambda *arguments: [spoil(port) for port in play(*arguments)])
    found = pins.largest_packet()
    assert found.value == value
    assert FACTS["H14"].verdict(found) is (Verdict.HOLDS if value == 1024 else Verdict.FAILS)


def test_a_hub_that_is_slower_is_found_to_be(monkeypatch):
    """One cycle more for whatever leaves; and connections that stand only in every second cycle."""
    play = pins._play
    monkeypatch.setattr(
        pins, "_play", lambda *arguments: [[(cycle + 1, symbol) for cycle, symbol in port] for port in play(*arguments)]
    )
    pins._latencies.cache_clear()
    assert (pins.setup_cycles().value, pins.transfer_cycles().value) == (11, 6)
    monkeypatch.setattr(
        pins, "_play", lambda *arguments: [[(2 * cycle, symbol) for cycle, symbol in port] for port in play(*arguments)]
    )
    assert pins.connection_rate().value == pytest.approx(16 / 31)
    pins._latencies.cache_clear()


def test_a_hub_is_measured_without_cocotb():
    """As behind ``make demo``, which does not install it."""
    program = (
        "import importlib.metadata, sys\n"
        "from nectar.cli import main\n"
        "version = importlib.metadata.version\n"
        "def without(name):\n"
        "    if name.startswith('cocotb'):\n"
        "        raise importlib.metadata.PackageNotFoundError(name)\n"
        "    return version(name)\n"
        "importlib.metadata.version = without\n"
        "sys.modules.update({'cocotb': None, 'cocotb_tools': None, 'pytest': None})\n"
        "sys.exit(main(['reproduce', 'H2', 'S1.cabs']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=False)
    assert done.returncode == 0 and "3 of 3 figures hold" in done.stdout, done.stdout + done.stderr

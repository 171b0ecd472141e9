"""Which scenarios run on RTL boards every day: those of one file of each layer, and all of the back ends. The others do
so at night.

Fast boards do what RTL boards do: ``sim/fast`` compares them cycle by cycle, with random traffic.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent

#: Files below this folder whose scenarios run on RTL boards every day, too.
EVERY_DAY = {
    "test_post.py",
    "test_protected_tasks.py",
    "test_recovery.py",
    "transport/test_datagram_room.py",
    "transport/test_stream_restart.py",
    "nectarine/test_plain.py",
    "nx/test_messages.py",
    "mpi/test_pointtopoint.py",
}


def pytest_itemcollected(item):
    """Any other scenario on RTL boards is for the night."""
    asked = item.callspec.params if hasattr(item, "callspec") else {}
    on_rtl = any(isinstance(value, str) and value == "rtl" for value in asked.values())
    name = item.path.relative_to(HERE).as_posix()
    if on_rtl and name not in EVERY_DAY and not name.startswith("backends/"):
        item.add_marker(pytest.mark.nightly)

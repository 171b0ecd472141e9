"""``nectar commands`` and ``nectar map`` print what the code's tables hold, all of it."""

import json
import re
from pathlib import Path

from nectar.hdl.cab.addresses import REGIONS, REGISTERS
from nectar.hdl.hub.commands import COMMANDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, MAP = DOCS / "commands.md", DOCS / "map.md"


def _run(nectar, name):
    done = nectar(name, "--json", "out.json")
    assert done.returncode == 0 and not done.stderr
    results = json.loads((nectar.folder / "out.json").read_text())["results"]
    for result in results:
        assert list(result)[:5] == ["id", "value", "unit", "target", "ok"]
        assert result["target"] is None and result["ok"] is None
    assert len({result["id"] for result in results}) == len(results)
    return done.stdout, {result["id"]: result for result in results}


def test_commands_prints_every_row_of_the_table(nectar):
    text, results = _run(nectar, "commands")
    assert len(results) == len(COMMANDS)
    for row in COMMANDS:
        result = results[f"command.{row.op.name.lower()}"]
        assert result["value"] == row.op
        assert result["errors"] == [error.name for error in row.errors]
        assert result["class"] == ("supervisor" if row.op & 0x80 else "user")
        lines = text[text.index(f"0x{row.op:02X}  {row.name}  (") :].splitlines()[:6]
        for said in (row.executor.value, row.parameter, row.reply, row.effect, row.use, *result["errors"]):
            assert any(said in line for line in lines)


def test_commands_come_in_the_order_of_their_opcodes(nectar):
    text, _ = _run(nectar, "commands")
    opcodes = [line[:4] for line in text.splitlines() if line.startswith("0x")]
    assert opcodes == [f"0x{opcode:02X}" for opcode in sorted(int(row.op) for row in COMMANDS)]


def test_the_page_of_commands_is_up_to_date(nectar):
    done = nectar("commands", "--markdown")
    assert done.returncode == 0 and not done.stderr
    assert PAGE.read_text() == done.stdout, "make it anew: nectar commands --markdown > docs/commands.md"
    rows = [line for line in done.stdout.splitlines() if line.startswith("| `0x")]
    assert len(rows) == len(COMMANDS)
    for row, line in zip(sorted(COMMANDS, key=lambda row: row.op), rows, strict=True):
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert cells[:5] == [f"`0x{row.op:02X}`", row.name, row.parameter, row.effect, row.reply]
        assert cells[6:] == [row.executor.value, row.use]


def test_map_prints_every_region_register_and_field(nectar):
    text, results = _run(nectar, "map")
    assert len(results) == len(REGIONS) + len(REGISTERS)
    for region in REGIONS.values():
        assert results[f"region.{region.name}"]["value"] == region.base
        assert results[f"region.{region.name}"]["end"] == region.base + region.size
        assert f"0x{region.base:06X}-0x{region.base + region.size - 1:06X}  {region.name}" in text
    for register in REGISTERS:
        result = results[f"register.{register.name}"]
        assert result["value"] == 0x200000 + register.offset
        block = text[text.index(f"0x{result['value']:06X}  {register.access}") :]
        for item, line in zip(register.fields, block.splitlines()[1:], strict=False):
            assert line.split(maxsplit=2) == [line.split()[0], item.name, item.purpose]
        assert [item["name"] for item in result["fields"]] == [item.name for item in register.fields]


def test_the_page_of_registers_is_up_to_date(nectar):
    done = nectar("map", "--markdown")
    assert done.returncode == 0 and not done.stderr
    assert MAP.read_text() == done.stdout, "make it anew: nectar map --markdown > docs/map.md"
    for register in REGISTERS:
        row = f"| `0x{0x200000 + register.offset:06X}` | {register.access} | `{register.name}` | | {register.purpose} |"
        following = done.stdout[done.stdout.index(row) :].splitlines()[1:]
        for item, line in zip(register.fields, following, strict=False):
            assert line.startswith(f"| | | `{item.name}` | ") and line.endswith(f" | {item.purpose} |")

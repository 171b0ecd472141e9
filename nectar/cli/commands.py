"""Prints the HUB's command table."""

from .errors import DONE
from .results import Result, add_json_option, check_target, save_json

HELP = "print the HUB's command table"


def configure(parser):
    """Options of ``nectar commands``."""
    add_json_option(parser)


def _result(row):
    return Result(f"command.{row.op.name.lower()}", int(row.op), "opcode", more={
        "name": row.name, "class": "supervisor" if row.supervisor else "user", "group": row.group.name.lower(),
        "executor": row.executor.value, "parameter": row.parameter, "reply": row.reply, "effect": row.effect,
        "errors": [error.name for error in row.errors], "use": row.use})


def execute(options):
    """Prints the table in the order of its opcodes."""
    from ..hdl.hub.commands import COMMANDS
    check_target("--json", options.json)
    results = [_result(row) for row in sorted(COMMANDS, key=lambda row: row.op)]
    for result in results:
        row = result.more
        print(f"0x{result.value:02X}  {row['name']}  ({row['class']}; {row['executor']})")
        print(f"      effect     {row['effect']}")
        print(f"      parameter  {row['parameter']}")
        print(f"      reply      {row['reply']}")
        print(f"      errors     {', '.join(row['errors']) or 'none'}")
        print(f"      use        {row['use']}")
    users = sum(result.more["class"] == "user" for result in results)
    print(f"{users} user commands, {len(results) - users} supervisor commands")
    save_json(options.json, results)
    return DONE

"""Prints the HUB's command table."""

from .errors import DONE
from .results import Result, add_json_option, check_target, save_json

HELP = "print the HUB's command table"


def configure(parser):
    """Options of ``nectar commands``."""
    parser.add_argument("--markdown", action="store_true", help="print it as the page docs/commands.md")
    add_json_option(parser)


def _result(row):
    return Result(
        f"command.{row.op.name.lower()}",
        int(row.op),
        "opcode",
        more={
            "name": row.name,
            "class": "supervisor" if row.supervisor else "user",
            "group": row.group.name.lower(),
            "executor": row.executor.value,
            "parameter": row.parameter,
            "reply": row.reply,
            "effect": row.effect,
            "errors": [error.name for error in row.errors],
            "use": row.use,
        },
    )


_PAGE = """\
# The HUB's commands

Made from the table in `nectar.hdl.hub.commands` by `nectar commands --markdown`; a test keeps it up to date. The
wire's side of a command is in [wire.md](wire.md), what a HUB does with one in [hub.md](hub.md), the monitor in
[monitor.md](monitor.md). Source: *The Design of Nectar* (1989), section 4.2, which counts 38 user and 14 supervisor
commands and names some; the others are **ours**.

An opcode's bit 7 says that only a supervisor port may give the command, bits 6 to 4 are its group, bit 0 asks for a
reply. In group *open* bit 2 is *test* (the ready bit) and bit 1 *retry* (wait until it can be done), in group *lock*
bit 1. A reply bears the command's opcode, with bit 0 set if the command was done, clear if it was refused; its value is
then an error. A HUB that was made without locks does not know the commands of group *lock*, *status lock* and *force
lock*; one without a monitor does not know those of group *monitor* ([hub.md](hub.md), "Parts that may be left out"):
they are UNKNOWN there. The errors:

"""


def _markdown(results, errors):
    """Prints the page."""
    print(_PAGE, end="")
    print("| value | error |\n|---|---|")
    for error in errors:
        print(f"| {error.value} | {error.name} |")
    group = None
    for result in results:
        row = result.more
        if group != (row["class"], row["group"]):
            group = row["class"], row["group"]
            print(f"\n## {row['class'].capitalize()} commands: {row['group']}\n")
            print(
                "| opcode | command | parameter | effect | reply | errors | executed by | use "
                "|\n|---|---|---|---|---|---|---|---|"
            )
        cells = (
            f"`0x{result.value:02X}`",
            row["name"],
            row["parameter"],
            row["effect"],
            row["reply"],
            ", ".join(row["errors"]) or "none",
            row["executor"],
            row["use"],
        )
        print(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")


def execute(options):
    """Prints the table in the order of its opcodes."""
    from ..hdl.hub.commands import COMMANDS, Error

    check_target("--json", options.json)
    results = [_result(row) for row in sorted(COMMANDS, key=lambda row: row.op)]
    if options.markdown:
        _markdown(results, Error)
        save_json(options.json, results)
        return DONE
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

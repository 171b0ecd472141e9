"""``nectar run --boards fast``: which boards are RTL, and which fast (docs/engine.md, "Fast boards")."""

from .errors import UsageError

__all__ = ["VALUES", "board_kinds", "check_kinds"]

#: Options that take a value, as argparse wants them.
VALUES = {
    "--boards": {
        "metavar": "K",
        "default": "rtl",
        "help": "rtl: the boards' RTL (default); fast: boards in C++ with the same cycles at their pins, many times "
        "faster (docs/engine.md)",
    },
    "--rtl": {"metavar": "NAMES", "help": "with --boards fast: boards that are RTL nevertheless, as HUB1,CAB3"},
}


def board_kinds(options):
    """What a machine is to be told of its boards, as keyword arguments of EngineMachine. Raises UsageError."""
    from ..sim.machines import BOARDS

    if options.boards not in BOARDS:
        raise UsageError(f"--boards {options.boards}: boards are {' or '.join(BOARDS)}")
    if options.boards == "rtl":
        if options.rtl is not None:
            raise UsageError("--rtl needs --boards fast: without it all boards are RTL")
        return {}
    rtl = [] if options.rtl is None else [name.strip() for name in options.rtl.split(",")]
    if "" in rtl:
        raise UsageError(f"--rtl {options.rtl}: a name is missing; write names with commas between them")
    return {"boards": options.boards, "rtl": rtl}


def check_kinds(kinds, waves, topology, profile, nodes):
    """Raises UsageError if boards cannot be of these ``kinds`` (``board_kinds``), or ``waves`` be recorded of them."""
    from ..sim.engine import check_waves
    from ..sim.machines import machine_of

    machine = machine_of(topology)
    try:
        found = machine.kinds(topology, profile, nodes, **kinds)
    except ValueError as error:
        raise UsageError(f"{'--boards fast' if kinds else 'NODES of the program'}: {error}") from None
    try:
        check_waves(machine, found, (waves["wave_boards"] or found) if "waves" in waves else ())
    except ValueError as error:
        raise UsageError(f"--waves: {error} (--wave-boards), or make it one (--rtl)") from None

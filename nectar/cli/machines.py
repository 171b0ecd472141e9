"""The option ``--machine``."""

from ..sim.machines import MACHINES, machine
from .errors import UsageError

__all__ = ["VALUES", "machine_named", "profile_named", "system_of"]

VALUES = {
    "--machine": {
        "metavar": "M",
        "default": MACHINES[0],
        "help": f"what is simulated: {' or '.join(MACHINES)} (default: {MACHINES[0]}; docs/machines.md)",
    },
}


def machine_named(name):
    """The Machine that ``--machine`` names; UsageError if there is none."""
    try:
        return machine(name)
    except ValueError as error:
        raise UsageError(f"--machine: {error}") from None


def profile_named(machine, name):
    """The profile of a Machine that ``--profile`` names; UsageError if there is none."""
    if name not in machine.profiles:
        raise UsageError(f"--profile: there is no profile {name!r}; there is {', '.join(sorted(machine.profiles))}")
    return machine.profiles[name]


def system_of(machine):
    """The class of systems that programs on a Machine run on; UsageError if it has no software."""
    from ..software.stacks import NoSoftware, system_of

    try:
        return system_of(machine.name)
    except NoSoftware as error:
        raise UsageError(f"--machine {machine.name}: {error}") from None

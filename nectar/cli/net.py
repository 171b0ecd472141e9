"""Linux programs over a simulated Nectar: a network namespace for each node, whose packets the boards carry.

  nectar net up --topology hub:4          makes the network, and carries packets until Ctrl-C or 'net down'
  nectar net exec CAB1 -- COMMAND         runs a program on a node
  nectar net run --topology hub:2 -- COMMAND  makes the network, runs a command of the host beside it, takes it away
  nectar net status                       shows packets, rate, simulated and real time
  nectar net down                         takes the network away, also what a crash has left

docs/net.md tells more. It takes Linux, root's rights, /dev/net/tun and the program 'ip'.
"""

import os
import time

from ..sim.machines import MACHINES
from . import run
from .errors import DONE, UsageError
from .program import ProgramFile

HELP = "run Linux programs over a simulated Nectar"

ACTIONS = ("up", "exec", "run", "status", "down")
_NAME = {"metavar": "NAME", "help": "the network's name (default: $NECTAR_NET, or nectar)"}
#: Options of 'nectar run' that have no meaning here, with the values that stand for them.
_FIXED = {
    "--machine": MACHINES[0],
    "--max-time": "9000000s",
    "--stall-time": "0s",
    "--on": None,
    "--baud": None,
    "--routes": "given",
}
VALUES = {name: how for name, how in run.VALUES.items() if name not in _FIXED} | {
    "--name": _NAME,
    "--network": {
        "metavar": "N",
        "default": "10.89.0.0/24",
        "help": "the network's addresses: the CAB with ID 1 has the first (default: 10.89.0.0/24)",
    },
    "--pace": {
        "metavar": "R",
        "help": "seconds of this machine for a simulated second, as 100 (default: as fast as the simulation goes)",
    },
}
VALUES["--topology"] = VALUES["--topology"] | {
    "help": "what is wired to what, as for 'nectar run': hub:4, mesh:2x2x1, or a .toml or .py file"
}
#: Seconds that the process of a network has to take everything away.
_PATIENCE = 60


class NetProgram(ProgramFile):
    """The network in the place of a program. ``session``: the Session that ``run`` runs."""

    nodes = True

    def __init__(self, session):
        self.path = "nectar net"
        self.session = session
        self._system = None

    def run(self, system, arguments):
        """Runs the session to its end."""
        self._system = system
        try:
            self.session.run(system).send(None)
        except StopIteration:
            return
        raise AssertionError("a session has waited for what only a task may wait for")

    def far(self, simulated_ps, seconds):
        """The status line."""
        return self.session.line(self._system)


def configure(parser):
    """Options of ``nectar net``; those of its actions are in ``parse``."""
    parser.usage = f"nectar net {'|'.join(ACTIONS)} [options] [CAB] [-- COMMAND]"
    parser.add_argument("action", metavar="ACTION", help=", ".join(ACTIONS))


def parse(parser, arguments):
    """Parses the action, then what stands behind it."""
    action = arguments[0] if arguments else None
    if action in (None, "-h", "--help") or action not in ACTIONS:
        if action is None:
            parser.error(f"say what to do: {', '.join(ACTIONS)}")
        if not action.startswith("-"):
            parser.error(f"there is no action {action!r}; there are {', '.join(ACTIONS)}")
        return parser.parse_args(arguments)
    rest = arguments[1:]
    own, command = (rest[: rest.index("--")], rest[rest.index("--") + 1 :]) if "--" in rest else (rest, None)
    parser.usage = f"nectar net {action} [options]{' CAB' * (action == 'exec')}{' -- COMMAND' * (action in _TAKE)}"
    if action in ("up", "run"):
        run.add_options(parser, VALUES)
    else:
        parser.add_argument("--name", **_NAME)
    if action == "exec":
        parser.add_argument("cab", metavar="CAB", help="the node on which the program runs, as CAB1")
    options = parser.parse_args([action, *own])
    if action in _TAKE and not command:
        parser.error("write the command behind '--', as in 'nectar net exec CAB1 -- ping CAB2'")
    if action not in _TAKE and command is not None:
        parser.error(f"'nectar net {action}' takes no command")
    options.command = command
    options.name = options.name or os.environ.get("NECTAR_NET") or "nectar"
    return options


_TAKE = ("exec", "run")


def execute(options):
    """Does the action."""
    from ..net.namespaces import State, enter

    state = State(options.name)
    if options.action == "exec":
        return enter(state, options.cab, options.command)
    return {"status": _status, "down": _down}.get(options.action, _stand)(state, options)


def _stand(state, options):
    """'up' and 'run'."""
    import ipaddress

    from ..net.namespaces import Namespaces
    from ..net.session import Session

    if options.topology is None:
        raise UsageError("say by --topology what is wired to what, as --topology hub:2")
    pace = _pace(options.pace)
    try:
        network = ipaddress.IPv4Network(options.network)
    except ValueError as error:
        raise UsageError(f"--network: {error}") from None
    Namespaces.check(state, network)
    for name, value in _FIXED.items():
        setattr(options, name.strip("-").replace("-", "_"), value)
    options.program = "nectar net"
    options.arguments = run.Arguments([])
    session = Session(state, options.network, pace, options.command)
    return run.execute(options, lambda path: NetProgram(session))


def _pace(text):
    """``--pace`` as a number, or None."""
    if text is None:
        return None
    try:
        pace = float(text)
    except ValueError:
        pace = 0.0
    if not 1e-3 <= pace <= 1e9:
        raise UsageError(f"--pace {text}: give the seconds of this machine for a simulated second, as 100")
    return pace


def _status(state, options):
    from ..net.session import describe

    there = state.require()
    for name, address in there["addresses"].items():
        print(f"{name} {address}")
    print(describe(there["status"]) if there["status"] else "not yet carrying packets")
    return DONE


def _down(state, options):
    from ..net.namespaces import privileged

    if not state.exists:
        raise UsageError(f"there is no network {state.name!r}")
    if not privileged():
        raise UsageError("to take a network away takes root's rights: run it as root")
    if state.alive:
        state.stop()
        end = time.monotonic() + _PATIENCE
        while state.exists and state.alive and time.monotonic() < end:
            time.sleep(0.05)
    state.remove()
    return DONE

"""``nectar run --on PORT``: a program on a board's CABs."""

from .errors import UsageError

__all__ = ["Board", "board_of"]


def board_of(options):
    """The Board that ``--on`` names; None without it. Raises UsageError, also for options that no board has."""
    if options.on is None:
        if options.baud is not None:
            raise UsageError("--baud is the rate of a board's serial line: it needs --on PORT")
        return None
    for name, given, why in (("--backend", options.backend != "engine", "the program runs on the board"),
                             ("--profile", options.profile != "prototype", "the board has its own clock"),
                             ("--waves", options.waves is not None, "signals inside a board cannot be recorded"),
                             ("--faults", options.faults, "faults on demand are made in simulated fibers"),
                             ("--no-sleep", options.no_sleep, "a board does not sleep")):
        if given:
            raise UsageError(f"{name} cannot be used with --on: {why}")
    return Board(_port(options.on), _baud(options.baud), None if options.topology is None else _cabs(options.topology))


class Board:
    """A board at the serial line ``path``, of which ``cabs`` CABs are used (None: all)."""

    def __init__(self, path, baud, cabs):
        self.path, self.baud, self.cabs = path, baud, cabs

    def system(self, program, **options):
        """The System of the program, on the board's CABs."""
        from ..software.backends.cable import CableMachine
        from ..software.errors import CableError
        from ..software.system import System
        if program.nodes:
            raise UsageError(f"{program.path}: it has NODES, but there are none behind the CABs of a board")
        try:
            machine = CableMachine(self.path, self.baud, cabs=self.cabs)
        except CableError as error:
            raise UsageError(f"--on {error}") from error
        try:
            return System.of(machine, machine.topology, machine.profile, memory_bytes=machine.memory_bytes, **options)
        except BaseException:
            machine.close()
            raise


def _port(text):
    """The serial line that ``--on`` names."""
    from ..software.backends.cableline import found
    if not text:
        raise UsageError("--on names no serial line; name one, as /dev/ttyUSB0")
    if not text.isascii() or not text.isdigit():
        return text
    lines = found()
    if not lines:
        raise UsageError(f"--on {text}: no board was found on this machine; plug one in, or name its serial line")
    if not 1 <= int(text) <= len(lines):
        raise UsageError(f"--on {text}: found were {', '.join(f'{number}: {line}' for number, line in enumerate(lines, 1))}")
    return lines[int(text) - 1]


def _baud(text):
    from ..hdl.host.numbers import BAUD
    if text is None:
        return BAUD
    if not text.isascii() or not text.isdigit() or not int(text):
        raise UsageError(f"--baud {text}: not a rate; give bits in a second, as 1000000")
    return int(text)


def _cabs(text):
    """The number of CABs of a topology that a board can have: CAB1, CAB2, ... on the first ports of one HUB."""
    from ..sim.topology import load
    topology = load(text)
    wanted = {(f"CAB{n + 1}", n) for n in range(len(topology.cabs))}
    if len(topology.hubs) != 1 or {(a.board, b.port) if a.port is None else (b.board, a.port)
                                   for a, b in ((pair.a, pair.b) for pair in topology.fibers)} != wanted:
        raise UsageError(f"--topology {text}: a board is one HUB with CAB1, CAB2, ... on its ports P0, P1, ...; "
                         "give hub:N, or leave it out for all of the board's CABs")
    return len(topology.cabs)

"""``nectar run --on LINES``: a program on the CABs of boards."""

import os

from .errors import UsageError

__all__ = ["Boards", "boards_of"]


def boards_of(options):
    """The Boards that ``--on`` names; None without it. Raises UsageError, also for options that no board has."""
    from ..sim.machines import MACHINES
    from ..sim.topology import load

    if options.on is None:
        if options.baud is not None:
            raise UsageError("--baud is the rate of a board's serial line: it needs --on LINES")
        return None
    from ..software.backends.cable.machine import CableMachine
    from ..software.machine import Capability

    for name, given, why in (
        ("--machine", options.machine != MACHINES[0], "the boards are those of one machine"),
        ("--profile", options.profile != "prototype", "the board has its own clock"),
        ("--boards", options.boards != "rtl", "these boards are real"),
        ("--no-sleep", options.no_sleep, "a board does not sleep"),
        ("--threads", options.threads is not None, "nothing is simulated"),
        ("--record", options.record is not None, "what happens inside a board cannot be recorded"),
    ):
        if given:
            raise UsageError(f"{name} cannot be used with --on: {why}")
    for name, given, needed, why in (
        ("--waves", options.waves is not None, Capability.WAVES, "signals inside a board cannot be recorded"),
        ("--faults", options.faults, Capability.FAULTS, "faults on demand are made in simulated fibers"),
    ):
        if given and needed not in CableMachine.capabilities:
            raise UsageError(f"{name} cannot be used with --on: {why}")
    return Boards(_lines(options.on), _baud(options.baud), None if options.topology is None else load(options.topology))


class Boards:
    """Boards at serial lines.

    Parameters
    ----------
    lines : list of (str or None, str)
        For each board the name of its CAB, if the user has said it, and its serial line.
    baud : int
        Bits in a second on each.
    topology : Topology or None
        What ``--topology`` says.
    """

    def __init__(self, lines, baud, topology):
        self.lines, self.baud, self.topology = lines, baud, topology

    def system(self, program, **options):
        """The System of the program, on the boards' CABs."""
        from ..software.backends.cable.machine import CableMachine
        from ..software.errors import CableError
        from ..software.machine import Capability
        from ..software.system import System

        if program.nodes and Capability.NODES not in CableMachine.capabilities:
            raise UsageError(f"{program.path}: it has NODES, but there are none behind the CABs of a board")
        try:
            machine = self._machine(program)
        except CableError as error:
            raise UsageError(f"--on {error}") from error
        try:
            return System.of(
                machine,
                machine.topology,
                machine.profile,
                memory_bytes=machine.memory_bytes,
                options=machine.options,
                **options,
            )
        except BaseException:
            machine.close()
            raise

    def _machine(self, program):
        from ..software.backends.cable.board import Board
        from ..software.backends.cable.machine import CableMachine

        named = self._named(program) if len(self.lines) > 1 else None
        boards = []
        try:
            for _, path in self.lines:
                boards.append(Board(path, self.baud))
            if len(boards) == 1 and not boards[0].lone:
                if self.lines[0][0] is not None:
                    raise UsageError(
                        f"--on: the board at {self.lines[0][1]} has several CABs; leave {self.lines[0][0]}= out"
                    )
                return CableMachine.cluster(boards[0], self._cabs())
            names, topology = named or self._named(program)
            return CableMachine.desk(dict(zip(names, boards, strict=True)), topology)
        except BaseException:
            for board in boards:
                board.close()
            raise

    def _named(self, program):
        """(Names of the CABs whose boards are at the lines, the topology) if each has one CAB."""
        topology = program.shape(self.topology)
        names = [name for name, _ in self.lines]
        if names[0] is None:
            names = list(topology.cabs)[: len(names)]
            if len(names) < len(self.lines):
                raise UsageError(
                    f"--on names {len(self.lines)} boards, but {topology.name} has {len(names)} "
                    f"CAB{'s' * (len(names) != 1)}"
                )
        for name in names:
            if name not in topology.cabs:
                raise UsageError(f"--on: {topology.name} has no CAB {name!r}; it has {', '.join(topology.cabs)}")
        return names, topology

    def _cabs(self):
        """The number of CABs of the topology, if it is one that a cluster can have: CAB1, CAB2, ... on the first
        ports of one HUB."""
        topology = self.topology
        if topology is None:
            return None
        wanted = {(f"CAB{n + 1}", n) for n in range(len(topology.cabs))}
        if (
            len(topology.hubs) != 1
            or {
                (a.board, b.port) if a.port is None else (b.board, a.port)
                for a, b in ((pair.a, pair.b) for pair in topology.fibers)
            }
            != wanted
        ):
            raise UsageError(
                f"--topology {topology.name}: a board is one HUB with CAB1, CAB2, ... on its ports P0, P1, ...; "
                "give hub:N, or leave it out for all of the board's CABs"
            )
        return len(topology.cabs)


def _lines(text):
    """[(name of a CAB or None, serial line)] of ``--on``."""
    lines = []
    for part in text.split(","):
        name, equals, line = part.strip().rpartition("=")
        lines.append((name if equals else None, _port(line)))
    if len({name is None for name, _ in lines}) > 1:
        raise UsageError(
            f"--on {text}: write the CAB's name before each of the lines, as CAB1=/dev/ttyUSB0, or before none"
        )
    for number, (name, line) in enumerate(lines):
        for other, before in lines[:number]:
            if os.path.realpath(before) == os.path.realpath(line):
                raise UsageError(
                    f"--on {text}: {before} and {line} are the same line; each board has its own"
                    if before != line
                    else f"--on {text}: {line} is named twice; each board has its own line"
                )
            if name is not None and name == other:
                raise UsageError(f"--on {text}: {name} is named twice; each CAB has its own board")
    return lines


def _port(text):
    """The serial line that is named, by its name or its number."""
    from ..software.backends.cable.line import found

    if not text:
        raise UsageError("--on names no serial line; name one, as /dev/ttyUSB0")
    if not text.isascii() or not text.isdigit():
        return text
    lines = found()
    if not lines:
        raise UsageError(f"--on {text}: no board was found on this machine; plug one in, or name its serial line")
    if not 1 <= int(text) <= len(lines):
        raise UsageError(
            f"--on {text}: found were {', '.join(f'{number}: {line}' for number, line in enumerate(lines, 1))}"
        )
    return lines[int(text) - 1]


def _baud(text):
    from ..hdl.host.numbers import BAUD

    if text is None:
        return BAUD
    if not text.isascii() or not text.isdigit() or not int(text):
        raise UsageError(f"--baud {text}: not a rate; give bits in a second, as 1000000")
    return int(text)

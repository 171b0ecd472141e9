"""The cable back end: software on a host, its CABs inside FPGAs at the other ends of serial lines.

The processors of the CABs are in the FPGAs and follow ``docs/door.md``; a board's time stands still while its software
has a turn (``docs/cable.md``)."""

from ....hdl.host.numbers import Reason
from ....sim.profile import Profile
from ....sim.topology import Topology
from ...datalink.options import Options
from ...errors import CableError
from ...machine import QUIET, STOPPED, TIME, Capability
from .desk import OPTIONS, settle
from .line import listen

__all__ = ["CableMachine"]


class CableMachine:
    """A Machine (``software.machine``) whose boards are gates of FPGAs. Made by ``cluster`` or ``desk``.

    Parameters
    ----------
    boards : list of Board
        Open; the machine closes them. Their CABs have names.
    topology : Topology
        What is wired to what.
    profile : Profile

    Members
    -------
    boards
    doors : dict of str → Door
        Those of the CABs whose software runs here.
    topology, profile
    memory_bytes : int
        Data memory of each CAB.
    hub_ports : dict of str → int
    options : Options
        Times of the datalink that suit the machine.
    recorder : Recorder or None
        Takes what software notes (docs/recording.md); of a ``cluster`` only. It stays open when the machine is closed.

    Raises CableError.
    """

    capabilities = frozenset({Capability.EVENTS})

    def __init__(self, boards, topology, profile, options=Options()):
        self.boards = list(boards)
        self.recorder = next((board.recorder for board in self.boards if board.recorder is not None), None)
        self.topology, self.profile, self.options = topology, profile, options
        self.doors = {name: door for board in boards for name, door in board.doors.items()}
        self.memory_bytes = min(board.memory_bytes for board in boards)
        self.hub_ports = {name: hub.ports for name, hub in topology.hubs.items()}
        self._home = {name: board for board in boards for name in board.names}
        self._reached_ps = 0  # up to where a run was asked to go
        self._closed = False

    @classmethod
    def cluster(cls, board, cabs=None):
        """The machine that is a board with the top ``cluster``: HUB1, and CAB1, CAB2, ... on its ports 0, 1, ...;
        ``cabs`` of them (None: all)."""
        path = board.line.path
        try:
            if cabs is not None and cabs > board.cabs:
                raise CableError(f"{path}: the board has {board.cabs} CAB{'s' * (board.cabs != 1)}, not {cabs}")
            topology = Topology(f"the board at {path}").hub("HUB1", ports=board.ports, id=board.hub_id)
            for n in range(board.cabs if cabs is None else cabs):
                topology.cab(f"CAB{n + 1}").fiber(f"CAB{n + 1}", f"HUB1.P{n}", delay_ns=board.period_ps / 1000)
            board.use(topology.cabs)
            profile = Profile("cable", board.hub_profile, board.period_ps, board.period_ps, board.symbol_ps)
            if board.recorder is not None:
                board.recorder.begin(topology, profile, skew_ps=0)
            return cls([board], topology, profile)
        except BaseException:
            board.close()
            raise

    @classmethod
    def desk(cls, boards, topology):
        """The machine that is several boards with the top ``cab``, wired to HUBs as in ``topology``.

        ``boards``: name of a CAB of the topology → its Board. The other CABs have no software here. Waits until all
        is as after a reset."""
        try:
            for name, board in boards.items():
                if not board.lone:
                    raise CableError(
                        f"{board.line.path}: a board with the top 'cluster' is a Nectar by itself; name its line alone"
                    )
                board.use([name])
            first = next(iter(boards.values()))
            # Of HUBs the host knows nothing but what the topology says.
            profile = Profile("desk", "unknown", first.period_ps, first.period_ps, first.symbol_ps)
            settle(cls(boards.values(), topology, profile), topology)
            return cls(boards.values(), topology, profile, OPTIONS)
        except BaseException:
            for board in boards.values():
                board.close()
            raise

    def start(self, name, main):
        """Gives CAB ``name`` its main coroutine; it starts at the CAB's next clock edge."""
        self._home[name].start(name, main)

    def wake(self, name):
        """Ends a wait of the main coroutine of CAB ``name``, now or when it comes to wait."""
        self._home[name].wake(name)

    async def run(self, stop, until_ps=None, patient=True):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps`` on one of the boards, or all is quiet
        (``software.machine``)."""
        if self._closed:
            raise RuntimeError("this machine is closed; make a new one")
        outcome = self._run(stop, until_ps)
        # Between two runs all stand still. Turns that come now are served in the next.
        while going := [board for board in self.boards if board.going]:
            listen([board.line for board in going])
            for board in going:
                board.came()
        return outcome

    def _run(self, stop, until_ps):
        boards = self.boards
        while True:
            if stop():
                return STOPPED
            # All that can go on do so before the next turn is served; the board that was served last is looked at last.
            for board in boards:
                if (
                    not board.going
                    and not board.turns
                    and not board.go(None if until_ps is None else board.edge(until_ps))
                ):
                    self._reached_ps = max(self._reached_ps, until_ps)
                    return TIME
            served = next((board for board in boards if board.turns), None)
            if served is not None:
                boards.remove(served)
                boards.append(served)
                served.serve()
                continue
            listen([board.line for board in boards])
            for board in boards:
                if board.came() == Reason.QUIET and not board.turns:
                    return QUIET

    @property
    def time_ps(self):
        """Simulated time in picoseconds: that of the board whose clock has run longest."""
        return max(self._reached_ps, *(board.time_ps for board in self.boards))

    def close(self):
        """Ends all software, finishes the recording, gives the lines back. May be called twice."""
        if not self._closed and self.recorder is not None:
            self.recorder.end(self.time_ps)
        self._closed = True
        for board in self.boards:
            board.close()

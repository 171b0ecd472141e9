"""Symbols for all ports of a HUB at once: commands of all kinds, right and wrong, whole and cut short."""

from nectar.hdl.hub.commands import FORCE, Op
from nectar.hdl.hub.monitor_map import Clear, Select
from nectar.hdl.link.symbol import ANY_HUB, command
from nectar.verification.hub.fuzz import HUB, Noise

from . import hub_lockstep

__all__ = ["KINDS", "AllNoise"]

_OPENS = [int(op) for op in (Op.OPEN, Op.OPEN_REPLY, Op.OPEN_RETRY, Op.TEST_OPEN_RETRY, Op.CLOSE_ALL)]
_SELDOM = {Op.RESET_HUB, Op.LOOP_BACK_REPLY, Op.MONITOR_READ_REPLY}
_MOST = [int(op) for op in Op if op not in _SELDOM]
#: Which commands are given, by what a run of noise is about.
KINDS = {
    "user commands": [op for op in _MOST if op < 0x80],
    "all commands": _MOST,
    "no time-outs": [op for op in _MOST if op != Op.WATCHDOG_TIME_REPLY],
    "watchdog": [op for op in _MOST if op < 0x80] + 3 * [int(Op.WATCHDOG_TIME_REPLY)],
    "loop back": _MOST + 2 * [int(Op.LOOP_BACK_REPLY)],
    "resets": [*_MOST, int(Op.RESET_HUB)],
    "record": _MOST
    + 8 * [int(Op.MONITOR_READ_REPLY)]
    + 3 * [int(Op.MONITOR_SELECT_REPLY), int(Op.MONITOR_CLEAR_REPLY)],
}

assert HUB == hub_lockstep.HUB


class AllNoise(Noise):
    """Noise in which every port gives commands of a kind (KINDS), port 0 those for supervisors. Counters are not
    selected: a fast HUB counts at once (docs/engine.md)."""

    def __init__(self, port, ports, rng, kind):
        super().__init__(port, ports, True, rng)
        self._ops = [op for op in KINDS[kind] if not port or op < 0x80]

    def order(self):
        """A command for the HUB, or one that any HUB takes."""
        rng = self.rng
        op = rng.choice(self._ops if rng.random() < 0.6 else _OPENS)
        port = rng.randrange(self.ports)
        param = rng.choice([port, port, port | FORCE, rng.randrange(256)])
        if op == Op.RESET_HUB and rng.random() < 0.8:
            op = Op.ECHO_REPLY
        elif op == Op.WATCHDOG_TIME_REPLY:
            param = rng.choice([0, 4, 5, 6, 8])
        elif op == Op.MONITOR_SELECT_REPLY:
            param = rng.choice(list(Select))
        elif op == Op.MONITOR_CLEAR_REPLY:
            param = rng.choice([*Clear, 0, 1])
        elif op == Op.ALLOW_SUPERVISOR_REPLY:
            param |= FORCE
        elif op == Op.LOOP_BACK_REPLY and rng.random() < 0.7:
            param &= ~FORCE
        elif op == Op.DISABLE_REPLY and rng.random() < 0.7:
            op = Op.ENABLE_REPLY
        return command(op, HUB if rng.random() < 0.9 else ANY_HUB, param)

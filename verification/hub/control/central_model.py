"""Model of the HUB's centre (hdl/hub/control/central.py): the tables of ``hub/tables.py`` as its pins show them, and
what each command makes happen at its pins.

Source: docs/hub.md, docs/commands.md; what is recorded: docs/monitor.md.
"""

from nectar.hdl.hub.commands import FORCE, TEST, Group, Op
from nectar.hdl.hub.monitor_map import Event

from ..tables import Tables

__all__ = ["PULSES", "UNKNOWN", "Model", "decision", "effects"]

#: Opcodes of nothing, and those of hellos, which are no commands.
UNKNOWN = [op for op in range(0x80) if op not in list(Op) and op >> 4 != Group.CLOSE]
#: Opcodes that lock, or ask whether they could.
LOCKS = (*range(0x20, 0x24), int(Op.TEST_LOCK_REPLY))
#: Pins of which a bit is 1 for a cycle.
PULSES = (
    "send_ready",
    "reset_queue",
    "hello_ask",
    "forget",
    "watchdog_restart",
    "reset_hub",
    "pop",
    "clear_valid",
    "opened",
    "unlocked",
    "ended",
    "resume",
    "ready_set",
    "ready_clear",
)
#: Pulses for the port that a command names, and those that are one bit.
_NAMED = {
    Op.DISABLE_REPLY: ("reset_queue",),
    Op.ENABLE_REPLY: ("hello_ask", "ready_set"),
    Op.RESET_QUEUE_REPLY: ("reset_queue",),
    Op.RESET_PORT_REPLY: ("reset_queue", "hello_ask", "ready_set"),
    Op.REPAIR_READY: ("send_ready",),
    Op.STATUS_NEIGHBOUR: ("hello_ask",),
    Op.RAISE_READY: ("ready_set",),
    Op.LOWER_READY: ("ready_clear",),
}
_ONCE = {
    Op.WATCHDOG_TIME_REPLY: "watchdog_restart",
    Op.MONITOR_READ_REPLY: "pop",
    Op.MONITOR_CLEAR_REPLY: "clear_valid",
    Op.STATUS_NEIGHBOUR: "forget",
    Op.RESET_HUB: "reset_hub",
}


class Model(Tables):
    """State of the HUB's centre; ``execute`` does one command at once."""

    def __init__(self, ports):
        super().__init__(ports, 0)
        self.starting = set()  # outputs that a start is on its way to

    @property
    def opened(self):
        """{output: input} of the connections."""
        return {o: i for o, i in enumerate(self.owner) if i is not None}

    @property
    def locked(self):
        """{output: input} of the locks."""
        return {o: i for o, i in enumerate(self.lock) if i is not None}

    def state(self):
        """What the pins show of it, by name of pin."""

        def mask(bits):
            return sum(bool(bit) << n for n, bit in enumerate(bits))

        ports = range(self.size)
        return {
            **{f"targets__{n}": sum(1 << o for o in self.targets(n)) for n in ports},
            "connected": sum(1 << o for o in self.opened),
            "enabled": mask(self.enabled),
            "looped": mask(self.looped),
            "holding": mask(n in self.owner or n in self.lock for n in ports),
            "watchdog_log": self.watchdog,
            "select": self.selected,
            **{f"flags__{n}": self.flags(n) for n in ports},
        }

    def execute(self, port, op, param, facts):
        """(error, value). ``facts``: what the answers to questions about ports are, by opcode and port."""
        self._facts = facts
        self.sums = [min(255, errors) for errors in facts[Op.STATUS_ERRORS]]
        self.neighbour = list(zip(facts[Op.STATUS_NEIGHBOUR], facts[Op.STATUS_KIND]))
        done, value = self.obey(port, op, param, give_up=True)
        return (0, value) if done else (value, None)

    def may_start(self, o):
        """Whether there is room for a packet behind the output."""
        return self.ready[o] and o not in self.starting

    def queue_level(self, port):
        """Symbols in an input queue."""
        return self._facts[Op.STATUS_QUEUE][port]

    def _shown(self, offset):
        return self._facts[Op.MONITOR_READ_REPLY]


def decision(before, port, op, param, error):
    """(kind, input, output) that is recorded of a command; None if nothing is. ``before``: the Model before it."""
    named, force = param & 0x7F, bool(param & FORCE)
    kind = None
    if op in (Op.UNLOCK, Op.UNLOCK_REPLY):
        kind = None if error else Event.UNLOCKED
    elif op in range(8) or op in LOCKS:
        opens = op in range(8)
        had = (before.opened if opens else before.locked).get(param) == port
        began = None if had or (not opens and op & TEST) else Event.OPENED if opens else Event.LOCKED
        kind = Event.REFUSED if error else began
    elif op & 0x80 and not error:
        kind = Event.SUPERVISOR
        if op == Op.FORCE_CONNECTION_REPLY and force:
            kind = Event.OPENED if before.opened.get(named) != port else None
        elif op == Op.FORCE_LOCK_REPLY:
            kind = Event.LOCKED if force else Event.UNLOCKED if named in before.locked else Event.SUPERVISOR
    return kind and (kind, port, named)


def effects(before, after, port, op, param, error):
    """{name of pin: mask} of the pulses, those that are 0 left out. ``before``, ``after``: the Model before it and
    behind it."""
    named = param & 0x7F if op & 0x80 else param
    found = dict.fromkeys(PULSES, 0)
    if not error:
        found |= dict.fromkeys(_NAMED.get(op, ()), 1 << named)
        if op in _ONCE:
            found[_ONCE[op]] = 1
        if op == Op.FORCE_READY_REPLY:
            found["ready_set" if param & FORCE else "ready_clear"] = 1 << named
    if op in range(8) or op in LOCKS:
        found["resume"] = 1 << port
    told = decision(before, port, op, param, error)
    if told and told[0] == Event.OPENED:
        found["opened"] = 1 << port
    found["ended"] = sum(1 << o for o, i in before.opened.items() if after.opened.get(o) != i)
    if not error and op in (Op.UNLOCK_MINE, Op.DISABLE_REPLY, Op.RESET_PORT_REPLY):
        holder = port if op == Op.UNLOCK_MINE else named
        # The lock on a port that is reset ends with the command itself, which is recorded.
        spared = named if op == Op.RESET_PORT_REPLY else None
        found["unlocked"] = sum(1 << o for o, i in before.locked.items() if i == holder and o != spared)
    return {name: mask for name, mask in found.items() if mask}

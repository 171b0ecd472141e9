"""Model of the HUB's centre (hdl/hub/control/central.py), which does one command at once, and what each command makes
happen at its pins.

Source: docs/hub.md, docs/commands.md; what is recorded: docs/monitor.md.
"""

from nectar.hdl.hub.commands import BY_OPCODE, FORCE, RETRY, STATUS_IN_USE, TEST, Error, Group, Op
from nectar.hdl.hub.monitor_map import Event

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


class Model:
    """State of the HUB's centre; ``execute`` does one command at once."""

    def __init__(self, ports):
        self.ports = ports
        self.opened, self.locked = {}, {}
        self.ready = [True] * ports
        self.enabled = [True] * ports
        self.allowed = [True] * ports
        self.looped = [False] * ports
        self.starting = set()  # outputs that a start is on its way to
        self.log, self.select = 20, 0

    def state(self):
        """What the pins show of it, by name of pin."""

        def mask(bits):
            return sum(bool(bit) << n for n, bit in enumerate(bits))

        ports = range(self.ports)
        return {
            **{f"targets__{n}": sum((i == n) << o for o, i in self.opened.items()) for n in ports},
            "connected": sum(1 << o for o in self.opened),
            "enabled": mask(self.enabled),
            "looped": mask(self.looped),
            "holding": mask(n in self.opened.values() or n in self.locked.values() for n in ports),
            "watchdog_log": self.log,
            "select": self.select,
            **{
                f"flags__{n}": self.enabled[n]
                | self.looped[n] << 1
                | self.allowed[n] << 2
                | self.ready[n] << 3
                | (n in self.opened) << 4
                | (n in self.locked) << 5
                for n in ports
            },
        }

    def execute(self, port, op, param, facts):
        """(error, value). ``facts``: what the answers to questions about ports are, by opcode and port."""
        if op & 0x80:
            return self._supervise(port, op, param, facts)
        if op in UNKNOWN:
            return Error.UNKNOWN, None
        bad = param >= self.ports
        if op in range(8) or op in LOCKS:
            return self._take(port, op, param), param
        if op == Op.UNLOCK_MINE:
            self.locked = {o: i for o, i in self.locked.items() if i != port}
            return 0, param
        if BY_OPCODE[op].group is Group.ECHO or op == Op.FLUSH_REPLY:
            return 0, {Op.IDENTITY_REPLY: port, Op.SIZE_REPLY: self.ports}.get(op, param)
        if bad:
            return Error.BAD_PORT, None
        if op in (Op.UNLOCK, Op.UNLOCK_REPLY):
            if self.locked.get(param) != port:
                return Error.NOT_MINE, None
            del self.locked[param]
            return 0, param
        if op == Op.AWAIT_READY_REPLY:
            return (0 if self.may_start(param) else Error.GIVEN_UP), param
        if op in (Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY):
            if self.opened.get(param) != port and not (op == Op.REPAIR_READY and param == port):
                return Error.NOT_MINE, None
            if op != Op.REPAIR_READY:
                self.ready[param] = op == Op.RAISE_READY
            return 0, param

        def holder(table):
            return STATUS_IN_USE | table[param] if param in table else 0

        return 0, {
            Op.STATUS_OUTPUT: lambda: holder(self.opened),
            Op.STATUS_LOCK: lambda: holder(self.locked),
            Op.STATUS_INPUT: lambda: list(self.opened.values()).count(param),
            Op.STATUS_READY: lambda: self.ready[param],
        }.get(op, lambda: min(255, facts[op][param]))()

    def may_start(self, o):
        """Whether there is room for a packet behind the output."""
        return self.ready[o] and o not in self.starting

    def _take(self, port, op, o):
        """Open or lock: the error, or 0."""
        retry, test = op & RETRY, op & TEST
        if o >= self.ports or o == port:
            return Error.BAD_PORT
        if not self.enabled[o]:
            return Error.DISABLED
        shut = self.locked.get(o, port) != port
        if op in LOCKS:
            if shut:
                return Error.GIVEN_UP if retry else Error.LOCKED
            if not test:
                self.locked[o] = port
            return 0
        if self.opened.get(o) != port:
            if o in self.opened:
                return Error.GIVEN_UP if retry else Error.BUSY
            if shut:
                return Error.GIVEN_UP if retry else Error.LOCKED
        if test and not self.may_start(o):
            return Error.GIVEN_UP if retry else Error.NOT_READY
        self.opened[o] = port
        return 0

    def _vacate(self, p):
        self.opened = {o: i for o, i in self.opened.items() if p not in (o, i)}
        self.locked = {o: i for o, i in self.locked.items() if i != p}

    def _supervise(self, port, op, param, facts):
        if not self.allowed[port]:
            return Error.NOT_ALLOWED, None
        p, force = param & 0x7F, bool(param & FORCE)
        forced = (
            Op.LOOP_BACK_REPLY,
            Op.FORCE_CONNECTION_REPLY,
            Op.FORCE_LOCK_REPLY,
            Op.FORCE_READY_REPLY,
            Op.ALLOW_SUPERVISOR_REPLY,
        )
        about = (Op.DISABLE_REPLY, Op.ENABLE_REPLY, Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY)
        sets = {
            Op.WATCHDOG_TIME_REPLY: (0, *range(4, 32)),
            Op.MONITOR_SELECT_REPLY: (*range(self.ports), 128, 129, 130),
            Op.MONITOR_CLEAR_REPLY: (*range(self.ports), 128, 129),
        }
        if (
            op in forced
            and p >= self.ports
            or op in about
            and param >= self.ports
            or op in sets
            and param not in sets[op]
        ):
            return Error.BAD_PORT, None
        if op == Op.FORCE_CONNECTION_REPLY and force:
            if p == port:
                return Error.BAD_PORT, None
            if not self.enabled[p]:
                return Error.DISABLED, None
        if op == Op.DISABLE_REPLY:
            self.enabled[p] = False
            self._vacate(p)
        elif op == Op.ENABLE_REPLY:
            self.enabled[p] = self.ready[p] = True
        elif op == Op.LOOP_BACK_REPLY:
            self.looped[p] = force
        elif op == Op.RESET_PORT_REPLY:
            self._vacate(p)
            self.locked.pop(p, None)
            self.ready[p] = True
        elif op == Op.FORCE_CONNECTION_REPLY:
            self.opened.pop(p, None)
            if force:
                self.opened[p] = port
        elif op == Op.FORCE_LOCK_REPLY:
            self.locked.pop(p, None)
            if force:
                self.locked[p] = port
        elif op == Op.FORCE_READY_REPLY:
            self.ready[p] = force
        elif op == Op.WATCHDOG_TIME_REPLY:
            self.log = param
        elif op == Op.MONITOR_SELECT_REPLY:
            self.select = param
        elif op == Op.ALLOW_SUPERVISOR_REPLY:
            self.allowed[p] = force
        elif op == Op.MONITOR_READ_REPLY:
            return 0, facts[op]
        return 0, p if op in forced else param


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

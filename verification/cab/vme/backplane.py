"""The lines of a VME backplane: who drives what, and what everybody sees.

Knows no simulator: time comes from outside. Source: ANSI/IEEE 1014, chapters 1 to 4.
"""

__all__ = ["Backplane", "COLLECTOR", "point", "STATES"]

#: Three-state lines and their levels while nobody drives them.
STATES = {
    "as": 1,
    "ds0": 1,
    "ds1": 1,
    "write": 1,
    "lword": 1,
    "iack": 1,
    "address": 0x7FFFFFFF,
    "am": 0x3F,
    "data_high": 0xFFFF,
    "data_low": 0xFFFF,
}
#: Open-collector lines: low while anybody pulls them.
COLLECTOR = (
    "dtack",
    "berr",
    "bbsy",
    "bclr",
    "sysreset",
    *(f"br{n}" for n in range(4)),
    *(f"irq{n}" for n in range(1, 8)),
)


def point(kind, slot):
    """Name of the daisy-chain line into ``slot``; ``kind`` is ``bg0`` to ``bg3`` or ``iackin``."""
    return f"{kind}@{slot}"


class Backplane:
    """Lines with drivers.

    Parameters
    ----------
    now : callable
        Gives the time in ns.
    slots : int
        Boards on the daisy chains; the line into the slot after the last one is there, too.
    """

    def __init__(self, now, slots=3):
        self.now = now
        self.slots = slots
        self.levels = {**STATES, **dict.fromkeys(COLLECTOR, 1)}
        for kind in ("bg0", "bg1", "bg2", "bg3", "iackin"):
            self.levels |= {point(kind, slot): 1 for slot in range(slots + 1)}
        self.drivers = {name: {} for name in self.levels}
        self._watchers = []

    def watch(self, watcher):
        """``watcher(line, old, new)`` is called at each change of a level, and with old == new when a driver of a
        three-state line comes or goes."""
        self._watchers.append(watcher)

    def unwatch(self, watcher):
        """It is called no more."""
        self._watchers.remove(watcher)

    def level(self, name):
        """Level of a line; a number for address, am and data."""
        return self.levels[name]

    def driven(self, name):
        """Whether somebody drives the line."""
        return bool(self.drivers[name])

    def drive(self, who, **lines):
        """Drives lines from now on; None lets go. An open-collector line is pulled by 0 and let go by 1."""
        for name, value in lines.items():
            self.set(who, name, value)

    def set(self, who, name, value):
        """As ``drive``, one line."""
        drivers = self.drivers[name]
        before = dict(drivers)
        if value is None or (name in COLLECTOR and value):
            drivers.pop(who, None)
        else:
            drivers[who] = value
        if name in COLLECTOR:
            level = 0 if drivers else 1
        elif not drivers:
            level = STATES.get(name, 1)
        else:
            level = drivers.get(who, next(iter(drivers.values())))
            for value in drivers.values():
                level &= value
        old, self.levels[name] = self.levels[name], level
        if old != level or before.keys() != drivers.keys():
            for watcher in list(self._watchers):
                watcher(name, old, level)

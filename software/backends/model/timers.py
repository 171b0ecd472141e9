"""The timers of the pure-Python model's CAB, as ``docs/cab.md`` says."""

from functools import partialmethod

from ....hdl.cab.addresses import Irq
from ....hdl.cab.timer_registers import TIMERS

__all__ = ["Timers"]

_WORD = 0xFFFF_FFFF


class Timers:
    """Eight timers of a CAB on its count of clock cycles; their registers."""

    def _timers_begin(self):
        """As after a reset."""
        self._compare = [0] * TIMERS
        self._period = [0] * TIMERS
        self._setting = getattr(self, "_setting", 0)  # counts settings, so that an older one can be told
        self._armed = [None] * TIMERS  # the setting that is in force
        self._fired = 0

    def _cycle(self):
        return (self.machine.time_ps - self.first_ps) // self.period_ps

    def _arm(self, n, cycle):
        """Arms timer ``n``, which may fire from ``cycle`` on; what happens in a cycle is told in the next."""
        ahead = self._compare[n] - cycle & _WORD
        cycle += ahead if ahead < 1 << 31 else 0
        if n:
            cycle += (n - cycle) % TIMERS  # in turn
        self._setting += 1
        self._armed[n] = self._setting
        self.machine.at(
            self.machine.time_ps + (cycle + 1 - self._cycle()) * self.period_ps, self._fire, (n, self._setting)
        )

    def _fire(self, setting):
        n, number = setting
        if number != self._armed[n]:
            return
        self._armed[n] = None
        self._fired |= 1 << n
        self._raise(Irq.TIMER)
        if self._period[n]:
            cycle = self._cycle()  # it has fired in the one before
            self._compare[n] = self._compare[n] + self._period[n] & _WORD
            # Timer 0 is armed in its next turn.
            self._arm(n, cycle if n else cycle + -cycle % TIMERS + 1)

    def _read_timer_now(self):
        return self._cycle() & _WORD

    def _write_timer_stop(self, value):
        self._armed = [None if value >> n & 1 else armed for n, armed in enumerate(self._armed)]

    def _read_timer_fired(self):
        return self._fired

    def _write_timer_fired(self, value):
        self._fired &= ~value

    def _read_timer_armed(self):
        return sum((armed is not None) << n for n, armed in enumerate(self._armed))

    def _read_compare(self, n):
        return self._compare[n]

    def _write_compare(self, n, value):
        self._compare[n] = value
        self._arm(n, self._cycle())

    def _read_period(self, n):
        return self._period[n]

    def _write_period(self, n, value):
        self._period[n] = value


for _n in range(TIMERS):
    for _verb in ("read", "write"):
        for _what in ("compare", "period"):
            _name = "timer_compare" if (_n, _what) == (0, "compare") else f"timer{_n}_{_what}"
            setattr(Timers, f"_{_verb}_{_name}", partialmethod(getattr(Timers, f"_{_verb}_{_what}"), _n))

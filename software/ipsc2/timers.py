"""Timers of a node: its timer fires in the very cycle that it is set to, so what has passed meanwhile is looked for."""

from ...hdl.ipsc2.node.registers import REG
from ..kernel.timers import Timers

__all__ = ["NodeTimers"]


class NodeTimers(Timers):
    """Timers of one node; see Timers. Whoever sets one at interrupt level calls ``catch_up`` at the end."""

    __slots__ = ()

    def __init__(self, kernel):
        super().__init__(kernel, REG)

    async def after(self, cycles, action, argument=None):
        """See Timers."""
        timer = await super().after(cycles, action, argument)
        self.door.mask()
        await self.catch_up()
        self.door.unmask()
        return timer

    async def catch_up(self):
        """At interrupt level, or with interrupts held off: runs what was due before the hardware timer was set."""
        while self.armed is not None and self.armed <= (now := await self.door.now()):
            self.fired(now)

"""A HUB in Amaranth's simulator, its pins driven and signals inside it recorded in every cycle.

Only the interfaces of the HUB's parts are looked at, by their names in the RTL: a part or a port with another name is
an error here, not an old picture.
"""

import functools

from amaranth.sim import Simulator

from ...hdl.hub.hub import Hub
from ...hdl.hub.profile import PROTOTYPE

__all__ = ["HUB_ID", "PORTS", "arrives", "centre", "crosses", "leaves", "owner", "ready_bit", "record", "registered"]

PORTS = 4
HUB_ID = 1
#: Cycles of reset, and until the first symbol may arrive.
_BEFORE = 4


class _OpenHub(Hub):
    """A HUB whose parts can be looked at: ``parts`` has them by name."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        self.parts = m.submodules
        return m


def _symbol(ctx, valid, payload):
    """The symbol, or None."""
    return ctx.get(payload) if ctx.get(valid) else None


# -- probes: functions of the simulation and the HUB -------------------------------------------------------
def arrives(port):
    """The symbol at the input pins of ``port``, or None."""

    def look(ctx, hub):
        rx = getattr(hub, f"port_{port}").rx
        return _symbol(ctx, rx.valid, rx.payload)

    return look


def leaves(port):
    """The symbol at the output pins of ``port``, or None."""

    def look(ctx, hub):
        tx = getattr(hub, f"port_{port}").tx
        return _symbol(ctx, tx.valid, tx.payload)

    return look


def registered(port):
    """The symbol that has just entered the input register of ``port``, or None."""

    def look(ctx, hub):
        register = getattr(hub.parts, f"register_{port}")
        return _symbol(ctx, register.valid, register.symbol)

    return look


def crosses(port):
    """The symbol that the crossbar brings to output ``port``, or None."""

    def look(ctx, hub):
        crossbar = hub.parts.crossbar
        return ctx.get(crossbar.out[port].symbol) if ctx.get(crossbar.push) >> port & 1 else None

    return look


def owner(port):
    """The input that output ``port`` is connected to in the status table, or None."""

    def look(ctx, hub):
        central = hub.parts.central
        return ctx.get(central.owner[port]) if ctx.get(central.connected) >> port & 1 else None

    return look


def centre(name, port=None):
    """The member ``name`` of the centre; with a ``port`` its bit of a vector, or the member of that port's bundle."""

    def look(ctx, hub):
        central = hub.parts.central
        if port is None:
            return ctx.get(getattr(central, name))
        bundle = central.port[port]
        return ctx.get(getattr(bundle, name)) if hasattr(bundle, name) else ctx.get(getattr(central, name)) >> port & 1

    return look


def ready_bit(port):
    """The ready bit of output ``port``."""

    def look(ctx, hub):
        return ctx.get(getattr(hub.parts, f"output_{port}").ready_bit)

    return look


def record(streams, probes, cycles, profile=PROTOTYPE):
    """Drives a fresh HUB and records ``probes``.

    Parameters
    ----------
    streams : dict
        {port: {cycle: symbol that arrives}}.
    probes : dict
        {name: function of the simulation and the HUB}.
    cycles : int
        How many are recorded.
    profile : HubProfile
        The HUB's.

    Returns
    -------
    dict
        {name: list with a value for each cycle}. Fibers take a symbol in every cycle.
    """
    simulator, hub, bench = _simulator(profile)
    found = {name: [] for name in probes}

    async def play(ctx):
        ctx.set(hub.hub_id, HUB_ID)
        for port in range(PORTS):
            ctx.set(getattr(hub, f"port_{port}").tx.ready, 1)
        await ctx.tick().repeat(_BEFORE)
        for cycle in range(cycles):
            for port, stream in streams.items():
                symbol = stream.get(cycle)
                rx = getattr(hub, f"port_{port}").rx
                ctx.set(rx.valid, symbol is not None)
                ctx.set(rx.payload, symbol or 0)
            for name, probe in probes.items():
                found[name].append(probe(ctx, hub))
            await ctx.tick()

    if bench:
        simulator.reset()
    bench[:] = [play]
    simulator.run()
    return found


@functools.cache
def _simulator(profile):
    """The simulator, compiled once, its HUB, and a place for the bench that is to run."""
    hub = _OpenHub(PORTS, profile)
    simulator = Simulator(hub)
    simulator.add_clock(1e-8)
    bench = []

    async def run(ctx):
        await bench[0](ctx)

    simulator.add_testbench(run)
    return simulator, hub, bench

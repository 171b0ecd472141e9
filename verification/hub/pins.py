"""The pins of a HUB in cocotb, and a module around the HUB that packs them into three vectors.

With 16 ports, a simulation spends more time on reading and driving pins one by one than on the HUB itself: at 6 us for
a cycle, each pin that is read costs 1 us more and each one that is driven 2.6 us, a vector of 160 bits 2 us and 4 us.
"""

import re
from pathlib import Path

from ..bench import elaborated
from ..system.verilog import pins
from .monitors import Agents
from .streams import Violation

__all__ = ["PACKED", "Pins", "packed", "packed_hub"]

#: Name of the module that ``packed`` adds.
PACKED = "packed_hub"
_PORT_PIN = re.compile(r"port_(\d+)__(rx|tx)__(payload|valid|ready)")
#: Vectors of the module, by what they pack.
_VECTORS = {
    ("rx", "valid"): "arriving",
    ("rx", "payload"): "arriving",
    ("tx", "valid"): "offered",
    ("tx", "payload"): "offered",
    ("tx", "ready"): "ready",
}
_PAYLOAD_BITS = 9


def packed(text):
    """``text``, Verilog with a HUB of N ports as the module ``dut``, and the module ``PACKED`` around that one.

    Its pins: ``arriving`` and ``offered``, 10 N bits, the N valid bits of the ports lowest, then 9 bits of payload for
    each port; ``ready``, N bits; all other pins as they are.
    """
    found = pins(text, "dut")
    ports = sum(name.endswith("__rx__valid") for name, *_ in found)
    widths = {"arriving": 10 * ports, "offered": 10 * ports, "ready": ports}
    declared = [
        f"{'output' if name == 'offered' else 'input'} wire [{width - 1}:0] {name}" for name, width in widths.items()
    ]
    connected = []
    for name, direction, width in found:
        if pin := _PORT_PIN.fullmatch(name):
            vector, port = _VECTORS[pin[2], pin[3]], int(pin[1])
            at = f"{ports + _PAYLOAD_BITS * port} +: {_PAYLOAD_BITS}" if pin[3] == "payload" else f"{port}"
            connected.append(f".{name}({vector}[{at}])")
        else:
            declared.append(f"{direction} wire [{width - 1}:0] {name}" if width > 1 else f"{direction} wire {name}")
            connected.append(f".{name}({name})")
    lines = [f"module {PACKED}(", ",\n".join(declared), ");", "dut dut (", ",\n".join(connected), ");", "endmodule", ""]
    return "\n".join([text, *lines])


def packed_hub(ports, profile, **options):
    """Verilog of a HUB of ``ports`` ports in ``profile`` (HubProfile), packed; elaborated once for all its benches.
    ``options``: as in Hub."""
    from nectar.hdl.hub import hub
    from nectar.hdl.verilog import convert

    return packed(
        elaborated(
            (ports, profile.name, *sorted(options.items())),
            Path(hub.__file__),
            lambda: convert(hub.Hub(ports, profile, **options), "dut"),
        )
    )


class Pins:
    """The pins of a HUB in cocotb.

    Parameters
    ----------
    dut : handle
        The module that ``packed`` has put around the HUB.
    hub : int
        HUB ID to give it.
    """

    def __init__(self, dut, hub):
        self.dut = dut
        self.hub = hub
        self.agents = None
        #: What the HUB offered at each port in the cycle behind a reset of one cycle: it was from before.
        self.stale = []
        self.ports = len(dut.ready)
        from ..harness.ports import reader, writer  # packed HUBs are used without cocotb, too

        self._arriving, self._ready = writer("arriving"), writer("ready")
        self._offered, self._idle = reader("offered"), reader("idle")
        self._valid = (1 << self.ports) - 1
        self._shifts = [self.ports + _PAYLOAD_BITS * port for port in range(self.ports)]
        self._driven = None
        self._vector = 0
        self._clock = None
        self._edge = dut.clk.falling_edge
        self._resets = 0  # cycles of the reset that ends with the next cycle; 0 if none does

    async def reset(self, endpoints, cycles=4):
        """Resets the HUB for ``cycles`` and puts ``endpoints`` at its ports; a new recording begins with the cycle
        behind the reset."""
        from cocotb.clock import Clock

        dut = self.dut
        dut.rst.value = 1
        dut.hub_id.value = self.hub
        self._vector = 0
        self._arriving(0)
        self._ready(0)
        self._driven = [None] * self.ports, [False] * self.ports
        if self._clock is None:
            self._clock = Clock(dut.clk, 70, unit="ns")
            self._clock.start()
        for _ in range(cycles - 1):
            await self._edge
        self._resets = cycles
        self.agents = Agents(endpoints)
        return self.agents

    def _look(self):
        """What the HUB offers at each port: a symbol or None."""
        vector = self._offered()
        offered = [None] * self.ports
        if vector & self._valid:
            for port, shift in enumerate(self._shifts):
                if vector >> port & 1:
                    offered[port] = vector >> shift & 0x1FF
        return offered

    def _drive(self, arriving, ready):
        """Drives what has changed."""
        before, was_ready = self._driven
        if arriving != before:
            vector = self._vector
            for port, (symbol, old) in enumerate(zip(arriving, before)):
                if symbol != old:
                    if symbol is None:
                        # The payload says something only while valid is 1.
                        vector ^= 1 << port | 0x1FF << self._shifts[port]
                    else:
                        shift = self._shifts[port]
                        vector = vector & ~(0x1FF << shift) | symbol << shift | 1 << port
            self._vector = vector
            self._arriving(vector)
        if ready != was_ready:
            self._ready(sum(takes << port for port, takes in enumerate(ready)))
        self._driven = arriving, ready

    async def cycle(self):
        """One clock cycle."""
        await self._edge
        offered = self._look()
        if self._resets:
            self.dut.rst.value = 0
            if self._resets == 1:
                self.stale, offered = offered, [None] * self.ports
            self._resets = 0
        self._drive(*self.agents.step(offered, self._idle() == 1))

    async def cycles(self, count):
        """``count`` clock cycles."""
        for _ in range(count):
            await self.cycle()

    async def until(self, condition, limit, what):
        """Clock cycles until ``condition()``; raises Violation that ``what`` did not happen within ``limit`` cycles."""
        for _ in range(limit):
            if condition():
                return
            await self.cycle()
        raise Violation(f"not within {limit} cycles: {what}")

    async def drain(self, limit=5000):
        """Clock cycles until all is quiet."""
        await self.until(lambda: self.agents.quiet, limit, "all ends quiet and the HUB idle")

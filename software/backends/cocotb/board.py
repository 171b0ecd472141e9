"""Boards as cocotb sees them: pins, driven and sampled at every clock edge.

``docs/engine.md`` rules what happens at an edge; the processors are those of ``backends.processor``.
"""

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from ....hdl.host.numbers import RESET_EDGES
from ....sim.numbers import DISARMED
from ..processor import FOREVER

__all__ = ["Board", "Cab"]


class Port:
    """A board's pins of one pair of fibers."""

    __slots__ = (
        "arriving",
        "_payload",
        "_valid",
        "_ready",
        "_rx_payload",
        "_rx_valid",
        "_outward",
        "_inward",
        "_tap",
        "_sending",
    )

    def __init__(self, pin, outward, inward, tap):
        self._payload, self._valid, self._ready = (pin(f"tx__{name}") for name in ("payload", "valid", "ready"))
        self._rx_payload, self._rx_valid = (pin(f"rx__{name}") for name in ("payload", "valid"))
        self._outward = outward
        self._inward = inward
        self._tap = tap
        self._sending = True  # what tx__ready shows
        self.arriving = False  # what rx__valid shows
        self._ready.value = 1
        self._rx_payload.value = 0
        self._rx_valid.value = 0

    def edge(self, time_ps, next_ps):
        """The pins at the board's edge at ``time_ps``; sets the inputs for its next edge."""
        outward = self._outward
        if self._sending and self._valid.value:
            symbol = self._payload.value.to_unsigned()
            start = outward.send(time_ps, symbol)
            if self._tap is not None:
                self._tap.symbol(start, symbol)
        ready = outward.ready(next_ps)
        if ready != self._sending:
            self._sending = ready
            self._ready.value = int(ready)
        symbol = self._inward.receive(next_ps)
        if symbol is not None:
            self._rx_payload.value = symbol
        arriving = symbol is not None
        if arriving != self.arriving:
            self.arriving = arriving
            self._rx_valid.value = int(arriving)


class Board:
    """A board: clock, reset, ports."""

    def __init__(self, dut, name, period_ps, phase_ps):
        self.name = name
        self.period_ps = period_ps
        self.phase_ps = phase_ps
        self._dut = dut
        self.clk = self.pin("clk")
        self._rst = self.pin("rst")
        self._idle = self.pin("idle")
        self._clock = None
        self.ports = []
        self.clk.value = 0
        self._rst.value = 1

    def pin(self, name):
        return getattr(self._dut, f"{self.name}__{name}")

    def connect(self, port, outward, inward, tap):
        """Gives the port (a number; None for a CAB's only one) its fibers; ``tap``: a Tap of the one out, or None."""
        prefix = "fiber" if port is None else f"port_{port}"
        self.ports.append(Port(lambda name: self.pin(f"{prefix}__{name}"), outward, inward, tap))

    def act(self, edge):
        """What the board's surroundings do at each edge after reset; ``edge`` counts from 0."""

    def quiet(self):
        """Whether only an arriving symbol can change anything in this board."""
        return bool(self._idle.value) and not any(port.arriving for port in self.ports)

    def close(self):
        """Stops the clock."""
        if self._clock is not None:
            self._clock.stop()
            self._clock = None

    async def run(self):
        """Follows the board's clock for ever."""
        if self.phase_ps:
            await Timer(self.phase_ps, "step")
        self._clock = Clock(self.clk, self.period_ps, "step", period_high=self.period_ps // 2)
        self._clock.start()
        rising = RisingEdge(self.clk)
        time_ps = self.phase_ps
        edges = 0
        while True:
            await rising
            if edges >= RESET_EDGES:
                self.act(edges - RESET_EDGES)
            elif edges == RESET_EDGES - 1:
                self._rst.value = 0
            edges += 1
            next_ps = time_ps + self.period_ps
            for port in self.ports:
                port.edge(time_ps, next_ps)
            time_ps = next_ps


class Cab(Board):
    """A CAB with its processor, once it has one."""

    def __init__(self, dut, name, period_ps, phase_ps, turned):
        super().__init__(dut, name, period_ps, phase_ps)
        self.processor = None
        self.software = False  # whether it has ever had any
        self._turned = turned
        self._request = None
        self._done, self._data, self._error = self.pin("bus__done"), self.pin("bus__read_data"), self.pin("bus__error")
        self._valid, self._ready, self._irq = self.pin("bus__valid"), self.pin("bus__ready"), self.pin("irq")
        self._address, self._write = self.pin("bus__address"), self.pin("bus__write")
        self._select, self._write_data = self.pin("bus__select"), self.pin("bus__write_data")
        self._kernel, execute = self.pin("bus__kernel"), self.pin("bus__execute")
        self._wake_in = self.pin("wake_in")
        for driven in (self._valid, self._address, self._write, self._select, self._write_data, self._kernel, execute):
            driven.value = 0

    def act(self, edge):
        processor = self.processor
        if processor is None:
            return
        if not processor.turns:
            processor.skip(edge)
        turns = processor.turns
        try:
            if self._done.value:
                request = processor.edge(
                    True,
                    self._data.value.to_unsigned(),
                    bool(self._error.value),
                    bool(self._ready.value),
                    bool(self._irq.value),
                )
            else:
                request = processor.edge(ready=bool(self._ready.value), irq=bool(self._irq.value))
        except BaseException as error:
            self._halt()
            self._turned(error)
            return
        if request is not self._request:
            if request is None or self._request is None:
                self._valid.value = int(request is not None)
            self._request = request
            if request is not None:
                self._address.value = request.address
                self._write.value = int(request.write)
                self._select.value = request.select
                self._write_data.value = request.data
                self._kernel.value = int(request.kernel)
        if processor.turns != turns:
            self._turned(None)

    def _halt(self):
        """The CPU stands still from here on."""
        self.processor.close()
        self.processor = None
        self._request = None
        self._valid.value = 0

    def close(self):
        super().close()
        if self.processor is not None:
            self.processor.close()

    def quiet(self):
        if self.processor is not None and self.processor.sleeps(bool(self._irq.value)) < FOREVER:
            return False
        return super().quiet() and self._wake_in.value.to_unsigned() == DISARMED

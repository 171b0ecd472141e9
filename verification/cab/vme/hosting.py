"""A host on the synchronous port."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from nectar.verification.harness import Port

__all__ = ["Host", "HostPlug"]


class HostPlug:
    """Pins of a component with nothing but clock, reset and the host's and the map's ports, for ``Inside``."""

    def __init__(self, dut):
        self.dut = dut
        self.tasks = []
        self._pins = {}

    def _pin(self, name):
        if name not in self._pins:
            self._pins[name] = Port(name) if hasattr(self.dut, name) else None
        return self._pins[name]

    def get(self, name):
        """Value of a pin; 0 of one that is not there."""
        pin = self._pin(name)
        return 0 if pin is None else pin.value

    def put(self, **values):
        """Drives pins; those that are not there are left out."""
        for name, value in values.items():
            pin = self._pin(name)
            if pin is not None:
                pin.value = int(value)

    async def start(self):
        """Clock and reset."""
        self.put(rst=1)
        self.tasks.append(cocotb.start_soon(Clock(self.dut.clk, 62_500, unit="ps").start()))
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.put(rst=0)


class Host:
    """Makes Wishbone cycles on the pins ``prefix``."""

    def __init__(self, plug, prefix="pins"):
        self.plug, self.prefix = plug, prefix
        self._locked = 0
        self._put(cyc=0, stb=0, lock=0, we=0, adr=0, sel=0, dat_w=0)

    def _put(self, **values):
        self.plug.put(**{f"{self.prefix}__{name}": value for name, value in values.items()})

    def _get(self, name):
        return self.plug.get(f"{self.prefix}__{name}")

    def lock(self, on):
        """Holds ``cyc`` and ``lock``, or lets go."""
        self._put(cyc=on, lock=on)
        self._locked = on

    async def access(self, address, value=None, select=15):
        """A read, or a write of ``value``: whether it ended with ``ack``, and what was read."""
        self._put(cyc=1, stb=1, we=value is not None, adr=address >> 2, sel=select, dat_w=value or 0)
        while True:
            await RisingEdge(self.plug.dut.clk)
            ack, err = self._get("ack"), self._get("err")
            if ack or err:
                break
        assert not (ack and err)
        read = self._get("dat_r")
        self._put(stb=0, cyc=self._locked)
        await RisingEdge(self.plug.dut.clk)
        return bool(ack), read

    async def withdraw(self, address, cycles):
        """A read that is withdrawn after some cycles."""
        self._put(cyc=1, stb=1, we=0, adr=address >> 2, sel=15)
        for _ in range(cycles):
            await RisingEdge(self.plug.dut.clk)
        self._put(stb=0, cyc=0)
        for _ in range(2):
            await RisingEdge(self.plug.dut.clk)
            assert cycles > 3 or not (self._get("ack") or self._get("err"))

"""A whole testbench: backplane, checker, system controller, boards beside the component under test."""

from nectar.hdl.cab.vme.vme import Vme

from .attach import Inside, Plug
from .backplane import Backplane
from .checker import Checker
from .controller import Arbiter, Board, BusTimer, ChainDriver
from .waiting import now

__all__ = ["A24_BASE", "A32_BASE", "DATA_BYTES", "PERIODS", "VmeTestbench", "configurations"]

#: Clocks that the benches run at: the prototype's, and one of an FPGA.
PERIODS = {"16 MHz": 62_500, "80 MHz": 12_500}
DATA_BYTES = 4096
#: The longest waits: 478 and 1597 cycles of 62.5 ns, so that it matters in which order a counter takes its values.
TIMEOUT_NS, GRANT_NS = 29_850, 99_800
#: Switches of the component under test.
A24_BASE, A32_BASE = 0x800000, 0x5A000000


def configurations():
    """What a Bench of the whole interface takes; all of them share their models."""
    return {
        name: lambda period=period: Vme(DATA_BYTES, period, timeout_ns=TIMEOUT_NS, grant_ns=GRANT_NS)
        for name, period in PERIODS.items()
    }


class VmeTestbench:
    """Three slots: the node's board 0 with arbiter and bus timer, the component, another board.

    Parameters
    ----------
    dut : cocotb handle
    configuration : str
        Name of the clock.
    slow : float
        As in ``Inside``.
    level : int
        The component's bus request level.
    cut_short : bool
        As in ``Checker``.
    """

    timeout_ns, grant_ns = TIMEOUT_NS, GRANT_NS

    def __init__(self, dut, configuration, slow=0.3, level=3, cut_short=False):
        self.bus = Backplane(now)
        self.checker = Checker(self.bus, cut_short)
        self.plug = Plug(dut, self.bus, 1, PERIODS[configuration])
        self.period = PERIODS[configuration] / 1000
        self._slow, self._level = slow, level

    async def start(self):
        """Resets and connects everything."""
        quiet = {
            "host__cyc": 0,
            "host__stb": 0,
            "host__lock": 0,
            "window__valid": 0,
            "access__ready": 0,
            "access__done": 0,
            "memory__ready": 0,
            "vd_send__write": 0,
            "vd_fetch__write": 0,
            "vd_address__write": 0,
            "vd_remote__write": 0,
            "vd_threshold__write": 0,
            "vd_control__write": 0,
            "vd_result__write": 0,
            "vme_window__write": 0,
            "vme_interrupt__write": 0,
            "vme_bell__write": 0,
        }
        await self.plug.start(
            **quiet,
            level=self._level,
            select__a24=1,
            select__a24_half=A24_BASE >> 23,
            select__a32=1,
            select__a32_base=A32_BASE >> 24,
        )
        self.node = Board(self.bus, 0, level=3)
        self.other = Board(self.bus, 2, level=2)
        self.arbiter = Arbiter(self.bus)
        self.timer = BusTimer(self.bus)
        self.chain = ChainDriver(self.bus)
        self.inside = Inside(self.plug, DATA_BYTES, self._slow)
        return self

"""Clock domains of a board: its PLL, and resets that end when the clocks run.

Source: ours; the PLLs are those of the families' libraries (see ``clocks``).
"""

from amaranth.hdl import ClockDomain, ClockSignal, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.wiring import In

__all__ = ["ClockTree"]

#: Time from the PLL's lock to the end of the resets. The block RAMs of an iCE40 read as zeros for 3 us after it has
#: been loaded.
_RESET_US = 20


class ClockTree(wiring.Component):
    """Drives the domains ``sync`` and, if there is a serial line, ``line``, which whoever is above it has (see
    ``domains``).

    Parameters
    ----------
    family : str
        Whose PLL.
    clocks : Clocks
        What it is to make.
    oscillator_hz : int
        The rate of ``oscillator``.
    pad : IOPort, optional
        The pin of the oscillator, which an iCE40's PLL takes itself; ``oscillator`` is unused then.

    Members
    -------
    oscillator : In(1)
        The board's clock.
    reset : In(1)
        The board's reset button, pressed; need not be synchronous.

    Timing
    ------
    The resets of both domains end some 20 us after the PLL has locked and the button was released, within three cycles
    of each other."""

    def __init__(self, family, clocks, oscillator_hz, pad=None):
        self.family = family
        self.clocks = clocks
        self.oscillator_hz = oscillator_hz
        self.pad = pad
        self._domains = {"sync": (clocks.sync, clocks.sync_hz)}
        if clocks.line_hz:
            self._domains["line"] = clocks.line, clocks.line_hz
        #: Output of the PLL, None for the oscillator → (its clock, to be constrained; Hz).
        self.nets = {
            output: (Signal(name=f"clock_{name}"), rate) for name, (output, rate) in reversed(self._domains.items())
        }
        super().__init__({"oscillator": In(1), "reset": In(1)})

    def domains(self):
        """The ClockDomains, for the module above."""
        return [ClockDomain(name) for name in self._domains]

    def elaborate(self, platform):
        m = Module()
        clocks = self.clocks
        outputs, locked = {None: self.oscillator}, Signal(init=1)
        if clocks.pll:
            outputs |= getattr(self, f"_{self.family}")(m, locked)

        for output, (net, _) in self.nets.items():
            m.d.comb += net.eq(outputs[output])
        for name, (output, _) in self._domains.items():
            m.d.comb += ClockSignal(name).eq(self.nets[output][0])

        # The board is held in reset until the clocks have been right for a while.
        m.domains.start = ClockDomain(local=True, reset_less=True)
        m.d.comb += ClockSignal("start").eq(ClockSignal("sync"))
        ready, going = Signal(), Signal()
        m.submodules.ready_sync = FFSynchronizer(locked & ~self.reset, ready, o_domain="start")
        wait = Signal(range(clocks.sync_hz // 1_000_000 * _RESET_US + 1), init=clocks.sync_hz // 1_000_000 * _RESET_US)
        with m.If(~ready):
            m.d.start += [wait.eq(wait.init), going.eq(0)]
        with m.Elif(wait != 0):
            m.d.start += wait.eq(wait - 1)
        with m.Else():
            m.d.start += going.eq(1)
        for name in self._domains:
            m.submodules[f"reset_{name}"] = ResetSynchronizer(~going, domain=name)
        return m

    def _ecp5(self, m, locked):
        feedback, sync, line = (Signal(name=name) for name in ("pll_feedback", "pll_sync", "pll_line"))
        dividers = {f"p_{name}": value for name, value in self.clocks.pll.items()}
        phases = {
            f"p_{name}_CPHASE": value - 1
            for name, value in ((name.removesuffix("_DIV"), value) for name, value in self.clocks.pll.items())
            if name.startswith("CLKO")
        }
        enables = {
            f"p_{name}_ENABLE": "ENABLED" for name in ("CLKOP", "CLKOS", "CLKOS2") if f"{name}_DIV" in self.clocks.pll
        }
        m.submodules.pll = Instance(
            "EHXPLLL",
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            p_FEEDBK_PATH="CLKOP",
            **dividers,
            **phases,
            **enables,
            p_PLLRST_ENA="DISABLED",
            p_INTFB_WAKE="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            i_CLKI=self.oscillator,
            i_CLKFB=feedback,
            i_RST=0,
            i_STDBY=0,
            i_PHASESEL0=0,
            i_PHASESEL1=0,
            i_PHASEDIR=1,
            i_PHASESTEP=1,
            i_PHASELOADREG=1,
            i_PLLWAKESYNC=0,
            i_ENCLKOP=0,
            o_CLKOP=feedback,
            o_CLKOS=sync,
            o_CLKOS2=line,
            o_LOCK=locked,
        )
        return {"CLKOS": sync, "CLKOS2": line}

    def _xilinx(self, m, locked):
        back, raw = Signal(), Signal(2)
        buffered = Signal(2)
        m.submodules.pll = Instance(
            "PLLE2_BASE",
            p_CLKIN1_PERIOD=round(1e9 / self.oscillator_hz, 3),
            **{f"p_{name}": value for name, value in self.clocks.pll.items()},
            i_CLKIN1=self.oscillator,
            i_CLKFBIN=back,
            i_RST=0,
            i_PWRDWN=0,
            o_CLKFBOUT=back,
            o_CLKOUT0=raw[0],
            o_CLKOUT1=raw[1],
            o_LOCKED=locked,
        )
        for n in range(2):
            m.submodules[f"buffer_{n}"] = Instance("BUFG", i_I=raw[n], o_O=buffered[n])
        return {"CLKOUT0": buffered[0], "CLKOUT1": buffered[1]}

    def _ice40(self, m, locked):
        """Outputs: the VCO's rate divided, A, and half of that, B; or, where the oscillator is wanted as well, that
        in the place of B."""
        first, second = Signal(), Signal()
        settings = {f"p_{name}": value for name, value in self.clocks.pll.items()}
        pins = {"i_RESETB": 1, "i_BYPASS": 0, "o_PLLOUTGLOBALA": first, "o_PLLOUTGLOBALB": second, "o_LOCK": locked}
        if None in self.nets:
            m.submodules.pll = Instance(
                "SB_PLL40_2_PAD",
                ("io", "PACKAGEPIN", self.pad),
                p_FEEDBACK_PATH="SIMPLE",
                p_PLLOUT_SELECT_PORTB="GENCLK",
                **settings,
                **pins,
            )
            return {None: first, "A": second}
        m.submodules.pll = Instance(
            "SB_PLL40_2F_PAD",
            ("io", "PACKAGEPIN", self.pad),
            p_FEEDBACK_PATH="SIMPLE",
            p_PLLOUT_SELECT_PORTA="GENCLK",
            p_PLLOUT_SELECT_PORTB="GENCLK_HALF",
            **settings,
            **pins,
        )
        return {"A": first, "B": second}

    def _gowin(self, m, locked):
        whole, divided = (
            Signal(name="clock_line" if self.clocks.line == name != self.clocks.sync else "clock_sync")
            for name in ("CLKOUT", "CLKOUTD")
        )
        m.submodules.pll = Instance(
            "rPLL",
            p_FCLKIN=f"{self.oscillator_hz / 1e6:g}",
            p_DEVICE="GW1NR-9C",
            p_DYN_IDIV_SEL="false",
            p_DYN_FBDIV_SEL="false",
            p_DYN_ODIV_SEL="false",
            p_CLKFB_SEL="internal",
            p_CLKOUTD_SRC="CLKOUT",
            p_CLKOUTD_BYPASS="false",
            p_CLKOUT_BYPASS="false",
            **{f"p_{name}": value for name, value in self.clocks.pll.items()},
            i_CLKIN=self.oscillator,
            i_CLKFB=0,
            i_RESET=0,
            i_RESET_P=0,
            i_FBDSEL=0,
            i_IDSEL=0,
            i_ODSEL=0,
            i_PSDA=0,
            i_DUTYDA=0,
            i_FDLY=0,
            o_CLKOUT=whole,
            o_CLKOUTD=divided,
            o_LOCK=locked,
        )
        return {"CLKOUT": whole, "CLKOUTD": divided}

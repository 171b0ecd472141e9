"""Clocks out of a board's oscillator: what its PLL is set to. Plain Python.

Sources: data sheets and clock guides of the families (Lattice FPGA-TN-02200, ECP5 sysCLOCK; Lattice FPGA-TN-02052,
iCE40 sysCLOCK; Gowin UG286; AMD UG472), of which the limits below are the stricter ones.
"""

from dataclasses import dataclass, field
from fractions import Fraction

__all__ = ["Clocks", "FAMILIES", "plan"]

MHZ = 1_000_000
#: Ways to sample a serial line, best first: (samples in a cycle, samples in a bit). Two in a cycle are both edges of
#: the clock.
SAMPLINGS = ((2, 4), (2, 6), (2, 8), (1, 4), (1, 6), (1, 8))
#: How far the clock ``sync`` may be from what was asked for. The line's has to be exact.
TOLERANCE = Fraction(1, 50)


@dataclass(frozen=True)
class Clocks:
    """What comes of an oscillator.

    ``sync_hz`` and ``line_hz`` (ints; None without a serial line) are the clocks; ``samples`` and ``oversampling`` go
    with the latter. ``pll`` holds the PLL's parameters by name, empty if there is none; ``sync`` and ``line`` name its
    outputs that bear the clocks, None for the oscillator."""

    sync_hz: int
    line_hz: int | None = None
    samples: int = 2
    oversampling: int = 4
    pll: dict = field(default_factory=dict)
    sync: str | None = None
    line: str | None = None

    @property
    def one_clock(self):
        """Whether both clocks are the same."""
        return self.line_hz is not None and self.sync == self.line


def _whole(value):
    return value.denominator == 1


def _divided(vco, asked):
    """The divider of ``vco`` that comes nearest to ``asked`` but is no faster than 400 MHz, and what it gives."""
    divider = min(max(round(vco / asked), 2 if vco <= 800 * MHZ else 4), 128)
    return divider, vco / divider


def _ecp5(oscillator, sync, line):
    for reference in range(1, 129):
        compared = Fraction(oscillator, reference)
        if compared < 10 * MHZ:
            return
        for multiplier in range(1, int(800 * MHZ // compared) + 1):
            vco = compared * multiplier
            # The feedback goes through an output of its own, CLKOP, of at most 400 MHz.
            first = next(
                (divider for divider in range(2, 129) if multiplier % divider == 0 and vco / divider >= compared), None
            )
            if not 400 * MHZ <= vco or first is None or (line and not _whole(vco / line)):
                continue
            divider, found = _divided(vco, sync)
            pll = {"CLKI_DIV": reference, "CLKFB_DIV": multiplier // first, "CLKOP_DIV": first, "CLKOS_DIV": divider}
            if line:
                pll["CLKOS2_DIV"] = int(vco / line)
                if pll["CLKOS2_DIV"] > 128:
                    continue
            yield found, "CLKOS", "CLKOS2", pll


def _xilinx(oscillator, sync, line):
    for reference in range(1, 57):
        compared = Fraction(oscillator, reference)
        if compared < 19 * MHZ:
            return
        for multiplier in range(2, 65):
            vco = compared * multiplier
            if not 800 * MHZ <= vco <= 1600 * MHZ or (line and (not _whole(vco / line) or vco / line > 128)):
                continue
            divider, found = _divided(vco, sync)
            pll = {"DIVCLK_DIVIDE": reference, "CLKFBOUT_MULT": multiplier, "CLKOUT0_DIVIDE": divider}
            if line:
                pll["CLKOUT1_DIVIDE"] = int(vco / line)
            yield found, "CLKOUT0", "CLKOUT1", pll


def _ice40(oscillator, sync, line):
    for reference in range(1, 17):
        compared = Fraction(oscillator, reference)
        if compared < 10 * MHZ:
            return
        for multiplier in range(1, 129):
            vco = compared * multiplier
            if not 533 * MHZ <= vco <= 1066 * MHZ:
                continue
            for power in range(1, 7):
                whole = vco / 2**power
                pll = {
                    "DIVR": reference - 1,
                    "DIVF": multiplier - 1,
                    "DIVQ": power,
                    "FILTER_RANGE": 1 if compared < 17 * MHZ else 2,
                }
                if whole < 16 * MHZ or (line and whole != line):
                    continue
                yield whole, "A", "A", pll
                yield whole / 2, "B", "A", pll


def _gowin(oscillator, sync, line):
    for reference in range(1, 65):
        compared = Fraction(oscillator, reference)
        if compared < 3 * MHZ:
            return
        for multiplier in range(1, 65):
            whole = compared * multiplier
            output = next(
                (
                    divider
                    for divider in (2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128)
                    if 500 * MHZ <= whole * divider <= 1200 * MHZ
                ),
                None,
            )
            if output is None or whole > 450 * MHZ:
                continue
            wanted = {round(whole / rate / 2) * 2 for rate in (sync, line) if rate and rate != whole} or {2}
            for divider in (divider for divider in wanted if 2 <= divider <= 128):
                rates = {"CLKOUT": whole, "CLKOUTD": whole / divider}
                pll = {
                    "IDIV_SEL": reference - 1,
                    "FBDIV_SEL": multiplier - 1,
                    "ODIV_SEL": output,
                    "DYN_SDIV_SEL": divider,
                }
                carrier = next((name for name, rate in rates.items() if rate == line), None)
                if line and carrier is None:
                    continue
                for name, rate in rates.items():
                    yield rate, name, carrier, pll


#: Family → what finds (rate of sync, output that bears it, output that bears the line's clock, parameters), and the
#: fastest clock of a line in it.
FAMILIES = {
    "ecp5": (_ecp5, 125 * MHZ),
    "xilinx": (_xilinx, 125 * MHZ),
    "ice40": (_ice40, 50 * MHZ),
    "gowin": (_gowin, 50 * MHZ),
    "intel": (None, 125 * MHZ),
}


def _choices(family, oscillator, sync, line):
    """All ways to make the clocks, as Clocks."""
    if line in (None, oscillator):
        yield Clocks(oscillator, line)
    if FAMILIES[family][0] is None:
        return
    for found, carrier, other, pll in FAMILIES[family][0](oscillator, sync, line):
        yield Clocks(round(found), line, pll=pll, sync=carrier, line=other if line else None)
    if line is not None and line != oscillator:  # the line's clock from the PLL, the oscillator for all else
        for _, _, other, pll in FAMILIES[family][0](oscillator, line, line):
            yield Clocks(oscillator, line, pll=pll, line=other)
            return


def plan(family, oscillator_hz, sync_hz, baud=None):
    """The Clocks for ``sync_hz`` (the nearest that there is) and a serial line of ``baud`` bits a second, if any
    (exactly).

    Raises ValueError if the PLLs of ``family`` cannot make them of the oscillator.
    """
    nearest = None
    samplings = [
        (samples, oversampling)
        for samples, oversampling in SAMPLINGS
        if baud is not None
        and baud * oversampling % samples == 0
        and baud * oversampling // samples <= FAMILIES[family][1]
    ]
    for samples, oversampling in samplings if baud is not None else [(2, 4)]:
        line = None if baud is None else baud * oversampling // samples
        choices = list(_choices(family, oscillator_hz, sync_hz, line))
        if choices:
            best = min(choices, key=lambda clocks: abs(clocks.sync_hz - sync_hz))
            carrier = best.sync if best.sync_hz == line else best.line  # one output is enough for both
            found = Clocks(best.sync_hz, line, samples, oversampling, best.pll, best.sync, carrier)
            if abs(found.sync_hz - sync_hz) <= TOLERANCE * sync_hz:
                return found
            nearest = nearest or found
    if nearest is not None:
        raise ValueError(
            f"{sync_hz / MHZ:g} MHz cannot be made of the board's {oscillator_hz / MHZ:g} MHz; "
            f"{nearest.sync_hz / MHZ:g} MHz can"
        )
    raise ValueError(f"{baud / MHZ:g} Mbaud cannot be made of the board's {oscillator_hz / MHZ:g} MHz")

"""The CAB with all its users busy at once, beside the papers' figures: what ``nectar bench cab`` measures.

Simulated time and cycles of the board: no machine's load disturbs them. The board is the RTL under cocotb, with the
bench's own fibers and VME bus around it, at 16.5 MHz, where a word of memory in each cycle is 66 Mbyte/s."""

from .outcome import Outcome
from .under_cocotb import found

__all__ = ["BOARD", "FIGURES", "measure"]

#: 16 kbyte of data memory: a quarter for each user.
BOARD = {"data_bytes": 16 << 10, "program_bytes": 4 << 10, "domains": 4, "pages": 64, "vme": True, "period_ps": 60_606}
#: Figures of "The Design of Nectar" (1989), section 5, in Mbyte/s: facts C1 and C3.
FIGURES = {"fiber_out": 12.5, "fiber_in": 12.5, "vme": 10, "total": 66}
_WHAT = {
    "fiber_out": "the outgoing fiber",
    "fiber_in": "the incoming fiber",
    "vme": "DMA to and from VME",
    "total": "all together",
}
#: A word that is not whole counts with its bytes only; symbols on their way at the end not at all.
_LEAST = {"fiber_out": 1, "fiber_in": 0.998, "vme": 1, "total": 0.99}
_CYCLES = 24_000


def measure(scale):
    """Outcomes: the share of each figure that is reached, what the CPU keeps, the cycles that protection costs.

    Raises NotInstalled without cocotb, BuildError when it cannot be compiled or run.
    """

    def text():
        from ...hdl.product import product

        return product("cab", **BOARD)

    result = found(text, "cab_sim", top="cab", order={"cycles": max(3000, round(_CYCLES * scale))})
    rates, outcomes = result["rates"], []
    for name, figure in FIGURES.items():
        text = f"{_WHAT[name]}: {rates[name]:.2f} of {figure} Mbyte/s"
        if name == "fiber_in":
            text += f"; {rates['backlog']} symbols in the input queue at the end"
        outcomes.append(
            Outcome(
                rates[name] / figure,
                "",
                _LEAST[name],
                text,
                measured={"rate": rates[name], "figure": figure},
                part=name,
            )
        )
    outcomes.append(
        Outcome(
            rates["cpu"],
            "Mbyte/s",
            None,
            f"left for the CPU, which wants a word in every cycle: {rates['share']:.0%} of all cycles; its "
            f"slowest access took {rates['longest']} cycles",
            measured=rates,
            part="cpu",
        )
    )
    on, off = result["on"], result["off"]
    added = max(late - early for late, early in zip(on, off, strict=True))
    outcomes.append(
        Outcome(
            added,
            "cycles",
            0,
            f"added by protection to the slowest of {len(on)} accesses; {min(on)} to {max(on)} cycles each in a user's "
            "domain, the same in the kernel's, where it has no say",
            at_most=True,
            measured={"on": sum(on), "off": sum(off)},
            part="protection",
        )
    )
    return outcomes

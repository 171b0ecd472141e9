"""How the proof of the protection is run, and the faults that it finds."""

from amaranth.hdl import Mux

from ...hdl.cab.bus import CpuBus
from ...hdl.cab.protection import Protection
from ...hdl.cab.regions import KERNEL, AccessKind, Right
from .faults import Fault, with_fields
from .proof import Attempt, Proof
from .protection import ProtectionProof

__all__ = ["PROOFS"]

PROOFS = [
    Proof(
        "protection",
        "nothing is done that the table does not allow",
        'docs/cab.md, "Protection"',
        holds={
            "4 domains, 16 pages": Attempt(lambda: ProtectionProof(4, 16)),
            "2 domains, 64 pages": Attempt(lambda: ProtectionProof(2, 64), nightly=True),
            "32 domains, 16 pages": Attempt(lambda: ProtectionProof(32, 16), nightly=True),
        },
        # What is wrong with areas shows after ten cycles, and takes ten times as long to be found.
        search=Attempt(lambda: ProtectionProof(4, 16), mode="bmc", depth=15),
        everyday=0,
        faults={
            "a refused write reaches the memory": Fault(CpuBus, "may", lambda was, s: 1),
            "a domain that is off may do what its table says": Fault(Protection, "counts", lambda was, s: s.inside),
            "an area that is refused in between is let in unseen": Fault(CpuBus, "refused", lambda was, s: 0),
            # The state behind the walk is its end.
            "only the first page of an area counts": Fault(
                CpuBus, "walk_state", lambda was, s: Mux(s.walking, s.walk_state + 1, was)
            ),
            "a refused read tells what is there": Fault(
                CpuBus, "memory_word", lambda was, s: Mux(s.from_memory, s.memory_data, 0)
            ),
            "the kernel's registers are like others": (
                Fault(CpuBus, "where", lambda was, s: with_fields(was, private=was.private & ~was.registers)),
                Fault(CpuBus, "decides", lambda was, s: ~(s.where.private | s.where.area), at_once=True),
            ),
            "instructions need the right to read": (
                Fault(CpuBus, "protection__needed", lambda was, s: Mux(was == Right.EXECUTE, Right.READ, was)),
                Fault(
                    CpuBus,
                    "protection__trap__payload",
                    lambda was, s: with_fields(
                        was, kind=Mux(was.kind == AccessKind.EXECUTE, AccessKind.READ, was.kind)
                    ),
                ),
            ),
            "an access that waits follows the pins": Fault(
                CpuBus, "cpu_domain", lambda was, s: Mux(s.bus__kernel, KERNEL, s.protection__current)
            ),
            "the next access is still in the old domain": Fault(
                CpuBus, "where", lambda was, s: with_fields(was, settles=was.settles & ~was.registers)
            ),
            "a look-up misses what is written in its cycle": Fault(CpuBus, "free", lambda was, s: Mux(s.valid, was, 1)),
            "a reset of the board loses the look-up of the next access": Fault(
                Protection, "inside", lambda was, s: was, at_once=True, resets=True
            ),
        },
    )
]

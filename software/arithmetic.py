"""What a program's own computation costs: a sum of operations, and the cycles of each on the CAB's CPU.

The answers of a program are computed by Python, in no simulated time. A task says what the same computation would
have been, and is charged what the CPU of its computer takes for that::

    BUTTERFLY = Work(float_multiply=4, float_add=6, load_double=6, store_double=4, add=8, branch=1)

    task.cab.compute(512 * BUTTERFLY)

The table here is of the prototype's SPARC of 16 MHz; other machines have tables of their own with the same operations.

Sources. *Nectar*: "The Design of Nectar" (1989), section 5.2: a SPARC at 16 MHz; program and data memory of static
RAM, without a cache, that sustain the CPU's peak rate, so that no wait states are counted. *CY7C601*: the integer
unit's times as in SIS (J. Gaisler, ESA; ``func.c``), the instruction simulator of a processor derived from it.
*CY7C602*: the floating-point unit's latencies as in GCC's ``sparc/cypress.md``. *.umul*: the multiplication of SPARC
V7, which has no such instruction, as Sun states it in its C library. All else is an estimate, with its reasoning.

The paper names neither the chip nor a floating-point unit. The table assumes a unit of the time that works while the
integer unit waits. Without one floating-point arithmetic would take some twenty times as long, and every program that
needs it would show a larger speed-up."""

from dataclasses import asdict, dataclass

from .costs import Table, cost

__all__ = ["ARITHMETIC", "Arithmetic", "CPU_MHZ", "Work"]

#: The CPU's clock (Nectar).
CPU_MHZ = 16


@dataclass(frozen=True, slots=True)
class Arithmetic(Table):
    """CPU cycles of each operation; ``reason(name)`` tells where a figure comes from.

    Integers have 32 bits. ``float_`` are operations of floating-point numbers of 32 or 64 bits, between registers."""

    add: int = cost(1, "add, subtract, compare, shift, logic, move; an address that is computed. CY7C601")
    branch: int = cost(2, "a jump of either outcome; estimate: 1 cycle (CY7C601), and its delay slot is empty")
    call: int = cost(6, "a procedure: call, delay slot, save, restore; return, 2 cycles. CY7C601")
    load: int = cost(2, "a word, halfword or byte out of memory. CY7C601")
    store: int = cost(3, "the same into memory. CY7C601")
    load_double: int = cost(3, "64 bits out of memory. CY7C601")
    store_double: int = cost(4, "64 bits into memory. CY7C601")
    multiply: int = cost(47, "two integers. .umul: 46 or 48 cycles; 25 if one has less than 13 bits")
    divide: int = cost(150, "two integers, with the remainder; estimate: 32 steps of shift, compare, subtract, count")
    float_add: int = cost(5, "add or subtract. CY7C602")
    float_multiply: int = cost(7, "CY7C602")
    float_divide: int = cost(37, "CY7C602")
    float_root: int = cost(63, "square root. CY7C602")
    float_compare: int = cost(6, "estimate: an addition (CY7C602), and a cycle until the branch may follow")
    float_convert: int = cost(10, "from or to an integer: through memory, a store and a load (CY7C601, CY7C602)")
    float_function: int = cost(
        200,
        "sine, exponential or logarithm; estimate: reduction of the argument, a division, a polynomial of 8 terms with "
        "its coefficients loaded: 37 + 8 (7 + 5 + 3) + 43",
    )


ARITHMETIC = Arithmetic()
_OPERATIONS = tuple(asdict(ARITHMETIC))


class Work:
    """An amount of computation, as counts of the operations of ``Arithmetic``: ``Work(add=3, load=2)``.

    ``Work`` may be added to another, and multiplied by a number: what is done in a loop.

    Members
    -------
    counts : dict
        Name of an operation → how many of it.
    cycles : int or float
        CPU cycles that it takes on a CAB.
    microseconds : float
        The same as time; ``cab.compute_us`` gives that on any computer.

    Raises
    ------
    TypeError
        An operation that the table does not have.
    """

    __slots__ = ("counts",)

    def __init__(self, **operations):
        unknown = sorted(set(operations) - set(_OPERATIONS))
        if unknown:
            raise TypeError(f"there is no operation {unknown[0]!r}: Arithmetic has {', '.join(_OPERATIONS)}")
        self.counts = operations

    def __repr__(self):
        return f"<Work of {self.cycles} cycles>"

    def cycles_by(self, table):
        """CPU cycles that it takes by the figures of an Arithmetic."""
        return sum(count * getattr(table, name) for name, count in self.counts.items())

    @property
    def cycles(self):
        return self.cycles_by(ARITHMETIC)

    @property
    def microseconds(self):
        return self.cycles / CPU_MHZ

    def __add__(self, other):
        if not isinstance(other, Work):
            return NotImplemented
        names = self.counts | other.counts
        return Work(**{name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in names})

    def __mul__(self, times):
        if not isinstance(times, (int, float)):
            return NotImplemented
        return Work(**{name: count * times for name, count in self.counts.items()})

    __rmul__ = __mul__

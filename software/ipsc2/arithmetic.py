"""What a program's own computation costs on a node of the iPSC/2: an 80386 of 16 MHz with an 80387. See ``Work``.

Sources. *80386*, *80387*: the clock counts that Intel publishes of each instruction, for operands in registers and in
memory without wait states, as the node's cache of 64 kbyte has it for what it holds (P. Close, "The iPSC/2 Node
Architecture" (1988), section 2.3.2). *GCC*: ``i386_cost``, which has the same figures of the coprocessor. All figures
are *derived*: the paper has none of a single operation. It has 250 thousand operations a second with numbers of 32
bits and over 210 with 64 bits; the table gives 242 and 219, of a b + c out of memory and into it.

The 80387 has a stack, and each number goes there and back by the coprocessor's interface: FLD of 32 bits takes 20
clocks, FST 44, of which a load and a store count 6. Its half, 27 clocks rounded down, is *in and out* of each
operation: a load and a store for two operations."""

from dataclasses import dataclass

from ..arithmetic import Arithmetic
from ..costs import cost

__all__ = ["I387", "NodeArithmetic"]


@dataclass(frozen=True, slots=True)
class NodeArithmetic(Arithmetic):
    """CPU cycles of each operation on a node; ``reason(name)`` tells where a figure comes from."""

    add: int = cost(2, "add, subtract, compare, logic, move, LEA: 2; shift: 3. 80386")
    branch: int = cost(6, "middle of 9, taken (7 and 2 for the next instruction), and 3, not taken. 80386")
    call: int = cost(29, "CALL 9, RET 12, and a frame: PUSH 2, MOV 2, POP 4. 80386")
    load: int = cost(4, "MOV out of memory. 80386")
    store: int = cost(2, "MOV into memory. 80386")
    load_double: int = cost(8, "two words: what they add to an operation that takes them from memory. 80386")
    store_double: int = cost(4, "two words. 80386")
    multiply: int = cost(24, "middle of 9 to 38, by the number's bits. 80386")
    divide: int = cost(45, "CDQ 2, IDIV 43. 80386")
    float_add: int = cost(53, "FADD of 32 bits 24 to 32, of 64 bits 29 to 37, less its load; in and out. 80387, GCC")
    float_multiply: int = cost(65, "FMUL of 32 bits 27 to 35, of 64 bits 32 to 57; in and out. 80387, GCC")
    float_divide: int = cost(117, "FDIV 88 to 91; in and out. 80387, GCC")
    float_root: int = cost(153, "FSQRT 122 to 129; in and out. 80387, GCC")
    float_compare: int = cost(44, "FCOM 26 or 31, FSTSW 13, SAHF 3. 80387")
    float_convert: int = cost(99, "middle of FILD 45 to 52 with FST 44, and FLD 20 with FISTP 79 to 93. 80387")
    float_function: int = cost(473, "middle of FSIN, 122 to 771; in and out. 80387")


I387 = NodeArithmetic()

"""What NX/2 costs: CPU cycles of the 80386 at 16 MHz. An instruction takes 4 cycles on average (16 MHz, 4 MIPS).

Sources: P. Close, "The iPSC/2 Node Architecture" (1988), section 2.1: 4 MIPS, interrupt response in 3.5 us, a task
switch not much longer. P. Pierce, "The NX/2 Operating System" (1988), section 3.1: some 350 us for a message of 0 bytes
between neighbours. The paper does not divide these 350 us: all figures marked *derived* are ours, and their sum is
chosen such that the whole is 350 us. Accesses to registers and memory come on top, as the board takes them.
"""

from dataclasses import dataclass

from ..costs import Table, cost

__all__ = ["I386", "NodeCosts"]

_AS_CAB = "assumed: as many instructions as on the CAB (software.costs), {}, of 4 cycles"


@dataclass(frozen=True, slots=True)
class NodeCosts(Table):
    """CPU cycles of each primitive; ``reason(name)`` tells where a figure comes from."""

    thread_switch: int = cost(64, "4 us: not much longer than an interrupt's response (node paper, 2.1)")
    dispatch: int = cost(40, "derived: 10 instructions")
    thread_spawn: int = cost(400, "assumed: 100 instructions")
    thread_end: int = cost(120, "assumed: 30 instructions")
    wake: int = cost(32, "derived: 8 instructions")
    interrupt_entry: int = cost(56, "3.5 us: response to an interrupt (node paper, 2.1)")
    interrupt_exit: int = cost(40, "derived: registers restored, return; 10 instructions")
    sent: int = cost(120, "derived: end of a message in the network, next one begun; 30 instructions")
    nx_call: int = cost(240, "derived: system call, checks of its arguments; 60 instructions")
    nectarine_send: int = cost(104, "derived: task found, envelope; 26 instructions")
    send: int = cost(1668, "derived: message record, reservation of a short buffer; 417 instructions")
    launch: int = cost(400, "derived: header, routing information, set-up of the DMA controller; 100 instructions")
    nectarine_receive: int = cost(760, "derived: record, look through the queue; 190 instructions")
    complete: int = cost(920, "derived: return of a receive to its process, information kept; 230 instructions")
    arrive: int = cost(1800, "derived: header interpreted, receive found, DMA set up again; 450 instructions")
    control: int = cost(600, "derived: the same for a control message (less time: paper, 3.1); 150 instructions")
    look: int = cost(80, "derived: look whether others are still there; 20 instructions")
    check: int = cost(160, "derived: check of a buffer's pointers if it is not empty (paper, 3.1); 40 instructions")
    copy_word: int = cost(2, "derived: a word of a string move beyond its two bus accesses")
    nectarine_deliver: int = cost(48, _AS_CAB.format(12))
    nectarine_look: int = cost(24, _AS_CAB.format(6))
    nectarine_transfer: int = cost(88, _AS_CAB.format(22))
    nectarine_keep: int = cost(48, _AS_CAB.format(12))
    nx_combine: int = cost(50, "two loads and a store, an addition of the 80387 of some 30 cycles; 4 instructions")
    mpi_call: int = cost(36, _AS_CAB.format(9))
    swap_word: int = cost(24, "assumed: two exchanges of bytes and a rotation; 6 instructions")
    lock: int = cost(20, _AS_CAB.format(5))
    condition_wait: int = cost(24, _AS_CAB.format(6))
    condition_signal: int = cost(20, _AS_CAB.format(5))
    timer_set: int = cost(72, _AS_CAB.format(18))
    timer_fire: int = cost(44, _AS_CAB.format(11))
    memory_allocate: int = cost(44, _AS_CAB.format(11))
    memory_split: int = cost(20, _AS_CAB.format(5))
    memory_merge: int = cost(36, _AS_CAB.format(9))
    memory_free: int = cost(32, _AS_CAB.format(8))


I386 = NodeCosts()

"""What a node's software costs: CPU cycles of each primitive, at the CAB's clock of 16 MHz (one cycle is 62.5 ns).

The node is a workstation of the prototype's kind: a Sun-4 with VME, a SPARC at about 16 MHz. Accesses to the CAB are
VME cycles and take what bus and board take; in here are its instructions, counted as those of the CAB
(``software.costs``), and what its operating system does.

Source: "The Design of Nectar" (1989), section 2.3 (nodes are Sun-3s, Sun-4s and Warps). The figures are estimates of
ours for a workstation of that time with Unix: some tens of microseconds for a call of the kernel, some hundreds from
process to process. No figure of the papers hangs on those of the operating system: a message's way from process to
process has no call of the kernel in it, and no switch."""

from dataclasses import dataclass

from ..costs import Table, cost

__all__ = ["NodeCosts", "SUN4"]


@dataclass(frozen=True, slots=True)
class NodeCosts(Table):
    """CPU cycles of each primitive; ``reason(name)`` tells where a figure comes from."""

    # The operating system
    thread_switch: int = cost(
        4800, "300 us: from process to process; save, choose, load the other's memory map, caches and registers anew"
    )
    dispatch: int = cost(
        10, "a process that goes on without switch: nothing of the system's; 8 instructions of its own loop"
    )
    thread_spawn: int = cost(32000, "2 ms: a new process, without loading its program")
    thread_end: int = cost(8000, "0.5 ms: a process is taken apart")
    wake: int = cost(80, "5 us: put a process into the queue of those that are ready; 60 instructions")
    interrupt_entry: int = cost(320, "20 us: trap, save, the chain of handlers of that VME level; 240 instructions")
    interrupt_exit: int = cost(120, "restore, look at the ready queue, return; 90 instructions")
    # Files
    file_open: int = cost(16000, "1 ms: kernel call, look-up of a path of some names in the cache, a file's record")
    file_close: int = cost(1600, "0.1 ms: kernel call, release of the file's record")
    file_transfer: int = cost(
        2400, "0.15 ms: kernel call, look-up of a block in the buffer cache; no disk is waited for"
    )
    file_word: int = cost(
        4, "for each word between buffer cache and process: load, store, step; 3 instructions and cache misses"
    )
    file_request: int = cost(60, "for each request of the CAB: take it apart, find the file; 45 instructions")
    # Sockets
    socket_call: int = cost(
        1120, "70 us for each call of a socket: trap, the descriptor's table, the socket's layer, return; no protocol"
    )
    socket_word: int = cost(4, "for each word between the process and the system's buffers: load, store, step, misses")
    # The network driver, which runs inside the system: no call, no switch from process to process
    ip_packet: int = cost(
        160,
        "10 us for each packet: the driver's routine, a buffer of the system's, its queue; 120 instructions",
    )
    # Memory for the CAB's DMA
    map_call: int = cost(
        1120, "70 us for each buffer made or given back: trap, find room, fix the pages in memory, return"
    )
    map_page: int = cost(16, "for each page: its entry in the map of the VME bus, step; 12 instructions")
    # The library that processes call; it makes no kernel calls
    command: int = cost(40, "for each command: check arguments, take a slot, put its words together; 30 instructions")
    room: int = cost(20, "take a block of the pool of message memory, or give it back; 15 instructions")
    poll: int = cost(6, "look once more: test of the word that was loaded, time, branch; 5 instructions")
    receive: int = cost(26, "for each message: step the count, take its entry apart; 20 instructions")
    release: int = cost(14, "give a message back: step the count; 11 instructions")
    nx_call: int = cost(8, "for each call of NX/2: check node, process and type, find their task; 6 instructions")
    nx_combine: int = cost(
        14, "for each number combined with another: two loads, an operation, a store; 5 instructions"
    )
    swap_word: int = cost(6, "for each word whose bytes change their order: shifts and masks; 5 instructions")
    copy_word: int = cost(
        2, "for each word between the node's memory and the CAB: load or store, and the loop's share, unrolled"
    )


SUN4 = NodeCosts()

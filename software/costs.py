"""What the CAB's software costs: CPU cycles of each primitive, at 16 MHz (one cycle is 62.5 ns).

The simulation runs Python in no time at all; software says what its instructions would have cost on the
prototype's SPARC by spending these cycles. Only instructions are in here: accesses to registers and data memory
are made on the CPU bus, which takes the time that the board takes.

Sources: "The Design of Nectar" (1989), section 6.1: a thread switch takes 10 to 15 us, nearly all of it for the
register windows; section 6.2.1: interrupts have a register window of their own. All else is an estimate of ours: an
instruction count of straight-line code, times about 1.3 cycles (one cycle each, loads 2, stores 3)."""

from dataclasses import dataclass, field, fields

__all__ = ["Costs", "PROTOTYPE", "Table", "cost"]


def cost(cycles, reason):
    """A member of a Table: CPU cycles, and where the figure comes from."""
    return field(default=cycles, metadata={"reason": reason})


class Table:
    """CPU cycles of primitives, as members made by ``cost``."""

    __slots__ = ()

    @classmethod
    def reason(cls, name):
        """Where the figure ``name`` comes from, in words."""
        return {item.name: item.metadata["reason"] for item in fields(cls)}[name]


@dataclass(frozen=True, slots=True)
class Costs(Table):
    """CPU cycles of each primitive; ``reason(name)`` tells where a figure comes from."""

    # Kernel
    thread_switch: int = cost(200, "12.5 us: save and restore the register windows (paper: 10 to 15 us)")
    dispatch: int = cost(10, "take the next thread off the ready queue, jump to it; 8 instructions")
    thread_spawn: int = cost(120, "take a stack, fill in the thread's record, queue it; 90 instructions")
    thread_end: int = cost(30, "give the stack back, wake those who join; 24 instructions")
    wake: int = cost(8, "append a thread to the ready queue; 6 instructions")
    lock: int = cost(6, "test and set, in a kernel that never preempts; 5 instructions")
    condition_wait: int = cost(8, "append the thread to the condition's queue, test the lock; 6 instructions")
    condition_signal: int = cost(6, "test the condition's queue, take its head; 5 instructions")
    interrupt_entry: int = cost(14, "trap, reserved register window, save of the global registers, call")
    interrupt_exit: int = cost(12, "restore of the global registers, return from trap")
    timer_set: int = cost(24, "insert into a list ordered by time; 18 instructions")
    timer_fire: int = cost(14, "take off the list, call its action; 11 instructions")
    memory_allocate: int = cost(14, "size to class, take off the class's free list; 11 instructions")
    memory_split: int = cost(7, "for each halving of a block; 5 instructions")
    memory_merge: int = cost(12, "for each free block looked at when halves are put together again; 9 instructions")
    memory_free: int = cost(10, "push on the class's free list; 8 instructions")
    mailbox_put: int = cost(14, "append to a FIFO, test for a reader; 11 instructions")
    mailbox_get: int = cost(14, "take off a FIFO; 11 instructions")
    mailbox_look: int = cost(5, "for each message passed over in an out-of-order read; 4 instructions")
    system_call: int = cost(
        34,
        "a protected task's call: trap, reserved register window, save, table of calls; and back, as behind an "
        "interrupt",
    )
    domain_set: int = cost(3, "load the task's domain for the register DOMAIN; 2 instructions")
    page_right: int = cost(
        4, "for each page given or taken: find its byte in the protection table, step; 3 instructions"
    )
    fault: int = cost(60, "find whose access was refused, mark the task as ended, leave its code; 46 instructions")
    copy_word: int = cost(1, "for each 32-bit word copied by the CPU beyond its bus access; unrolled double words")
    # Datalink
    datalink_send: int = cost(18, "for each packet: test the link and the list's room, loop set-up; 14 instructions")
    datalink_entry: int = cost(2, "for each entry of the fiber-out list: load the word, step the pointer")
    datalink_packet: int = cost(10, "start of packet: test the interrupt's cause, find the protocol; 8 instructions")
    datalink_received: int = cost(10, "end of packet: test the result's error bits, release; 8 instructions")
    datalink_reply: int = cost(10, "match a reply with what is waited for; 8 instructions")
    datalink_route: int = cost(
        12,
        "find the route to a CAB: index a table, test, load the pointer to its commands; 9 instructions. In "
        "datagram_send",
    )
    datalink_hello: int = cost(8, "load four symbols; 6 instructions, when a HUB asks who is here")
    route_step: int = cost(12, "for each channel or HUB looked at when routes are computed; 9 instructions")
    datalink_watch: int = cost(
        30, "look whether fiber out makes progress; 24 instructions, some hundred times a second"
    )
    upcall: int = cost(5, "an indirect call and its return")
    # Datagram
    datagram_send: int = cost(24, "for each message: check arguments, find the route, number it; 18 instructions")
    datagram_fragment: int = cost(14, "for each fragment: cut the areas, fill in the header; 11 instructions")
    datagram_match: int = cost(
        18, "for each fragment that arrives: check the header, find its message; 14 instructions"
    )
    datagram_received: int = cost(10, "for each fragment that has arrived: add up, test for the last; 8 instructions")
    # Byte stream
    stream_send: int = cost(30, "for each send and receive: check arguments and state, take the lock; 23 instructions")
    stream_open: int = cost(
        60, "for each connection: take a record, fill it in, enter it into the table; 45 instructions"
    )
    stream_segment: int = cost(
        26, "for each packet with data: what may be sent, cut the areas, fill in the header; 20 instructions"
    )
    stream_control: int = cost(14, "for each packet without data: fill in the header; 11 instructions")
    stream_match: int = cost(
        26,
        "for each packet that arrives: check the header, find the connection, the place in its ring; 20 instructions",
    )
    stream_received: int = cost(
        22,
        "for each packet that has arrived: the acknowledgment, the window, what has become readable; 17 instructions",
    )
    stream_settle: int = cost(
        16, "at the end of an interrupt, for each connection that it concerned: compare its times; 12 instructions"
    )
    stream_timer: int = cost(16, "when a connection's timer goes off: which of its times it was; 12 instructions")
    # Request-response, reliable multicast, command mailbox
    request_call: int = cost(
        40, "for each call: check arguments, fill in its record, number it, queue it with its server; 30 instructions"
    )
    request_match: int = cost(
        24, "for each packet that arrives: check the header, find the call or the request, the place; 18 instructions"
    )
    request_received: int = cost(
        18, "for each packet that has arrived: set its bit, test for the last, look what it asks; 14 instructions"
    )
    request_window: int = cost(10, "for each new request: test and set its bit in the client's window; 8 instructions")
    request_reply: int = cost(24, "for each answer: fill in its record, keep it, test the bound; 18 instructions")
    request_timer: int = cost(
        26, "when a call's timer goes off: look at what was heard, the next time-out; 20 instructions"
    )
    request_sweep: int = cost(8, "for each request at the server when ages are looked at; 6 instructions")
    transport_post: int = cost(
        14,
        "for each packet posted: fill in the header, cut the areas; 11 instructions, as for a fragment of a datagram",
    )
    multicast_send: int = cost(30, "for each message: check arguments, number it, fill in its record; 22 instructions")
    multicast_member: int = cost(8, "for each member when a message is sent, and at each time-out; 6 instructions")
    multicast_match: int = cost(
        22, "for each packet that arrives: check the header, find its sender, the place; 17 instructions"
    )
    multicast_received: int = cost(
        16, "for each packet that has arrived: set its bit, test for the last; 12 instructions"
    )
    command_decode: int = cost(30, "for each command: check its fields; 22 instructions, some loads")
    command_area: int = cost(6, "for each area or member named in a command; 4 instructions")

    # Nectarine
    nectarine_send: int = cost(
        34, "for each message: check arguments, find the task, fill in the envelope, queue it; 26 instructions"
    )
    nectarine_receive: int = cost(
        30, "for each receive: check arguments, fill in its record, take the outcome; 23 instructions"
    )
    nectarine_match: int = cost(
        26, "for each packet that arrives: check the header, find the channel, a slot; 20 instructions"
    )
    nectarine_received: int = cost(
        20, "for each packet that has arrived: sequence number, acknowledgment, credit; 15 instructions"
    )
    nectarine_deliver: int = cost(16, "for each envelope: take it apart, find its task; 12 instructions")
    nectarine_look: int = cost(8, "for each receive or message looked at: compare source and type; 6 instructions")
    nectarine_timer: int = cost(20, "when a timer of a channel goes off: what has been heard since; 15 instructions")
    nectarine_transfer: int = cost(
        30, "for each long message, and each piece of it: fill in its record, find it; 22 instructions"
    )
    nectarine_keep: int = cost(16, "for each message kept until it is received: fill in its record; 12 instructions")
    swap_word: int = cost(4, "for each 32-bit word whose byte order is changed: shifts, masks, ors; 4 beyond the copy")

    # NX/2
    nx_call: int = cost(8, "for each call: check node, process and type, find their task; 6 instructions")
    nx_combine: int = cost(
        14, "for each number combined with another: two loads, an operation, a store; 5 instructions"
    )

    # MPI
    mpi_call: int = cost(
        12, "for each call: find the communicator, check rank and tag, translate the rank; 9 instructions"
    )

    # Services for and of the node
    node_bell: int = cost(
        26,
        "the node calls: compare a count for the commands and one for each of 16 boxes with what is known; 20 "
        "instructions",
    )
    node_command: int = cost(26, "for each command: take it apart, check area, CAB and time-out, jump; 20 instructions")
    node_arrival: int = cost(
        14, "for each message shown to the node: fill in its entry, step the count; 11 instructions"
    )
    vme_entry: int = cost(16, "for each entry of the VME DMA's list: load its three words; 12 instructions")
    vme_moved: int = cost(16, "when entries have ended: compare the count, find whose they were; 12 instructions")
    ip_send: int = cost(
        20, "for each IP packet of the node: check its length and CAB, fill in a header; 15 instructions"
    )
    ip_match: int = cost(16, "for each IP packet that comes: check its header, find a slot; 12 instructions")
    ip_received: int = cost(12, "at its end: compare length and checksum, fill in its entry; 9 instructions")
    node_request: int = cost(30, "for each file request: take a slot, fill it in, queue the thread; 23 instructions")


PROTOTYPE = Costs()

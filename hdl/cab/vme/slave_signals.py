"""What the sections of the VME slave share: the cycle, its bytes, the access, the lock, the transfer."""

from amaranth.hdl import Signal
from amaranth.utils import exact_log2

from ..access import Access
from ..regions import ADDRESS_BITS
from ..registers import WORD_BITS
from .numbers import BLOCK_BYTES

__all__ = ["SlaveSignals"]


class SlaveSignals:
    """What the sections of the slave share. ``verify``: cycles for which the address is looked at."""

    def __init__(self, verify):
        # The cycle.
        self.ds = Signal(2)  # the data strobes in our clock
        self.as_low = Signal()  # AS* in our clock
        self.renewed = Signal()  # AS* was asserted since it was last looked at
        self.fresh = Signal()  # the data strobes were asserted since they were last looked at
        self.as_pending = Signal(reset_less=True)
        self.ds_pending = Signal(init=1)  # behind a reset what is there is looked at
        self.known = Signal()  # what AS* came with has been looked at
        self.ours = Signal(reset_less=True)  # the cycle is for the board
        self.write = Signal(reset_less=True)  # the transfer at work is a write
        self.wide = Signal(reset_less=True)  # of 32 bits
        self.block = Signal(reset_less=True)  # the cycle is a block transfer
        self.program = Signal(reset_less=True)  # its reads fetch instructions
        self.moved = Signal(reset_less=True)  # a transfer of the cycle has been answered
        self.crossed = Signal(reset_less=True)  # the block has gone beyond what it may reach
        self.address = Signal(ADDRESS_BITS, reset_less=True)  # of the transfer at work
        self.strobe = Signal(2, reset_less=True)  # data strobes of the transfer at work
        self.matches = Signal()  # the address on the lines is the board's
        self.a24 = Signal()
        self.forgets = Signal()  # a new cycle

        # The bytes.
        self.lines = Signal(WORD_BITS, reset_less=True)  # a cycle ago
        self.taken = Signal(WORD_BITS, reset_less=True)  # when the strobes were looked at
        self.waiting = Signal()  # for the strobes of a transfer
        self.onward = Signal(exact_log2(BLOCK_BYTES) + 1)  # of the address; its last bit: beyond what a block may reach
        self.may_flow = Signal()  # the next transfer of the block may be quick

        # The access: of the transfer at work, of the one behind (posted), or of the next one (asked).
        self.want = Signal()  # an access is asked for
        self.waits = Signal()  # it is taken, and not done
        self.posted = Signal()  # its transfer has been answered already
        self.spoiled = Signal()  # one that was posted was refused
        self.asked = Signal()  # it is that of the next transfer
        self.post = Signal()  # the write that is answered now is asked for next
        self.ahead = Signal()  # the next word has been read
        self.armed = Signal()  # a word is on its way to the lines
        self.held = Signal()  # a word is on the lines with its answer
        self.smooth = Signal()  # the next transfer of the block is one in data memory, of the same size
        self.quiet = Signal()  # no access is under way
        self.free = Signal()  # the next one may be chosen
        self.asks = Signal(Access, reset_less=True)
        self.looks = Signal()  # the next word is read ahead
        self.arms = Signal()  # the word that was read ahead goes to the lines

        # The lock.
        self.late = Signal(reset_less=True)  # the lock was given up before the write
        self.locks = Signal()  # the lock begins
        self.unlocks = Signal()  # the lock ends

        # The transfers.
        self.patient = Signal(reset_less=True)  # one strobe of it has been seen
        self.verify = Signal(range(verify + 1), reset_less=True)
        self.settles = Signal()  # the next transfer begins: its second strobe may not be seen yet
        self.answering = Signal()  # the transfer is answered
        self.bad = Signal()  # with BERR*
        self.over = Signal()  # the answer ends

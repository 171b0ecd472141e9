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
        self.ds = Signal(2)
        self.as_low = Signal()
        self.renewed = Signal()  # AS* was asserted since it was last looked at
        self.fresh = Signal()  # the data strobes were asserted since they were last looked at
        self.as_pending = Signal(reset_less=True)
        self.ds_pending = Signal(init=1)  # behind a reset what is there is looked at
        self.known = Signal()
        self.ours = Signal(reset_less=True)
        self.write = Signal(reset_less=True)
        self.wide = Signal(reset_less=True)
        self.block = Signal(reset_less=True)
        self.program = Signal(reset_less=True)
        self.moved = Signal(reset_less=True)
        self.crossed = Signal(reset_less=True)
        self.address = Signal(ADDRESS_BITS, reset_less=True)
        self.strobe = Signal(2, reset_less=True)
        self.matches = Signal()  # the address on the lines is the board's
        self.a24 = Signal()
        self.forgets = Signal()  # a new cycle

        # The bytes.
        self.lines = Signal(WORD_BITS, reset_less=True)  # a cycle ago
        self.taken = Signal(WORD_BITS, reset_less=True)  # when the strobes were looked at
        self.waiting = Signal()  # for the strobes of a transfer
        self.onward = Signal(exact_log2(BLOCK_BYTES) + 1)  # of the address; its last bit: beyond what a block may reach
        self.may_flow = Signal()

        # The access: of the transfer at work, of the one behind (posted), or of the next one (asked).
        self.want = Signal()
        self.waits = Signal()
        self.posted = Signal()
        self.spoiled = Signal()
        self.asked = Signal()
        self.post = Signal()
        self.ahead = Signal()
        self.armed = Signal()
        self.held = Signal()
        self.smooth = Signal()  # the next transfer of the block is one in data memory, of the same size
        self.quiet = Signal()
        self.free = Signal()
        self.asks = Signal(Access, reset_less=True)
        self.looks = Signal()  # ahead
        self.arms = Signal()  # the word that was read ahead goes to the lines

        # The lock.
        self.late = Signal(reset_less=True)
        self.locks = Signal()
        self.unlocks = Signal()

        # The transfers.
        self.patient = Signal(reset_less=True)  # one strobe of it has been seen
        self.verify = Signal(range(verify + 1), reset_less=True)
        self.settles = Signal()  # the next transfer begins: its second strobe may not be seen yet
        self.answering = Signal()
        self.bad = Signal()
        self.over = Signal()

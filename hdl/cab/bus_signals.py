"""What the sections of the CAB's bus share: the access under way, what becomes of it, and the walk over an area."""

from amaranth.hdl import Signal
from amaranth.lib import data

from .access import WINDOW_BITS, Access
from .bus_ports import TABLE_PAGE_BITS
from .memory import LANES
from .regions import DOMAIN_BITS
from .registers import WORD_BITS, Area

__all__ = ["BusSignals", "Granted", "Parked", "Pins", "Where"]


class Where(data.Struct):
    """Where an access goes, as its address says before it begins.

    ``private``: none but the kernel may do it. ``settles``: the next access has to find what it has done. ``area``: it
    names an area, if its register is there.
    """

    memory: 1
    program: 1
    rom: 1
    registers: 1
    table: 1
    window: 1
    private: 1
    settles: 1
    area: 1


class Granted(data.Struct):
    """The access at work, with the domain that it is made in. ``kernel``: it may do everything."""

    access: Access
    vme: 1
    kernel: 1
    domain: DOMAIN_BITS


class Pins(data.Struct):
    """What the CPU asks."""

    access: Access
    kernel: 1


class Parked(data.Struct):
    """An access that waits for the window."""

    address: WINDOW_BITS
    write: 1
    select: LANES
    write_data: WORD_BITS


class BusSignals:
    """The signals, each made and named once; proofs look into them."""

    def __init__(self):
        # What the CPU asks, or has asked and could not begin.
        self.pins = Signal(Pins)
        self.asked = Signal(Pins)
        self.spare = Signal(Pins, reset_less=True)
        self.held = Signal()  # ``spare`` waits, not the pins

        # Who begins in the next cycle, and where that goes.
        self.free = Signal()  # an access may begin
        self.settling = Signal()  # what the access before has done is not there yet
        self.locked = Signal()  # VME has the bus to itself
        self.turn = Signal()  # VME's, if both want something
        self.cpu_begins = Signal()
        self.vme_begins = Signal()
        self.following = Signal(Granted)
        self.following_where = Signal(Where)

        # The access at work.
        self.at_work = Signal(Granted, reset_less=True)
        self.valid = Signal()
        self.where = Signal(Where, reset_less=True)
        self.decides = Signal()  # the right to its page is all that it needs
        self.allowed = Signal()  # the table, or its domain, allows it
        self.may = Signal()  # it may be done
        self.refused = Signal()  # the owner refuses its area
        self.to_table = Signal()  # it is to the protection table
        self.ends = Signal()  # it is over in this cycle

        # The walk over the pages of an area.
        self.to_walk = Signal()  # the access at work needs one
        self.walking = Signal()  # a page's right is there
        self.walked = Signal()  # the walk is over
        self.area = Signal(Area, reset_less=True)
        self.ahead = Signal(TABLE_PAGE_BITS, name="page_ahead", reset_less=True)
        self.page = Signal(TABLE_PAGE_BITS, name="walk_page", reset_less=True)
        self.last_page = Signal(TABLE_PAGE_BITS, reset_less=True)
        self.seen_page = Signal(TABLE_PAGE_BITS, reset_less=True)
        self.at_first = Signal(reset_less=True)
        self.seen_first = Signal(reset_less=True)
        self.passed = Signal(reset_less=True)  # all pages so far are allowed
        self.denied = Signal(reset_less=True)  # the page ``seen_page`` is not

        # The window, and the answers.
        self.parked = Signal(Parked, reset_less=True)
        self.waits = Signal()  # an access of the CPU waits for the window
        self.leaves = Signal()  # the access at work leaves the bus for the window
        self.answers_cpu = Signal()
        self.answers_vme = Signal()

"""The protection domains of a CAB: who has which, what its table says, which one the CPU is in.

Source: "The Design of Nectar" (1989), section 5.2: 32 domains, assigned by the kernel; docs/cab.md and docs/kernel.md
specify the rest."""

from collections import deque

from ...hdl.cab.addresses import REG, REGIONS
from ...hdl.cab.regions import DOMAINS, PAGE_BITS, PAGES, Right
from ..errors import ProgramError

__all__ = ["Domains", "VME"]

#: The domain of all accesses that come from VME.
VME = DOMAINS - 1

_TABLE = REGIONS["protection"].base
_DOMAIN, _ON, _CONFIG = REG["DOMAIN"].address, REG["DOMAINS_ON"].address, REG["CONFIG"]
_OWN = Right.READ | Right.WRITE


class Domains:
    """The domains that user tasks may have. What is in here is done in the kernel's, at level 0.

    Parameters
    ----------
    kernel : Kernel
    memory : Memory

    Members
    -------
    used : int
        Domains that tasks have now.
    faults : list of Fault
        Of tasks of this CAB, in their order.
    """

    __slots__ = ("kernel", "door", "memory", "used", "faults", "_free", "_waiting", "_unwritten", "_on", "_current")

    def __init__(self, kernel, memory):
        self.kernel = kernel
        self.door = kernel.door
        self.memory = memory
        self.used = 0
        self.faults = []
        self._free = None  # deque of those that nobody has; None before the first use
        self._waiting = deque()  # threads
        self._unwritten = set()  # those whose bytes in the table have never been written
        self._on = 0
        self._current = 0  # what DOMAIN holds

    def __str__(self):
        return f"a protection domain of {self.kernel.name}"

    async def get(self):
        """The number of a domain, with no rights at all; waits until there is one."""
        if self._free is None:
            await self._begin()
        if not self._free:
            thread = self.kernel.current
            self._waiting.append(thread)
            return await self.kernel.block(self, lambda: self._waiting.remove(thread), self.give)
        number = self._free.popleft()
        self.used += 1
        if number in self._unwritten:
            self._unwritten.remove(number)
            self.memory.store(_TABLE + number * PAGES, bytes(PAGES))
        self._on |= 1 << number
        self.door.write(_ON, self._on)
        return number

    async def _begin(self):
        """Looks what the board has. From here on level 0 is in supervisor mode unless a task's own code runs."""
        config = await self.door.read(_CONFIG.address)
        pages = 1 << _CONFIG.pages.get(config)
        if pages != PAGES:
            raise ProgramError(
                f"the board of {self.kernel.name} has a protection table of {pages} pages; protected tasks need all "
                f"{PAGES}"
            )
        numbers = range(1, (1 << _CONFIG.domains.get(config)) - 1)
        if not numbers:
            raise ProgramError(f"the board of {self.kernel.name} has no protection domain for a task")
        self._free = deque(numbers)
        self._unwritten = set(numbers)
        self.door.supervise(True)

    def open_vme(self):
        """From here on accesses from VME are looked up in the table, which allows none yet. Once, before threads
        run."""
        self.memory.store(_TABLE + VME * PAGES, bytes(PAGES))
        self._on |= 1 << VME
        self.door.write(_ON, self._on)

    def give(self, number):
        """A domain of which all rights have been taken away is nobody's any more: the next task that waits gets it."""
        if self._waiting:
            self.kernel.wake(self._waiting.popleft(), number)
        else:
            self.used -= 1
            self._free.append(number)
            self._on &= ~(1 << number)
            self.door.write(_ON, self._on)

    def allow(self, number, address, size):
        """Lets domain ``number`` load and store in ``size`` bytes at ``address``, whole pages."""
        self._rights(number, address, size, _OWN)

    def forbid(self, number, address, size):
        """Takes that away again."""
        self._rights(number, address, size, 0)

    def _rights(self, number, address, size, rights):
        pages = size >> PAGE_BITS
        self.door.spend(self.kernel.costs.page_right * pages)
        self.door.write_block(_TABLE + number * PAGES + (address >> PAGE_BITS), bytes([rights]) * pages)

    def enter(self, number):
        """Level 0 goes on in user mode, in domain ``number``."""
        if self._current != number:
            self._current = number
            self.door.spend(self.kernel.costs.domain_set)
            self.door.write(_DOMAIN, number)
        self.door.supervise(False)

    def leave(self):
        """Level 0 is in supervisor mode again: a trap."""
        self.door.supervise(True)

"""Puts the pins of a component into a slot of the backplane, and plays the board's inside."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from nectar.verification.harness import Port

from .backplane import point

__all__ = ["Inside", "Plug"]

_PINS = "pins__"
_DRIVEN = (
    (
        "pins__address_drive",
        {
            "address": "pins__address_out",
            "am": "pins__am_out",
            "lword": "pins__lword_n_out",
            "iack": "pins__iack_n_out",
        },
    ),
    ("pins__as_drive", {"as": "pins__as_n_out"}),
    ("pins__ds_drive", {"write": "pins__write_n_out"}),
)
_PULLS = {"dtack": "pins__dtack_pull", "berr": "pins__berr_pull", "bbsy": "pins__bbsy_pull"}


class Plug:
    """A board's pins in slot ``slot``; the clock starts at a random phase.

    Parameters
    ----------
    dut : cocotb handle
        Has the pins of ``VmePins`` under ``prefix``.
    bus : Backplane
    period_ps : int
    """

    def __init__(self, dut, bus, slot=1, period_ps=62_500, name="cab", prefix=_PINS):
        self.dut, self.bus, self.slot, self.period_ps, self.name, self.prefix = dut, bus, slot, period_ps, name, prefix
        self._ports = {}
        self._driven = {}
        self.tasks = []  # what runs until it is unplugged
        self._set_all()

    def _name(self, name):
        return self.prefix + name[len(_PINS) :] if name.startswith(_PINS) else name

    def _port(self, name):
        found = self._ports.get(name)
        if found is None:
            found = self._ports[name] = Port(self._name(name))
        return found

    def get(self, name):
        """Value of a pin."""
        return self._port(name).value

    def put(self, **values):
        """Drives pins, those that are not driven to these values already."""
        for name, value in values.items():
            value = int(value)
            if self._driven.get(name) != value:
                self._driven[name] = value
                self._port(name).value = value

    def _set_all(self):
        level = self.bus.level
        self.put(
            pins__as_n=level("as"),
            pins__ds_n=level("ds1") << 1 | level("ds0"),
            pins__write_n=level("write"),
            pins__lword_n=level("lword"),
            pins__iack_n=level("iack"),
            pins__address=level("address"),
            pins__am=level("am"),
            pins__data=level("data_high") << 16 | level("data_low"),
            pins__dtack_n=level("dtack"),
            pins__berr_n=level("berr"),
            pins__bbsy_n=level("bbsy"),
            pins__bclr_n=level("bclr"),
            pins__br_n=15,
            pins__bgin_n=15,
            pins__iackin_n=1,
            pins__sysreset_n=1,
        )

    def _line(self, name, old, new):
        level = self.bus.level
        if name in ("ds0", "ds1"):
            self.put(pins__ds_n=level("ds1") << 1 | level("ds0"))
        elif name in ("data_low", "data_high"):
            self.put(pins__data=level("data_high") << 16 | level("data_low"))
        elif name in ("address", "am"):
            self.put(**{f"pins__{name}": new})
        elif name.startswith("br"):
            self.put(pins__br_n=sum(level(f"br{n}") << n for n in range(4)))
        elif name.startswith("bg") and name.endswith(f"@{self.slot}"):
            self.put(pins__bgin_n=sum(level(point(f"bg{n}", self.slot)) << n for n in range(4)))
        elif name == point("iackin", self.slot):
            self.put(pins__iackin_n=new)
        elif "@" not in name and not name.startswith("irq"):
            self.put(**{f"pins__{name}_n": new})

    async def start(self, **inputs):
        """Resets, with other inputs as given, and connects the pins."""
        self.put(rst=1, clk=0, **inputs)
        await Timer(random.randrange(1, self.period_ps), "ps")
        self.tasks.append(
            cocotb.start_soon(Clock(self.dut.clk, self.period_ps // 2 * 2, unit="ps").start(start_high=False))
        )
        for _ in range(4):
            await RisingEdge(self.dut.clk)
        self.put(rst=0)
        await RisingEdge(self.dut.clk)
        self.connect()

    def connect(self):
        """Connects the pins of a component that is out of reset."""
        self.bus.watch(self._line)
        for drive, lines in _DRIVEN:
            self._follow([drive, *lines.values()], self._state, drive, lines)
        self._follow(["pins__ds_drive", "pins__ds_n_out"], self._strobes)
        self._follow(["pins__data_drive", "pins__data_out"], self._data)
        for line, pin in _PULLS.items():
            self._follow([pin], self._pull, line, pin)
        self._follow(["pins__br_pull"], self._requests)
        self._follow(["pins__irq_pull"], self._interrupts)
        self._follow(["pins__bgout_n", "pins__iackout_n"], self._chains)

    def _follow(self, pins, action, *arguments):
        async def run(pin):
            while True:
                await getattr(self.dut, self._name(pin)).value_change
                action(*arguments)

        for pin in pins:
            self.tasks.append(cocotb.start_soon(run(pin)))
        action(*arguments)

    def unplug(self):
        """Stops the clock and lets go of the lines, so that another plug may take the pins."""
        self.bus.unwatch(self._line)
        for task in self.tasks:
            task.cancel()

    def _state(self, drive, lines):
        on = self.get(drive)
        self.bus.drive(self.name, **{line: self.get(pin) if on else None for line, pin in lines.items()})

    def _strobes(self):
        on, value = self.get("pins__ds_drive"), self.get("pins__ds_n_out")
        self.bus.drive(self.name, ds0=value & 1 if on else None, ds1=value >> 1 if on else None)

    def _data(self):
        on, value = self.get("pins__data_drive"), self.get("pins__data_out")
        self.bus.drive(
            self.name, data_low=value & 0xFFFF if on & 1 else None, data_high=value >> 16 if on & 2 else None
        )

    def _pull(self, line, pin):
        self.bus.set(self.name, line, 0 if self.get(pin) else 1)

    def _requests(self):
        value = self.get("pins__br_pull")
        self.bus.drive(self.name, **{f"br{n}": 1 - (value >> n & 1) for n in range(4)})

    def _interrupts(self):
        value = self.get("pins__irq_pull")
        self.bus.drive(self.name, **{f"irq{n}": 1 - (value >> n - 1 & 1) for n in range(1, 8)})

    def _chains(self):
        grants = self.get("pins__bgout_n")
        for n in range(4):
            self.bus.set(self.name, point(f"bg{n}", self.slot + 1), grants >> n & 1)
        self.bus.set(self.name, point("iackin", self.slot + 1), self.get("pins__iackout_n"))


class Inside:
    """The board behind the interface: address map, slots of data memory, registers. Moves with the clock.

    Parameters
    ----------
    plug : Plug
        Started.
    data_bytes : int
    slow : float
        Share of cycles in which the address map or the memory is taken by others.
    prefix : str
        Of the access port's pins.

    Members
    -------
    memory : bytearray
        Data memory; both ways lead to it.
    accesses : list of (address, write, execute, select, lock, write data)
    holes : callable
        Takes a byte address: nothing is there.
    cpu : callable
        Called in each cycle in which the CPU may have the map.
    lock_lengths : list of int
        For how many cycles it could not have it.
    events : dict of str → int
        How often each was told.
    """

    BASE = 0x100000

    def __init__(self, plug, data_bytes=4096, slow=0.3, prefix="access"):
        self.plug, self.slow, self.prefix = plug, slow, prefix
        self.memory = bytearray(random.randbytes(data_bytes))
        self.accesses = []
        self.holes = lambda address: not self.BASE <= address < self.BASE + len(self.memory)
        self.cpu = lambda: None
        self.lock_lengths = [0]
        self.events = dict.fromkeys(("done", "failed", "threshold", "taken", "bell"), 0)
        self._ready = self._slot = False
        plug.tasks.append(cocotb.start_soon(self._run()))

    def _access(self, name):
        return self.plug.get(f"{self.prefix}__{name}")

    async def _run(self):
        plug = self.plug
        answers = []  # (cycles left, error, data)
        locked = False
        memory_data = None
        plug.put(**{f"{self.prefix}__ready": 0, f"{self.prefix}__done": 0})
        while True:
            await RisingEdge(plug.dut.clk)
            # Values of the cycle that this edge ends are still there.
            taken = self._access("valid") and self._ready
            lock = self._access("lock")
            if taken:
                answers.append([3 if self.slow == 0 else random.choice((3, 3, 4, 7)), *self._perform()])
                locked = bool(lock)
            locked = locked and bool(lock)
            self.lock_lengths = (
                [*self.lock_lengths[:-1], self.lock_lengths[-1] + 1]
                if locked
                else ([*self.lock_lengths, 0] if self.lock_lengths[-1] else self.lock_lengths)
            )
            if not locked:
                self.cpu()
            for event in self.events:
                self.events[event] += plug.get(event)
            if plug.get("memory__valid") and self._slot:
                memory_data = self._slot_access()
            # The next cycle.
            self._ready = random.random() >= self.slow
            self._slot = random.random() >= self.slow
            done = error = data = 0
            if answers:
                answers[0][0] -= 1
                if answers[0][0] == 0:
                    _, error, data = answers.pop(0)
                    done = 1
            plug.put(
                **{
                    f"{self.prefix}__ready": self._ready,
                    f"{self.prefix}__done": done,
                    f"{self.prefix}__error": error,
                    f"{self.prefix}__read_data": data,
                    "memory__ready": self._slot,
                    "memory_data": random.getrandbits(32) if memory_data is None else memory_data,
                }
            )
            memory_data = None

    def _perform(self):
        address, write, select = self._access("address"), self._access("write"), self._access("select")
        self.accesses.append(
            (address, write, self._access("execute"), select, self._access("lock"), self._access("write_data"))
        )
        if self.holes(address):
            return 1, 0
        at = address - self.BASE
        if write:
            self._store(at, select, self._access("write_data"))
            return 0, 0
        return 0, int.from_bytes(self.memory[at : at + 4], "big")

    def _store(self, at, select, word):
        for lane in range(4):
            if select >> 3 - lane & 1:
                self.memory[at + lane] = word >> 24 - 8 * lane & 0xFF

    def _slot_access(self):
        get, at = self.plug.get, 4 * self.plug.get("memory__address")
        if get("memory__write"):
            self._store(at, get("memory__select"), get("memory__data"))
            return None
        return int.from_bytes(self.memory[at : at + 4], "big")

    async def write(self, name, value):
        """Writes a register; whether it was accepted."""
        await RisingEdge(self.plug.dut.clk)
        self.plug.put(**{f"{name}__data": value})
        await ReadOnly()
        refused = bool(self.plug.get(f"{name}__refuse"))
        await Timer(1, "ps")
        if not refused:
            self.plug.put(**{f"{name}__write": 1})
            await RisingEdge(self.plug.dut.clk)
            self.plug.put(**{f"{name}__write": 0})
        return not refused

    async def read(self, name):
        """Reads a register."""
        await RisingEdge(self.plug.dut.clk)
        await ReadOnly()
        value = self.plug.get(f"{name}__value")
        await Timer(1, "ps")
        return value

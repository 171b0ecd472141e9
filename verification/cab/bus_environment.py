"""What surrounds hdl/cab/bus.py in its bench: who asks for accesses, rights, memories, registers and the window, and
what must become of each access."""

import random
from collections import deque

from nectar.hdl.cab.addresses import REGIONS, REGISTERS
from nectar.hdl.cab.kernel_registers import KERNEL_PAGE
from nectar.hdl.cab.regions import AccessKind, Right
from nectar.hdl.cab.registers import Area
from nectar.verification import seeds
from nectar.verification.cab.structures import pack
from nectar.verification.harness import StepClock

__all__ = ["AREAS", "SIZE", "BusEnvironment", "names_area", "place", "random_request"]

SIZE = 4 << 10
SIZES = {"data": SIZE, "program": SIZE}
VME_DOMAIN = 31
AREAS = [register.offset // 4 for register in REGISTERS if register.area]
REQUEST = "valid", "address", "write", "execute", "select", "write_data"
INPUTS = (
    *(f"{port}__{name}" for port in ("bus", "vme") for name in REQUEST),
    "bus__kernel",
    "vme__lock",
    "memory__ready",
    "memory_data",
    "program_data",
    "registers__read_data",
    "registers__error",
    "registers__area",
    "protection__granted",
    "protection__table",
    "protection__hole",
    "protection__current",
    "protection__vme_domain",
    "window__done",
    "window__read_data",
    "window__error",
)


def place(address):
    """Which part of the board an address belongs to."""
    for name, region in REGIONS.items():
        if region.base <= address < region.base + SIZES.get(name, region.size):
            return name
    return None


def random_request(port):
    """An access as a dict. Bit 0 of ``select`` tells CPU from VME, so that an effect can be given to the one who
    asked."""

    def within(name):
        return REGIONS[name].base + random.randrange(SIZES.get(name, REGIONS[name].size))

    edge = random.choice(list(REGIONS.values()))
    registers = REGIONS["registers"].base
    beside = random.choice([*(within(name) for name in REGIONS), registers + KERNEL_PAGE + random.randrange(1 << 10)])
    address = random.choice(
        [
            within("data"),
            within("data"),
            within("data"),
            within("registers"),
            registers + 4 * random.choice(AREAS),
            registers + 4 * random.choice(AREAS),
            within("program"),
            within("prom"),
            within("protection"),
            within("vme"),
            edge.base - 1 & 0xFFFFFF,
            edge.base + SIZES.get(edge.name, edge.size) & 0xFFFFFF,
            random.getrandbits(24),
            beside ^ 1 << random.randrange(10, 24),
        ]
    )
    return {
        "address": address,
        "write": random.getrandbits(1),
        "execute": random.random() < 0.2,
        "select": random.getrandbits(3) << 1 | (port == "bus"),
        "write_data": random.getrandbits(32),
    }


def names_area(port):
    """A write of CPU, not as the kernel, or VME to a register for areas, which takes it."""
    return random_request(port) | {
        "address": REGIONS["registers"].base + 4 * random.choice(AREAS) + random.randrange(4),
        "write": 1,
        "write_data": random.getrandbits(31),
        "kernel": 0,
        "lock": 0,
    }


def register_fails(request):
    """Whether the bench's registers refuse an access: some do."""
    return request["write_data"] >> 31 if request["write"] else request["address"] >> 2 & 1


class BusEnvironment:
    """What surrounds the bus: rights, registers, memories; and what must become of each access."""

    def __init__(self, dut, window):
        self.clock = StepClock(dut)
        self.window = window
        self.salt = random.getrandbits(32)
        self.forbidden = None  # pages in which nothing may be done, all else may be; or None: see rights
        self.area = None  # the area that all such registers name; or None: see area_of
        self.current = 0
        self.taken = {"bus": deque(), "vme": deque()}  # requests that have had no response
        self.offered = dict.fromkeys(self.taken)
        self.looked = 0, 0
        self.needed = 0
        self.asked = {}  # what memories and registers were asked in the cycle before
        self.parked = None
        self.locked = False
        self.done = {"bus": 0, "vme": 0}
        self.outcomes = {}
        self.waits = {"bus": [], "vme": []}

    def rights(self, domain, page):
        """What the table says: nearly everything in data memory, anything elsewhere."""
        if self.forbidden is not None:
            return 0 if page in self.forbidden else 7
        value = seeds.rng("rights", self.salt, domain, page).getrandbits(6)
        return 7 if value >> 3 > 2 else value & 7

    def area_of(self, write_data):
        """The area that a write to one of the registers for areas names: some pages of the bench's table, or none."""
        return self.area or {
            "address": REGIONS["data"].base + (write_data & 0x1FFF),
            "length": (write_data >> 13) % 3000,
            "write": write_data >> 30 & 1,
        }

    def judge(self, port, request):
        """(effect, trap): where an access takes effect, or None; what is recorded of it, or None."""
        domain = VME_DOMAIN if port == "vme" else 0 if request["kernel"] else self.current
        kernel = port == "bus" and domain == 0
        where = place(request["address"])
        kind = AccessKind.WRITE if request["write"] else AccessKind.EXECUTE if request["execute"] else AccessKind.READ
        trap = {"address": request["address"], "domain": domain, "kind": kind, "vme": port == "vme"}
        offset = request["address"] - REGIONS["registers"].base
        forbidden = where == "protection" or where == "registers" and offset & 0xC00 == KERNEL_PAGE
        if not kernel and (forbidden or not self.rights(domain, request["address"] >> 10) >> kind & 1):
            return None, trap
        area = self.area_of(request["write_data"])
        if (
            not kernel
            and where == "registers"
            and offset // 4 in AREAS
            and request["write"]
            and not register_fails(request)
            and area["length"]
        ):
            first = area["address"]
            for page in range(first >> 10, (first + area["length"] - 1 >> 10) + 1):
                if not self.rights(domain, page) & (Right.WRITE if area["write"] else Right.READ):
                    return None, trap | {
                        "address": max(first, page << 10),
                        "kind": AccessKind.WRITE if area["write"] else AccessKind.READ,
                    }
        if where == "prom" and request["write"] or where == "vme" and (port == "vme" or not self.window):
            where = None
        if where == "registers" and register_fails(request):
            where = None
        if where == "protection" and self.hole(request["address"] & 0x3FFF, request["address"] >> 14 & 31):
            where = None
        return where, None

    def hole(self, page, domain):
        """Whether the bench's table has a hole there."""
        return (page ^ domain) % 5 == 0

    async def start(self):
        await self.clock.start(*INPUTS)
        self.clock.drive(protection__vme_domain=VME_DOMAIN)

    def pin(self, name):
        return self.clock.pin(name)

    async def cycle(self, wants, memory_ready=True, window_done=True):
        """One cycle; ``wants``: the chance that each port wants something."""
        drive = self.clock.drive
        for port in self.taken:
            if self.offered[port] is None and random.random() < wants[port]:
                self.offered[port] = random_request(port) | {
                    "kernel": random.random() < 0.3,
                    "lock": random.random() < 0.2,
                }
            drive(**{f"{port}__valid": self.offered[port] is not None})
            if self.offered[port] is not None:
                drive(**{f"{port}__{name}": self.offered[port][name] for name in REQUEST[1:]})
        drive(
            bus__kernel=(self.offered["bus"] or {}).get("kernel", random.random() < 0.5),
            vme__lock=(self.offered["vme"] or {}).get("lock", self.locked and random.random() < 0.8),
            memory__ready=memory_ready,
            memory_data=random.getrandbits(32),
            program_data=random.getrandbits(32),
            protection__current=self.current,
            protection__granted=self.rights(*self.looked) & self.needed != 0,
            protection__hole=self.hole(self.looked[1], self.looked[0]),
            protection__table=0
            if self.hole(self.looked[1], self.looked[0])
            else seeds.rng("table", self.looked[1]).getrandbits(32),
        )
        self.registers(drive)
        await self.clock.settle()
        window_data = random.getrandbits(32)
        ends_window = self.pin("window__valid") and window_done
        drive(window__done=ends_window, window__read_data=window_data, window__error=window_data & 1)
        await self.clock.settle()
        self.answers()
        self.effects(window_data, ends_window)
        self.asked = {name: self.request_of(name) for name in ("memory", "program", "registers")}
        for port, queue in self.taken.items():
            if self.offered[port] is not None and self.pin(f"{port}__ready"):
                request, self.offered[port] = self.offered[port], None
                queue.append(
                    request
                    | {
                        "taken": self.clock.cycles,
                        "effect": None,
                        "trap": None,
                        "data": 0,
                        "judged": self.judge(port, request),
                    }
                )
                if port == "vme":
                    self.locked = request["lock"]
        assert self.pin("idle") <= (not any(self.taken.values()) or self.offers_only()), (
            "idle while something is under way"
        )
        if self.pin("protection__look"):
            self.looked = self.pin("protection__page_domain"), self.pin("protection__page")
            self.needed = self.pin("protection__needed")
        await self.clock.edge()

    def offers_only(self):
        """Nothing but what was taken in this very cycle is under way."""
        return all(request["taken"] == self.clock.cycles for queue in self.taken.values() for request in queue)

    def request_of(self, name):
        """What a memory or the registers are asked in this cycle; ``done``: whether it is taken."""
        registers = name == "registers"
        return {
            "done": self.pin(f"{name}__valid") and (name != "memory" or self.clock.inputs["memory__ready"]),
            "address": 4 * self.pin("registers__offset" if registers else f"{name}__address"),
            "write": self.pin(f"{name}__write"),
            "select": self.pin(f"{name}__select"),
            "write_data": self.pin("registers__write_data" if registers else f"{name}__data"),
            "rom": name == "program" and self.pin("program__rom"),
        }

    def registers(self, drive):
        """What the registers say of what they were asked in the cycle before."""
        request = self.asked.get("registers") or {"done": 0, "address": 0, "write": 0, "write_data": 0}
        fails = register_fails(request)
        names_area = request["address"] // 4 in AREAS and request["write"]
        drive(
            registers__error=request["done"] and fails,
            registers__read_data=random.getrandbits(32) if not request["write"] and not fails else 0,
            registers__area=pack(Area, **self.area_of(request["write_data"]), refused=fails) if names_area else 0,
        )

    def head(self, matches):
        """The oldest access of CPU or VME without effect that fits."""
        for port, queue in self.taken.items():
            for request in queue:
                if request["effect"] is None and request["trap"] is None and not self.passive(request):
                    if matches(port, request):
                        return request
                    break
        raise AssertionError(f"cycle {self.clock.cycles}: an effect that nobody asked for: {self.taken}")

    def passive(self, request):
        """Whether the access shows nowhere but in its response: an error without trap, or the table's word."""
        where, trap = request["judged"]
        return trap is None and (where is None or where == "protection" and not request["write"])

    def effects(self, window_data, ends_window):
        """What happens in the places in this cycle: what was asked in the one before, if it may be."""
        count = 0
        for name, asked in self.asked.items():
            if (
                not asked["done"]
                or not self.pin("may")
                or name == "registers"
                and self.clock.inputs["registers__error"]
            ):
                continue
            where = {"memory": "data", "program": "prom" if asked["rom"] else "program", "registers": name}[name]
            size = SIZES.get(where, REGIONS[where].size)
            request = self.head(
                lambda port, r: (
                    r["judged"][0] == where
                    and (r["address"] - REGIONS[where].base) // 4 == (asked["address"] // 4 % (size // 4))
                    and r["write"] == asked["write"]
                    and r["select"] == asked["select"]
                    and (not r["write"] or r["write_data"] == asked["write_data"])
                )
            )
            request["effect"] = where
            count += 1
            if not request["write"]:
                request["data"] = self.clock.inputs["registers__read_data" if name == "registers" else f"{name}_data"]
        if self.pin("protection__write"):
            request = self.head(
                lambda port, r: (
                    r["judged"][0] == "protection" and r["write"] and r["write_data"] == self.pin("protection__data")
                )
            )
            request["effect"] = "protection"
            count += 1
        if self.pin("protection__trap__valid"):
            bits = self.pin("protection__trap__payload")
            seen = {"address": bits & 0xFFFFFF, "domain": bits >> 24 & 31, "kind": bits >> 29 & 3, "vme": bits >> 31}
            self.head(lambda port, r: r["judged"][1] is not None and r["judged"][1] == seen)["trap"] = seen
            count += 1
        assert count <= 1, "two accesses in a cycle"
        if ends_window:
            request = next(r for r in self.taken["bus"] if r["judged"][0] == "vme" and r["effect"] is None)
            assert self.pin("window__address") == request["address"] - REGIONS["vme"].base
            assert (self.pin("window__write"), self.pin("window__select")) == (request["write"], request["select"])
            assert self.pin("window__write_data") == request["write_data"]
            request["effect"] = "vme"
            request["error"] = window_data & 1
            request["data"] = 0 if request["write"] or request["error"] else window_data

    def answers(self):
        """Responses, in order, each with what must have become of the access."""
        for port, queue in self.taken.items():
            if not self.pin(f"{port}__done"):
                assert not self.pin(f"{port}__error")
                continue
            request = queue.popleft()
            where, trap = request["judged"]
            data, error = request["data"], request.get("error", where is None)
            if where == "protection":
                data = 0 if request["write"] else seeds.rng("table", request["address"] & 0x3FFF).getrandbits(32)
                assert request["effect"] == ("protection" if request["write"] else None)
            elif where is not None:
                assert request["effect"] == where, f"{where} was not reached"
            else:
                assert request["effect"] is None
            assert (request["trap"] is None) == (trap is None), "a refused access is recorded once"
            seen = self.pin(f"{port}__read_data"), self.pin(f"{port}__error")
            assert seen == (data, error), f"{port} {request}: {seen}, not {(data, error)}"
            self.done[port] += 1
            name = "trap" if trap else where or "error"
            self.outcomes[port, name] = self.outcomes.get((port, name), 0) + 1
            self.waits[port].append(self.clock.cycles - request["taken"])

    async def reset(self):
        """A reset of the board, with whatever is under way."""
        self.clock.drive(bus__valid=0, vme__valid=0, vme__lock=0)
        await self.clock.reset()
        for queue in self.taken.values():
            queue.clear()
        self.offered, self.asked, self.locked = dict.fromkeys(self.offered), {}, False

    async def timed(self, *requests):
        """Offers each (port, request), one a cycle; returns the cycles, from that of the first, in which the
        responses come."""
        first, left, times = self.clock.cycles, deque(requests), []
        while len(times) < len(requests):
            assert self.clock.cycles - first < 3000, "an access without response"
            if left and not any(self.offered.values()):
                port, request = left.popleft()
                self.offered[port] = request
            before = sum(self.done.values())
            await self.cycle({"bus": 0, "vme": 0})
            times += [self.clock.cycles - 1 - first] * (sum(self.done.values()) - before)
        return times

    async def drain(self):
        """Until nothing is under way."""
        for _ in range(200):
            await self.cycle({"bus": 0, "vme": 0})
            if not any(self.taken.values()) and not any(self.offered.values()):
                await self.cycle({"bus": 0, "vme": 0})
                assert self.pin("idle")
                return
        raise AssertionError("an access without response")

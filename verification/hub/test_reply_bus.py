"""Bench of hdl/hub/reply_bus.py: replies find their way, in turns, or are lost and told; hellos are heard and
answered."""

import random
from collections import Counter, deque

import cocotb
import pytest

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, HELLO_HUB, Op
from nectar.hdl.hub.reply_bus import ReplyBus
from nectar.hdl.link.symbol import ANY_HUB
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle

SIZES = {"2 ports": 2, "5 ports": 5, "16 ports": 16}
#: Cycles of a reply on the bus, the one in which it is picked included.
CYCLES = 4


class Flight:
    """A reply on the bus, or a neighbour to be asked (``content`` None)."""

    def __init__(self, picked, origin, content):
        self.picked, self.origin, self.content = picked, origin, content
        self.target = None  # port where it leaves
        self.sent = content  # what leaves
        self.fits = False

    @property
    def hello(self):
        """Whether it is a hello that has arrived."""
        return self.content is not None and self.content[0] in (HELLO, HELLO_ASK)


class Model:
    """The bus: a reply that is picked in cycle t is read in t + 1 to t + 3, has its route from t + 2, and is pushed
    from t + 3 on."""

    def __init__(self, ports):
        self.ports, self.hub = ports, random.randrange(ANY_HUB)
        self.waiting = {n: deque() for n in range(ports)}
        self.asked = set()
        self.flights = []
        self.cycle = 0
        self.last, self.free = ports - 1, 0  # who was picked last; the next cycle for picking
        self.seen = dict.fromkeys(("delivered", "nowhere", "no room", "heard", "greeted", "asked", "closed"), 0)

    @property
    def place(self):
        """The byte that is read in this cycle, 0 for none."""
        return self.cycle - self.flights[-1].picked if self.cycle < self.free else 0

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        shown = dict.fromkeys(("push", "no_route", "lost", "close", "hello__id", "hello__kind"), 0) | {
            "busy": bool(self.flights or self.asked)
        }
        takes = self.place == 3 and self.flights[-1].content is not None
        for n in range(self.ports):
            shown |= {f"source__{n}__place": self.place, f"source__{n}__pop": takes and n == self.flights[-1].origin}
        for flight in self.flights:
            self._route(flight, self.cycle - flight.picked - 1, inputs, shown)
            self._push(flight, self.cycle - flight.picked - 2, inputs, shown)
        if takes:
            self.waiting[self.flights[-1].origin].popleft()
        elif self.cycle >= self.free:
            self._pick()
        self.flights = [flight for flight in self.flights if self.cycle - flight.picked < 5]
        self.asked |= {n for n in range(self.ports) if inputs["ask"] >> n & 1}
        self.cycle += 1
        return shown

    def _pick(self):
        for n in ((self.last + distance) % self.ports for distance in range(1, self.ports + 1)):
            if self.waiting[n] or n in self.asked:
                self.flights.append(Flight(self.cycle, n, None if n in self.asked else self.waiting[n][0]))
                self.asked.discard(n)
                self.last, self.free = n, self.cycle + CYCLES
                return

    def _route(self, flight, place, inputs, shown):
        if place == 1:
            if flight.content is None or flight.content[0] == HELLO_ASK:
                flight.target = flight.origin
                flight.sent = bytes(
                    [HELLO_ASK if flight.content is None else HELLO, self.hub, HELLO_HUB | flight.origin]
                )
                self.seen["asked" if flight.content is None else "greeted"] += 1
            elif not flight.hello and inputs["connected"] >> flight.origin & 1:
                flight.target = inputs[f"owner__{flight.origin}"]
                if flight.content[0] == Op.CLOSE_ALL_REPLY:
                    shown["close"] = 1 << flight.origin
                    self.seen["closed"] += 1
        elif place in (2, 3) and flight.hello:
            shown |= {
                "hello__id": place == 2,
                "hello__kind": place == 3,
                "hello__byte": flight.content[place - 1],
                "hello__index": flight.origin,
            }
            self.seen["heard"] += 1

    def _push(self, flight, place, inputs, shown):
        if place not in (1, 2, 3):
            return
        if place == 1 and flight.target is not None:
            flight.fits = not inputs["full"] >> flight.target & 1
            shown["lost"] = (not flight.fits) << flight.origin
            self.seen["delivered" if flight.fits else "no room"] += 1
        elif place == 1 and not flight.hello:
            shown["no_route"] = 1 << flight.origin
            self.seen["nowhere"] += 1
        if flight.fits or place == 1 and flight.target is not None:
            shown |= {"push": 1 << flight.target, "place": place, "byte": flight.sent[place - 1]}


class Stimulus:
    """Every source offers at random; the table and the room change all the time."""

    def __init__(self, offer, ask, full):
        self.offer, self.ask, self.full = offer, ask, full

    def __call__(self, model):
        ports = range(model.ports)
        inputs = {
            "hub_id": model.hub,
            "ask": sum((random.random() < self.ask) << n for n in ports),
            "connected": random.getrandbits(model.ports),
            "full": sum((random.random() < self.full) << n for n in ports),
        }
        for n in ports:
            waiting = model.waiting[n]
            if random.random() < self.offer and len(waiting) < 4:
                nearly = Op.CLOSE_ALL_REPLY ^ 1 << random.randrange(8)  # and closes nothing
                op = random.choice(
                    [HELLO, HELLO_ASK, Op.CLOSE_ALL_REPLY, nearly, nearly, *random.choices(range(256), k=4)]
                )
                waiting.append(bytes([op, *random.randbytes(2)]))
            byte = waiting[0][model.place - 1] if waiting and model.place else random.getrandbits(8)
            inputs |= {
                f"owner__{n}": random.randrange(model.ports),
                f"source__{n}__valid": bool(waiting),
                f"source__{n}__byte": byte,
            }
        return inputs


async def begun(dut):
    """A bus out of reset."""
    ports = range(SIZES[inside()])
    lockstep = Lockstep(
        dut,
        [
            "hub_id",
            "ask",
            "connected",
            "full",
            *(f"owner__{n}" for n in ports),
            *(f"source__{n}__{pin}" for n in ports for pin in ("valid", "byte")),
        ],
    )
    await lockstep.start()
    return lockstep


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def delivers_replies_in_turns(dut):
    """H12: a reply waits for at most N - 1 others whatever else goes on, and goes where the connection comes from;
    docs/hub.md, Neighbours: a hello is heard, and answered if that is asked for. A reset in the midst of it, of one
    cycle, forgets all."""
    lockstep = await begun(dut)
    seen = Counter()
    for offer, ask, full in ((0.02, 0.01, 0.1), (0.1, 0, 0), (1, 0.02, 0.3), (0.02, 0, 0.9), (0.3, 1, 0.1)):
        await lockstep.reset()
        model = Model(SIZES[inside()])
        await lockstep.follow(model.step, in_each_cycle(Stimulus(offer, ask, full), model, 700))
        seen.update(model.seen)
    await lockstep.follow(model.step, in_each_cycle(Stimulus(0, 0, 0), model, 40 * model.ports))
    assert all(seen[what] for what in model.seen), seen
    assert not model.flights and not model.asked and not any(model.waiting.values())


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_neighbour_asked_for_twice_is_asked_twice(dut):
    """docs/hub.md, Neighbours: whenever the second time is, before the bus has turned to it or since, and whoever else
    is asked for; with every bit of this HUB's ID."""
    lockstep = await begun(dut)
    model = Model(SIZES[inside()])
    for first in range(model.ports):
        for later in range(1, 7):
            model.hub = random.randrange(ANY_HUB)
            for cycle in range(later + 1):
                asks = 1 << first | random.getrandbits(model.ports) if cycle in (0, later) else 0
                inputs = Stimulus(0, 0, 0)(model) | {"ask": asks}
                await lockstep.step(inputs, model.step(inputs))
            while model.flights or model.asked:
                inputs = Stimulus(0, 0, 0)(model)
                await lockstep.step(inputs, model.step(inputs))


bench = Bench(__name__, {name: lambda ports=ports: ReplyBus(ports) for name, ports in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("2 ports", "16 ports")))
def test_reply_bus(configuration, claim):
    bench.check(configuration, claim)

"""Bench of hdl/ipsc2/node/control.py: registers, interrupts, timer, areas that do not lie in memory."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.node.control import Control
from nectar.hdl.ipsc2.node.registers import REG, REGISTERS, Irq
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

SIZE = 1 << 12
EVENTS = "sent", "refused", "aborted", "checksum"
INPUTS = (
    *("register", "write", "act", "data", "status", "result", "arrived", "areas__ready", "body_left", "slept"),
    *EVENTS,
)
NUMBERS = {register.offset // 4: register for register in REGISTERS}
ADDRESSES = {"OUT_AREA": "OUT_ADDRESS", "IN_BODY": "IN_BODY_ADDRESS", "IN_HEAD": "IN_HEAD_ADDRESS"}
OUTPUTS = {"OUT_AREA": "areas__valid", "IN_BODY": "set_body", "IN_HEAD": "arm"}


def test_registers_do_not_overlap_and_their_fields_do_not_either():
    assert len(NUMBERS) == len(REGISTERS) == len(REG)
    for register in REGISTERS:
        bits = [each.low + n for each in register.fields for n in range(each.width)]
        assert len(bits) == len(set(bits)) and all(bit < 32 for bit in bits)


class Reference:
    """docs/ipsc2-node.md, "Registers"."""

    def __init__(self):
        self.addresses = dict.fromkeys(ADDRESSES.values(), 0)
        self.events, self.enabled = set(), 0
        self.now = self.compare = 0
        self.armed = False

    def step(self, inputs):
        """See ``lockstep``."""
        now = (self.now + inputs["slept"]) % (1 << 32)
        pending = sum(1 << irq for irq in self.events) | bool(inputs["arrived"]) << Irq.ARRIVED
        expected = {
            "irq": bool(pending & self.enabled),
            "wake_in": max(0, (self.compare - self.now) % (1 << 32) - 1) if self.armed else (1 << 32) - 1,
            **dict.fromkeys((*OUTPUTS.values(), "abort", "drop", "reset"), 0),
        }
        due = self.armed and now == self.compare
        self.armed = self.armed and not due
        cleared = 0
        if inputs["act"]:
            cleared = self._access(inputs, expected, pending, now)
        self.events = {irq for irq in self.events if not cleared >> irq & 1}
        self.events |= {Irq[name.upper()] for name in EVENTS if inputs[name]} | ({Irq.TIMER} if due else set())
        self.now = (now + 1) % (1 << 32)
        return expected

    def _access(self, inputs, expected, pending, now):
        """An access; the events that it clears."""
        register = NUMBERS.get(inputs["register"])
        kind = "w" if inputs["write"] else "r"
        if register is None or kind not in register.access:
            expected["error"] = 1
            return 0
        name, data = register.name, inputs["data"]
        expected["error"] = 0
        if kind == "r":
            expected["value"] = {
                "IRQ_PENDING": pending,
                "IN_RESULT": inputs["result"] if inputs["arrived"] else 0,
                "STATUS": inputs["status"],
                "IRQ_ENABLE": self.enabled,
                "TIMER_NOW": now,
                "TIMER_COMPARE": self.compare,
                "IN_BODY": inputs["body_left"],
                **self.addresses,
            }[name]
        elif name in ADDRESSES:
            words, address = data & 0x3FFFFF, self.addresses[ADDRESSES[name]]
            outside = address + 4 * words > SIZE
            if outside or name == "OUT_AREA" and (not words or not inputs["areas__ready"]):
                expected["error"] = 1
            else:
                port = {"OUT_AREA": "areas__payload", "IN_BODY": "body", "IN_HEAD": "head"}[name]
                last = data >> 31 << 21 if name == "OUT_AREA" else 0
                expected |= {OUTPUTS[name]: 1, port: address >> 2 & 0x3FF | words << 10 | last}
        elif name in self.addresses:
            self.addresses[name] = data & 0xFFFFFC
        elif name == "IRQ_ENABLE":
            self.enabled = data & (1 << len(Irq)) - 1
        elif name == "CONTROL":
            expected |= {each.name: each.get(data) for each in register.fields}
        elif name == "TIMER_COMPARE":
            self.compare, self.armed = data, True
        elif name == "TIMER_STOP":
            self.armed = False
        return data if name == "IRQ_PENDING" and kind == "w" else 0


def access(model):
    """A random access."""
    number = random.choice([*NUMBERS]) ^ random.choice([0, 0, 0, 1 << random.randrange(10)])
    name = NUMBERS[number].name if number in NUMBERS else ""
    data = random.getrandbits(32)
    if name in model.addresses:
        data = random.choice([data, random.randrange(SIZE + 64), 1 << random.randrange(32)])
    elif name in ADDRESSES:
        room = max(0, (SIZE - model.addresses[ADDRESSES[name]]) // 4)
        words = random.choice([0, 1, room, room + 1, random.randrange(SIZE), 1 << random.randrange(22)])
        data = data & 1 << 31 | words & 0x3FFFFF
    elif name == "TIMER_COMPARE":
        soon = (model.now + random.randrange(1, 20)) % (1 << 32)
        data = random.choice([data, soon, soon, soon ^ 1 << random.randrange(32)])
    return {"register": number, "write": random.getrandbits(1), "act": 1, "data": data}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def registers_do_what_the_page_says(dut):
    """docs/ipsc2-node.md, "Registers": values, errors, events that are not lost, areas, the timer."""
    for density in (0.5, 0.95):
        clock = Lockstep(dut, INPUTS)
        await clock.start()
        model = Reference()

        def stimuli(density=density, model=model):
            for _ in range(4000):
                shift = random.randrange(32)
                left = (model.compare - model.now) % (1 << 32)
                # As long as it may be, now and then: all bits of the time are used.
                longest = left if model.armed else (1 << 32) - 1
                yield {
                    **access(model),
                    "act": random.random() < density,
                    **{name: random.random() < 0.1 for name in (*EVENTS, "arrived")},
                    "status": random.getrandbits(32),
                    "result": random.getrandbits(32),
                    "body_left": random.getrandbits(11),
                    "areas__ready": random.random() < 0.8,
                    "slept": random.choice([0] * 6 + [random.randrange(min(longest, 5) + 1)] * 2 + [longest >> shift]),
                }

        await clock.follow(model.step, stimuli())


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_area_outside_of_memory_is_refused_by_each_bit(dut):
    """docs/ipsc2-node.md, "DMA": of its address, of its size, and of the two together."""
    clock = Lockstep(dut, INPUTS)
    await clock.start()
    model = Reference()
    idle = dict.fromkeys(INPUTS, 0) | {"areas__ready": 1}

    def stimuli():
        for name, address in ADDRESSES.items():
            places = [(0, SIZE // 4), (SIZE - 4, 1), (SIZE, 0), (4, SIZE // 4)]
            places += [(1 << bit, 1) for bit in range(2, 24)] + [(0, 1 << bit) for bit in range(22)]
            places += [(1 << bit, (1 << bit) >> 2) for bit in range(2, 24)]
            for place, words in places:
                for register, data in ((address, place), (name, words)):
                    yield idle | {"register": REG[register].offset // 4, "write": 1, "act": 1, "data": data}

    await clock.follow(model.step, stimuli())


bench = Bench(__name__, {"4 kbyte": lambda: Control(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_control(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)

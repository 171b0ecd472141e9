"""Bench of hdl/cab/protection.py: what the table says, in every cycle, while it, the domains and the record change."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.cab.protection import WINDOWS, Protection, Trap
from nectar.hdl.cab.regions import PAGE_BITS, PAGES, REGIONS, AccessKind
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.protection_model import ProtectionModel, Refused
from nectar.verification.cab.structures import pack
from nectar.verification.harness import Lockstep

CONFIGURATIONS = {"whole table": (32, PAGES), "4 domains, 256 pages": (4, 256), "2 domains, 16 pages": (2, 16)}
REGISTERS = "domain", "domains_on", "trap_address", "trap_info"
INPUTS = (
    "look",
    "page",
    "page_domain",
    "needed",
    "write",
    "select",
    "data",
    "trap__valid",
    "trap__payload",
    *(
        f"{name}__{pin}"
        for name in REGISTERS
        for pin in ("read", "write", "data")
        if pin == "read" or "w" in REG[name.upper()].access
    ),
)


class Reference:
    """The model, a look-up behind."""

    def __init__(self, domains, pages):
        self.model = ProtectionModel(domains, pages)
        self.looked = None
        self.needed = 0
        self.found = None  # rights of the four pages there, as they were then; None: no such word

    def step(self, inputs):
        """See ``lockstep``."""
        model = self.model
        domain, page = self.looked or (0, 0)
        found = self.found
        outputs = {}
        if self.looked:
            known = not found or None not in found
            rights = found[page & 3] if found and domain in model.on else 0
            outputs = {
                "granted": bool(rights & self.needed) if domain else None,
                "hole": found is None,
                "table": (int.from_bytes(bytes(found), "big") if found else 0) if known else None,
            }
        outputs |= {f"{name}__value": getattr(model, f"read_{name}")() for name in REGISTERS}
        outputs["domain__refuse"] = REG["DOMAIN"].current.get(inputs["domain__data"]) >= model.domains
        outputs["current"] = model.current
        if inputs["look"]:
            self.looked = looks, there = inputs["page_domain"], inputs["page"]
            self.needed = inputs["needed"]
            self.found = (
                [model.table.get((looks, there & ~3 | n)) for n in range(4)] if model.covers(looks, there) else None
            )
        if inputs["write"] and found is not None:
            model.store(domain, page, inputs["data"], inputs["select"])
        for name in ("domain", "domains_on", "trap_info"):
            if inputs[f"{name}__write"]:
                getattr(model, f"write_{name}")(inputs[f"{name}__data"])
        if inputs["trap__valid"]:
            bits = inputs["trap__payload"]
            try:
                model.refuse(bits & 0xFFFFFF, AccessKind(bits >> 29 & 3), bits >> 24 & 31, bits >> 31)
            except Refused:
                pass
        return {name: value for name, value in outputs.items() if value is not None}


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def what_is_looked_up_is_what_was_written_for_domains_that_are_on(dut):
    """C4, C5, docs/cab.md, protection: against the model; a write is seen by the look-ups behind it; a domain that is
    off, a page outside the table: no rights."""
    domains, pages = CONFIGURATIONS[inside()]
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference(domains, pages)
    model = reference.model
    every = [
        0,
        1,
        2,
        3,
        127,
        0x200,
        0x203,
        0x23F,
        0x240,
        0x400,
        0x43F,
        0x440,
        0x7FF,
        0x800,
        0x803,
        0x804,
        0xC00,
        0x2000,
        PAGES - 1,
    ]
    pool = [(random.randrange(domains), random.choice([*every, random.randrange(PAGES)])) for _ in range(60)]
    pool = sorted({(domain, page & ~3) for domain, page in pool})
    quiet = dict.fromkeys(INPUTS, 0)

    def fill():
        """Nothing that was never written is looked at: a board writes a domain's rights before it switches it on."""
        for domain, page in pool:
            yield quiet | {"look": 1, "page": page, "page_domain": domain}
            yield quiet | {
                "write": 1,
                "select": 15,
                "data": random.getrandbits(32),
                "page": page,
                "page_domain": domain,
            }

    def stimuli():
        for _ in range(6000):
            domain, page = random.choice(pool)
            if random.random() < 0.1:
                domain = random.randrange(domains, 33) & 31 if domains < 32 else domain
                page = page if domain < domains or random.random() < 0.5 else random.randrange(PAGES)
            change = random.choice(["domain", "domains_on", "trap_info", "trap", "trap", *[None] * 12])
            trap = pack(
                Trap,
                address=random.getrandbits(24),
                domain=random.getrandbits(5),
                kind=random.randrange(3),
                vme=random.getrandbits(1),
            )
            asked = random.getrandbits(5)
            writes = random.random() < 0.3
            given = quiet | {
                "look": not writes and random.random() < 0.8,
                "page": page | random.randrange(4),
                "page_domain": domain,
                "needed": random.choice([1, 2, 4, 1, 2, 4, random.getrandbits(3)]),
                "write": writes,
                "select": random.getrandbits(4),
                "data": random.getrandbits(32),
                "domain__data": asked | random.getrandbits(27) << 5,
                "trap__valid": change == "trap",
                "trap__payload": trap,
                "domains_on__data": random.getrandbits(32),
            }
            if change in ("domains_on", "trap_info") or change == "domain" and asked < domains:
                given[f"{change}__write"] = random.random() < (0.1 if change == "trap_info" else 1)
            yield given

    await clock.follow(reference.step, fill())
    await clock.follow(reference.step, stimuli())
    assert model.pages == pages and len(pool) > 8


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def a_page_next_to_the_table_is_not_in_it(dut):
    """docs/cab.md, protection: a page whose number differs in one bit from one at the beginning or the end of a
    window is there, or a hole, as the model says."""
    domains, pages = CONFIGURATIONS[inside()]
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference(domains, pages)
    quiet, bits = dict.fromkeys(INPUTS, 0), PAGES.bit_length() - 1
    for base in (REGIONS[name].base >> PAGE_BITS for name in WINDOWS):
        for page in (edge ^ 1 << n for edge in (base, base + pages // len(WINDOWS) - 1) for n in range(bits)):
            await clock.follow(
                reference.step,
                [quiet | {"look": 1, "page": page % PAGES, "page_domain": random.randrange(domains)}, quiet],
            )


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def lost_traps_are_counted_up_to_255(dut):
    """docs/cab.md, TRAP_INFO: the first stays, the others are counted; any write forgets all."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference(*CONFIGURATIONS[inside()])
    quiet = dict.fromkeys(INPUTS, 0)
    payload = [pack(Trap, address=random.getrandbits(24), domain=1, kind=1, vme=0) for _ in range(300)]
    await clock.follow(reference.step, (quiet | {"trap__valid": 1, "trap__payload": p} for p in payload))
    assert REG["TRAP_INFO"].lost.get(reference.model.read_trap_info()) == 255
    await clock.follow(
        reference.step, [quiet, quiet | {"trap_info__write": 1}, quiet, quiet | {"trap__valid": 1}, quiet]
    )
    assert reference.model.lost == 0


bench = Bench(
    __name__, {name: lambda sizes=sizes: Protection(*sizes) for name, sizes in CONFIGURATIONS.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("2 domains, 16 pages", "whole table")))
def test_protection(configuration, claim):
    """Each claim on each size."""
    bench.check(configuration, claim)


@pytest.mark.parametrize("domains", [0, 1, 3, 31, 64])
def test_another_number_of_domains_is_refused(domains):
    """docs/cab.md, protection: a power of two from 2 to 32."""
    with pytest.raises(ValueError, match=f"domains must be a power of two from 2 to 32, not {domains}"):
        Protection(domains=domains)


@pytest.mark.parametrize("pages", [0, 8, 17, 100, 4096, 8192, 32768])
def test_another_number_of_pages_is_refused(pages):
    """docs/cab.md, protection: all, or a power of two from 16 to 2048."""
    with pytest.raises(ValueError, match=f"pages must be 16384 or a power of two from 16 to 2048, not {pages}"):
        Protection(pages=pages)


def test_sizes_are_integers():
    """Half a domain protects nothing."""
    with pytest.raises(TypeError, match="domains must be an integer, not '4'"):
        Protection(domains="4")
    with pytest.raises(TypeError, match="pages must be an integer, not 256.0"):
        Protection(pages=256.0)

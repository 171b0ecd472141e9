"""Proof of hdl/cab/bus.py and protection.py: what a domain may not do is not done, and only the kernel says what it
may.

Statement: docs/cab.md, "Protection". Proved are the bus, the protection and the decoder of the registers, wired as on
the board; memories, the other registers and the VME window answer as they like. One arbitrary domain, which is not the
kernel's, and one arbitrary page are followed: what the table says of them is kept a second time, from the kernel's
writes alone. An arbitrary access is followed from the pins to where it is done.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, ResetInserter, Signal

from ...hdl.cab.addresses import ADDRESS_BITS, LENGTH_BITS, REG
from ...hdl.cab.kernel_registers import KERNEL_PAGE
from ...hdl.cab.regions import DOMAIN_BITS, KERNEL, PAGE_BITS, AccessKind, Right
from .protection_board import ProtectionBoard, in_region
from .prove import look_into

__all__ = ["ProtectionProof"]

_PAGE_NUMBER_BITS = ADDRESS_BITS - PAGE_BITS
_LANES = 4


class ProtectionProof(ProtectionBoard):
    """A bus, a protection and a decoder; ``pages`` as in ``Protection``."""

    def elaborate(self, platform):
        m = Module()
        bus, protection, decoder = self.bus, self.protection, self.decoder
        reset = Signal()
        m.submodules.bus = look_into(bus, platform)
        m.submodules.protection = ResetInserter(reset)(look_into(protection, platform))
        m.submodules.decoder = decoder
        probes = bus.probes
        work, valid = probes.at_work, probes.valid
        access = work.access
        m.d.comb += reset.eq(AnySeq(1))  # by RESET or SYSRESET

        # The access that is being done, a cycle behind the one at work: what it was, what the table said of it, and
        # what the memories and registers were asked.
        done, doing = Signal(), Signal.like(work)
        did = doing.access
        asks_memory, asks_program, asks_registers, left = (
            Signal(name=n) for n in ("asks_memory", "asks_program", "asks_registers", "left")
        )
        was_denied, was_refused, area_written = Signal(), Signal(), Signal()
        self.done, self.moved, self.moved_then = done, Signal(), Signal()
        m.d.sync += [
            done.eq(probes.ends),
            doing.eq(work),
            left.eq(probes.leaves),
            was_denied.eq(probes.to_walk & probes.denied),
            was_refused.eq(probes.refused),
            asks_memory.eq(bus.memory.valid & bus.memory.ready),
            asks_program.eq(bus.program.valid),
            asks_registers.eq(bus.registers.valid),
            area_written.eq(probes.area.write),
            self.moved_then.eq((self.moved | reset) & probes.ends),
        ]
        self.wire(m, reset)
        register_write = asks_registers & bus.may & did.write & ~decoder.error

        # 1. The access at work is one that was asked for, in the domain that was current when it began.
        current = Signal(DOMAIN_BITS)
        follows, asked, asked_kernel, from_vme = Signal(), Signal.like(access), Signal(), Signal()
        began, domain_then = Signal(), Signal(DOMAIN_BITS)
        with m.If(~follows):
            with m.If(bus.bus.valid & bus.bus.ready & AnySeq(1)):
                m.d.sync += [
                    follows.eq(1),
                    began.eq(probes.cpu_begins),
                    asked_kernel.eq(bus.bus.kernel),
                    from_vme.eq(0),
                    *(asked[name].eq(getattr(bus.bus, name)) for name in access.shape().as_shape().members),
                ]
            with m.Elif(bus.vme.valid & bus.vme.ready & AnySeq(1)):
                m.d.sync += [
                    follows.eq(1),
                    began.eq(1),
                    asked_kernel.eq(0),
                    from_vme.eq(1),
                    *(asked[name].eq(getattr(bus.vme, name)) for name in access.shape().as_shape().members),
                ]
            m.d.sync += domain_then.eq(bus.protection.current)
        with m.Elif(~began):
            m.d.sync += [began.eq(probes.cpu_begins), domain_then.eq(bus.protection.current)]
        with m.Elif(probes.ends):
            m.d.sync += follows.eq(0)
        with m.If(follows & ~began):
            m.d.comb += Assert(
                probes.held & (probes.spare.access == asked) & (probes.spare.kernel == asked_kernel) & ~from_vme,
                "what was taken and cannot begin waits",
            )
        with m.If(follows & began):
            m.d.comb += [
                Assert(valid & (access == asked) & (work.vme == from_vme), "what is done is what was asked"),
                Assert(
                    from_vme | (work.domain == Mux(asked_kernel, KERNEL, domain_then)),
                    "in the domain current when it began",
                ),
            ]
        m.d.comb += [
            Assert(
                ~valid | (work.kernel == (~work.vme & (work.domain == KERNEL))), "no one but the kernel is the kernel"
            ),
            Assert(~valid | ~work.vme | (work.domain == self.domains - 1), "VME is in its own domain"),
        ]

        # 2. What the kernel alone can change: the current domain, the domains that are on, the table.
        domain, page = Signal(DOMAIN_BITS), Signal(_PAGE_NUMBER_BITS)
        by_kernel = Signal()
        on = Signal()
        m.d.comb += [
            domain.eq(AnyConst(DOMAIN_BITS)),
            Assume((domain != KERNEL) & (domain < self.domains)),
            page.eq(AnyConst(_PAGE_NUMBER_BITS)),
            by_kernel.eq(done & doing.kernel & did.write),
        ]
        whole = by_kernel & did.select.all()
        m.d.comb += [
            Assert(bus.protection.current == current, "the kernel, and nobody else, sets the current domain"),
            Assert(
                ~(
                    (probes.cpu_begins | probes.vme_begins)
                    & ((valid & self.changes(access)) | (done & self.changes(did)))
                ),
                "the next access finds what the one before has done to the protection",
            ),
            Assert(~bus.protection.write | probes.settling),
            Assert(~probes.settling | ~valid),
        ]
        with m.If(
            whole & (did.address[2:] == REG["DOMAIN"].address >> 2) & (did.write_data[:DOMAIN_BITS] < self.domains)
        ):
            m.d.sync += current.eq(did.write_data[:DOMAIN_BITS])
        with m.If(whole & (did.address[2:] == REG["DOMAINS_ON"].address >> 2)):
            m.d.sync += on.eq(did.write_data.bit_select(domain, 1))
        with m.If(reset):
            m.d.sync += [current.eq(0), on.eq(0)]
        m.d.comb += Assert(
            protection.domains_on.value.bit_select(domain, 1) == on, "the kernel, and nobody else, switches domains on"
        )

        covered, index = self.place(page)
        lane = Array([3, 2, 1, 0])[page[:2]]
        content = Signal(len(Right), reset_less=True)
        offset = Cat(page, domain)
        with m.If(
            by_kernel
            & covered
            & in_region(did.address, "protection")
            & (did.address[2:19] == offset[2:])
            & did.select.bit_select(lane, 1)
        ):
            m.d.sync += content.eq(did.write_data.word_select(lane, 8)[: len(Right)])
        look = protection.probes
        m.d.comb += [
            look.address.eq(Cat(index[2:], domain)),
            Assert(
                ~covered | (look.data.word_select(lane, len(Right)) == content),
                "the kernel, and nobody else, writes the table",
            ),
        ]
        trap_stays, trap_before = Signal(), Signal.like(protection.trap_info.value)
        m.d.sync += [
            trap_stays.eq(
                protection.trap_info.value.valid
                & ~reset
                & ~(whole & (did.address[2:] == REG["TRAP_INFO"].address >> 2))
            ),
            trap_before.eq(protection.trap_info.value),
        ]
        m.d.comb += Assert(
            ~trap_stays
            | (protection.trap_info.value.valid & (protection.trap_info.value.domain == trap_before.domain)),
            "the record of what was refused stays until the kernel takes it",
        )

        # 3. What the followed domain does on the followed page is what the table allows.
        rights = Signal(len(Right))
        kind, right, effect = Signal(AccessKind), Signal(), Signal()
        here, moved, right_then, here_then, traps = Signal(), self.moved, Signal(), Signal(), bus.protection.trap.valid
        m.d.comb += [
            rights.eq(Mux(on & covered, content, 0)),
            kind.eq(Mux(access.write, AccessKind.WRITE, Mux(access.execute, AccessKind.EXECUTE, AccessKind.READ))),
            here.eq(valid & (work.domain == domain) & (access.address[PAGE_BITS:] == page)),
            right.eq(
                rights.bit_select(kind, 1)
                & ~in_region(access.address, "protection")
                & ~(in_region(access.address, "registers") & (access.address[PAGE_BITS:12] == KERNEL_PAGE >> PAGE_BITS))
            ),
            effect.eq(
                bus.may & (asks_memory | asks_program | (asks_registers & ~decoder.error)) | bus.protection.write
            ),
            Assert(~effect | done),
            Assert(~effect | ~here_then | right_then | self.moved_then, "what a domain may not do does nothing"),
            Assert(~probes.leaves | ~here | right, "nor on the VME bus"),
            Assert(~traps | (done & ~doing.kernel), "the kernel may do everything"),
            Assert(~(traps & here_then & ~was_denied) | ~right_then, "what it may do is not refused"),
            Assert(~done | (bus.may == ~traps), "what is not told may be done"),
        ]
        m.d.sync += [right_then.eq(right), here_then.eq(here & probes.ends)]
        trapped, trapped_vme = Signal(), Signal()
        m.d.sync += [trapped.eq(traps), trapped_vme.eq(doing.vme)]
        for port, by_vme in ((bus.bus, 0), (bus.vme, 1)):
            m.d.comb += Assert(
                ~(trapped & (trapped_vme == by_vme)) | (port.done & port.error & (port.read_data == 0)),
                "who may not read learns nothing",
            )
        at_program = in_region(access.address, "program", self.size) | (
            in_region(access.address, "prom") & ~access.write
        )
        at_window = in_region(did.address, "vme") & ~doing.vme
        m.d.comb += [
            *(
                Assert(~asked_for | place, "an access goes to its own place")
                for asked_for, place in (
                    (bus.memory.valid, valid & in_region(access.address, "data", self.size)),
                    (bus.program.valid, valid & at_program),
                    (asks_registers, done & in_region(did.address, "registers")),
                    (left, done & at_window),
                )
            ),
            *(
                Assert(~place | asked_for, "and gets there")
                for asked_for, place in (
                    (bus.memory.valid & bus.memory.ready, probes.ends & in_region(access.address, "data", self.size)),
                    (bus.program.valid, probes.ends & at_program),
                    (asks_registers | was_refused, done & ~traps & in_region(did.address, "registers")),
                    (left, done & ~traps & at_window),
                )
            ),
            Assert(~bus.protection.write | (done & doing.kernel)),
            Assert(
                ~probes.waits | ~(valid & ~work.vme | probes.answers_cpu),
                "while the CPU waits for the window it does nothing else",
            ),
        ]

        # 4. DMA: an area is let in only when each of its pages is allowed; the followed page is one of them.
        area, now = probes.area, decoder.area
        first, last, inside, allowed = Signal(_PAGE_NUMBER_BITS), Signal(_PAGE_NUMBER_BITS), Signal(), Signal()
        first_then, last_then = Signal(_PAGE_NUMBER_BITS), Signal(_PAGE_NUMBER_BITS)
        length_then = did.write_data[:LENGTH_BITS]
        heard = probes.begins | probes.walking | probes.walked
        m.d.comb += [
            first.eq(area.address >> PAGE_BITS),
            last.eq((area.address + area.length - 1)[PAGE_BITS:ADDRESS_BITS]),
            inside.eq((area.length != 0) & ~area.refused & (first <= page) & (page <= last)),
            allowed.eq(Mux(area.write, rights[AccessKind.WRITE], rights[AccessKind.READ])),
            first_then.eq(now.address >> PAGE_BITS),
            last_then.eq((now.address + length_then - 1)[PAGE_BITS:ADDRESS_BITS]),
            Assert(
                ~(
                    register_write
                    & ~doing.kernel
                    & self.names_area(did)
                    & (doing.domain == domain)
                    & (length_then != 0)
                    & (first_then <= page)
                    & (page <= last_then)
                    & ~self.moved_then
                )
                | Mux(now.write, rights[AccessKind.WRITE], rights[AccessKind.READ]),
                "DMA gets no area with a page that its domain may not read or write",
            ),
            Assert(
                ~(probes.hears | heard)
                | (
                    valid
                    & probes.to_walk
                    & ~done
                    & (probes.hears + probes.begins + probes.walking + probes.walked == 1)
                )
            ),
            Assert(
                ~(probes.hears | heard)
                | (now.length == Mux(self.whole_area(access), access.write_data[:LENGTH_BITS], 0))
            ),
            Assert(
                ~heard | moved | (Cat(area.address, area.length, area.write) == Cat(now.address, now.length, now.write))
            ),
            Assert(~(heard & ~area.refused) | (area.address + area.length <= 1 << ADDRESS_BITS)),
            Assert(~((probes.hears | probes.begins) & probes.denied)),
            Assert(~(probes.hears | probes.begins) | ~here | probes.passed | ~right),
            Assert(~(probes.hears | probes.begins) | moved | ~here | ~probes.passed | right),
            Assert(~(probes.walking | probes.walked & (probes.passed | probes.denied)) | moved | ~here | right),
            Assert(~(probes.walked & ~probes.passed & ~probes.denied) | ~here | ~right),
            Assert(~(probes.walking & probes.denied)),
            Assert(~(probes.passed & probes.denied & probes.walked)),
        ]
        with m.If((work.domain == domain) & inside & ~moved):
            m.d.comb += [
                Assert(~(probes.walked & probes.passed) | allowed, "all pages of the area were looked at"),
                Assert(~(probes.walking & (page < probes.page)) | allowed, "all before the one that is looked at now"),
                Assert(~(probes.walked & probes.denied & (probes.seen_page == page)) | ~allowed),
            ]
        m.d.comb += Assert(
            ~(
                traps
                & was_denied
                & (doing.domain == domain)
                & ~self.moved_then
                & (bus.protection.trap.payload.address[PAGE_BITS:] == page)
            )
            | ~Mux(area_written, rights[AccessKind.WRITE], rights[AccessKind.READ]),
            "what is told is not allowed",
        )
        looked, looked_domain, needed = (
            Signal(width, reset_less=True) for width in (_PAGE_NUMBER_BITS, DOMAIN_BITS, len(Right))
        )
        looked_covered, looked_index = self.place(looked)
        begun = Signal(reset_less=True)  # something has been looked up
        same_word = valid & (looked[2:] == page[2:]) & (looked_domain == domain) & covered
        with m.If(bus.protection.look):
            m.d.sync += [
                begun.eq(1),
                looked.eq(bus.protection.page),
                looked_domain.eq(bus.protection.page_domain),
                needed.eq(bus.protection.needed),
            ]
        m.d.comb += [
            Assert(~probes.begins | (probes.ahead == first)),
            Assert(
                ~probes.walking
                | (
                    (area.length != 0)
                    & ~area.refused
                    & (probes.page >= first)
                    & (probes.page <= last)
                    & (probes.last_page == last)
                    & (probes.ahead == (probes.page + 1)[:_PAGE_NUMBER_BITS])
                )
            ),
            Assert(begun | ~valid),
            Assert(
                ~probes.walking
                | (
                    (looked == probes.page)
                    & (looked_domain == work.domain)
                    & (needed == Mux(area.write, Right.WRITE, Right.READ))
                )
            ),
            Assert(
                ~(valid & ~work.kernel & ~(probes.walking | probes.walked))
                | (needed == 1 << kind)
                & (
                    in_region(access.address, "protection")
                    | (looked == access.address[PAGE_BITS:]) & (looked_domain == work.domain)
                )
            ),
            Assert(
                ~(valid & work.kernel & in_region(access.address, "protection"))
                | (Cat(looked, looked_domain) == access.address[: _PAGE_NUMBER_BITS + DOMAIN_BITS])
            ),
            Assert(~begun | (look.inside == (looked_covered & (looked_domain < self.domains)))),
            Assert(
                ~begun
                | (look.domain == looked_domain)
                & (~look.inside | (look.place == Cat(looked_index[2:], looked_domain)[: len(look.place)]))
            ),
            *(
                Assert(
                    ~begun | (look.chosen.word_select(_LANES - 1 - n, len(Right)) == Mux(looked[:2] == n, needed, 0))
                )
                for n in range(_LANES)
            ),
            Assert(
                ~same_word | (look.read.word_select(lane, len(Right)) == content), "what was looked up is what is there"
            ),
            Assert(
                ~(valid & (looked == page) & (looked_domain == domain))
                | (protection.granted == (rights & needed).any()),
                "the table says what was written",
            ),
            *(
                Assert(~valid | (getattr(probes.where, name) == value))
                for name, value in (
                    ("memory", in_region(access.address, "data", self.size)),
                    ("program", in_region(access.address, "program", self.size)),
                    ("rom", in_region(access.address, "prom") & ~access.write),
                    ("registers", in_region(access.address, "registers")),
                    ("table", in_region(access.address, "protection") & work.kernel),
                    ("window", in_region(access.address, "vme") & ~work.vme),
                    ("private", self.kernels(access)),
                    ("settles", in_region(access.address, "protection") | self.kernels(access) & access.write),
                    ("area", access.write & self.names_area(access)),
                )
            ),
        ]
        return m

"""A search in hdl/hub/port/input_port.py: symbols leave in the order in which they came, and a ready signal is asked
for when a start leaves.

Statements: H14, H15; docs/hub.md, "Input side of a port". All parts of the input side are there, as they are wired; the
first cycles after a reset are searched, and nothing is claimed beyond.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.port.input_port import InputPort
from ...hdl.hub.port.input_register import InputRegister
from ...hdl.link.symbol import CONTROL_BIT, SYMBOL_BITS, Control
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "InputSideProof"]


class InputSideProof(wiring.Component):
    """An input port behind an input register. Packets, ready signals and idles arrive, no commands; connections and
    space change at any time."""

    def __init__(self, bypass, capacity):
        self.register = InputRegister()
        self.port = InputPort(2, 0, capacity, bypass)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        register, port = self.register, self.port
        m.submodules.register = look_into(register, platform)
        m.submodules.port = look_into(port, platform)
        payload = Signal(SYMBOL_BITS)
        m.d.comb += [
            payload.eq(AnySeq(SYMBOL_BITS)),
            Assume(
                ~(payload & CONTROL_BIT).any()
                | Cat(payload == code for code in (Control.IDLE, Control.START, Control.END, Control.READY)).any()
            ),
            register.rx_payload.eq(payload),
            register.rx_valid.eq(AnySeq(1)),
            register.enabled.eq(1),
            port.enabled.eq(1),
            port.coming.eq(register.coming),
            port.rx_symbol.eq(register.symbol),
            port.rx_kind.eq(register.kind),
            port.hub_id.eq(AnyConst(8)),
            port.crossbar.connected.eq(AnySeq(1)),
            port.crossbar.blocked.eq(AnySeq(1)),
            port.crossbar.clear.eq(~port.crossbar.blocked),
        ]

        came, left = Signal(5), Signal(5)  # symbols so far
        enters, ready_came = Signal(), Signal()
        with m.If(register.rx_valid):
            m.d.sync += [
                enters.eq((payload != Control.IDLE) & (payload != Control.READY)),
                ready_came.eq(payload == Control.READY),
            ]
        with m.Else():
            m.d.sync += [enters.eq(0), ready_came.eq(0)]
        which, word, known = Signal(4), Signal(SYMBOL_BITS), Signal()
        last = Signal(SYMBOL_BITS)
        m.d.sync += [last.eq(payload), came.eq(came + enters), left.eq(left + port.moved)]
        with m.If(enters & (came == which)):
            m.d.sync += [word.eq(last), known.eq(1)]
        m.d.comb += [
            which.eq(AnyConst(4)),
            Assert(~port.moved | (left < came + enters), "nothing leaves that has not come"),
            Assert(
                ~(port.moved & (left == which)) | (port.crossbar.beat.symbol == Mux(known, word, last)),
                "what came first leaves first, unchanged",
            ),
            Assert(
                port.send_ready == (port.moved & (port.crossbar.beat.symbol == Control.START)),
                "a ready signal is asked for when a start leaves",
            ),
            Assert(port.ready_arrived == ready_came),
            Assert(~port.crossbar.move | port.moved & ~port.crossbar.blocked),
            Assert((left == came) | port.held | port.moved | enters, "what has come and not left is held"),
        ]
        return m


PROOFS = [
    Proof(
        "input_side",
        "symbols leave in order, and ready signals with starts, in the first cycles after a reset",
        "H14, H15",
        holds={
            f"{depth} cycles {way} bypass": Attempt(
                lambda way=way: InputSideProof(way == "with", 24),
                mode="bmc",
                depth=depth,
                timeout=3600,
                nightly=depth > 9,
            )
            for depth in (9, 16)
            for way in ("without", "with")
        },
        search=Attempt(lambda: InputSideProof(True, 24), mode="bmc", depth=9),
        faults={
            "what passes the queue enters it, too": Fault(InputPort, "decoder.past", lambda was, s: 0),
            "a ready signal is asked for when a start arrives": Fault(
                InputPort, "send_ready", lambda was, s: s.rx_kind.frame | s.halt
            ),
            "what comes is not what passes": Fault(InputPort, "bypass.symbol", lambda was, s: s.coming),
        },
    )
]

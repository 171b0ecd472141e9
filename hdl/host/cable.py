"""The whole cable on the board's side: from the serial line to the CPU buses of CABs.

Source: docs/cable.md, which is ours.
"""

from amaranth.hdl import Module, ResetInserter
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..cab.bus_ports import CpuPort
from .deframer import Deframer
from .framer import Framer
from .host_controller import HostController, check_cabs
from .numbers import FRAME_WORDS
from .processor import Processor
from .uart_receiver import UartReceiver
from .uart_transmitter import UartTransmitter

__all__ = ["Cable"]


class Cable(wiring.Component):
    """Serial line, frames, conductor, and a processor for each CAB.

    Parameters
    ----------
    cabs : int
        CABs, 1 to 16.
    identity : list of int
        As in ``HostController``.
    bit_cycles : int
        Clock cycles of a bit on the line, 4 to 65536.

    Members
    -------
    rx : In(1), tx : Out(1)
        The line. ``rx`` is not synchronous to the clock.
    bus_0, bus_1, ... : In(CpuPort()), irq : In(cabs)
        The CABs.
    quiet : In(1)
        Nothing happens on the boards and on their fibers, and no timer runs.
    tick : Out(1)
        The boards' clock has an edge at the end of this cycle.
    reset : Out(1)
        The boards' reset.
    busy : Out(1)
        A request is being executed or answered.

    Timing
    ------
    ``tick`` depends on registers only. Inputs but ``rx`` matter at a tick, or in the cycle after.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(self, cabs, identity, bit_cycles):
        check_cabs(cabs)
        self.cabs = cabs
        self._receiver = UartReceiver(bit_cycles)
        self._transmitter = UartTransmitter(bit_cycles)
        self._conductor = HostController(cabs, identity)
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1, init=1),
                **{f"bus_{n}": In(CpuPort()) for n in range(cabs)},
                "irq": In(cabs),
                "quiet": In(1),
                "tick": Out(1),
                "reset": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = self._receiver
        m.submodules.deframer = deframer = Deframer()
        m.submodules.request = request = memory.Memory(shape=32, depth=FRAME_WORDS, init=[])
        m.submodules.conductor = conductor = self._conductor
        m.submodules.framer = framer = Framer()
        m.submodules.transmitter = transmitter = self._transmitter
        writing, reading = request.write_port(), request.read_port()
        connect(m, conductor.words, framer.words)
        connect(m, framer.bytes, transmitter.bytes)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            deframer.data.eq(receiver.data),
            deframer.valid.eq(receiver.valid),
            deframer.wrong.eq(receiver.wrong),
            deframer.hold.eq(conductor.hold),
            writing.addr.eq(deframer.address),
            writing.data.eq(deframer.word),
            writing.en.eq(deframer.write),
            reading.addr.eq(conductor.address),
            conductor.word.eq(reading.data),
            conductor.frame.eq(deframer.frame),
            conductor.length.eq(deframer.length),
            conductor.quiet.eq(self.quiet),
            self.tx.eq(transmitter.tx),
            self.tick.eq(conductor.tick),
            self.reset.eq(conductor.reset),
            self.busy.eq(conductor.busy | ~transmitter.bytes.ready | framer.bytes.valid),
        ]
        for n in range(self.cabs):
            processor = Processor()
            m.submodules[f"processor_{n}"] = ResetInserter(conductor.halt[n])(processor)
            connect(m, flipped(getattr(self, f"bus_{n}")), processor.bus)
            connect(m, processor.host, getattr(conductor, f"host_{n}"))
            m.d.comb += [
                processor.irq.eq(self.irq[n]),
                processor.tick.eq(conductor.tick),
                conductor.stall[n].eq(processor.stall),
                conductor.asleep[n].eq(processor.asleep),
            ]
        return m

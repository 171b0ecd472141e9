"""What cocotb benches are built from: clocks, lockstep with a reference model, sources, sinks and monitors.

======================  ==========================================================================
``StepClock``           a clock that the bench moves, a cycle at a time
``RunningClock``        a clock that runs by itself, with sources, sinks and monitors beside it
``begin``               a clock that runs by itself, inputs and reset, for a bench that awaits edges
``Lockstep``            a component compared with a model of it at each edge
``ports``               the top's pins, read and set as numbers
``StreamSource`` …      ports of ``amaranth.lib.stream``: payload, valid, ready
``FiberSource`` …       the same for a fiber's symbols: packets, commands, replies, ready signals
======================  ==========================================================================

A bench of a component with a stream on each side::

    clock = StepClock(dut)
    source = clock.attach(StreamSource(clock, "input", pause=0.3))
    sink = clock.attach(StreamSink(clock, "output", pause=0.5))
    await clock.start()
    source.send(range(100))
    assert await sink.take(100) == list(range(100))
"""

from .clock import RunningClock, StepClock, begin, start_clock
from .fiber import Decoded, FiberMonitor, FiberSink, FiberSource, decoded
from .lockstep import Lockstep, in_each_cycle
from .ports import Port, ports
from .stream import StreamMonitor, StreamSink, StreamSource

__all__ = [
    "FiberMonitor",
    "FiberSink",
    "FiberSource",
    "Lockstep",
    "Port",
    "RunningClock",
    "Decoded",
    "StepClock",
    "StreamMonitor",
    "StreamSink",
    "StreamSource",
    "begin",
    "in_each_cycle",
    "decoded",
    "ports",
    "start_clock",
]

"""Sources, sinks and monitors for the fibers of HUB and CAB (docs/wire.md): symbols of 9 bits, and what they mean.

A board's input ``rx`` has ``payload`` and ``valid`` and takes a symbol in any cycle; its output ``tx`` has ``ready``,
too. An idle is never offered: in a cycle without a symbol ``valid`` is 0.
"""

import random
from typing import NamedTuple

from nectar.hdl.link.symbol import COMMAND_LENGTH, CONTROL_BIT, Control, command, packet, reply

from .stream import StreamMonitor, StreamSink, StreamSource

__all__ = ["FiberMonitor", "FiberSink", "FiberSource", "Decoded", "decoded"]


class Decoded(NamedTuple):
    """Symbols taken apart.

    ``packets``: the bytes of each packet that has come to its end; ``commands``, ``replies``: the three bytes of each;
    ``readies``: number of ready signals; ``cut``: number of commands and replies that another control code cut short.
    """

    packets: list
    commands: list
    replies: list
    readies: int
    cut: int


def decoded(symbols):
    """Takes symbols apart, as ``Decoded``; a ready signal or a reply may stand anywhere, also inside of a packet."""
    packets, frames, readies, cut = [], {Control.COMMAND: [], Control.REPLY: []}, 0, 0
    data = frame = kind = None
    for symbol in symbols:
        if symbol == Control.READY:
            readies += 1
        elif frame is not None and not symbol & CONTROL_BIT:
            frame.append(symbol)
            if len(frame) == COMMAND_LENGTH - 1:
                frames[kind].append(tuple(frame))
                frame = None
        else:
            cut += frame is not None
            frame = None
            if symbol in frames:
                kind, frame = symbol, []
            elif symbol == Control.START:
                data = bytearray()
            elif data is not None and symbol == Control.END:
                packets.append(bytes(data))
                data = None
            elif data is not None and not symbol & CONTROL_BIT:
                data.append(symbol)
    return Decoded(packets, frames[Control.COMMAND], frames[Control.REPLY], readies, cut)


class FiberSource(StreamSource):
    """Symbols that arrive at a board.

    Parameters, members and timing are those of ``StreamSource``: ``pause`` is the chance of a gap before each symbol.
    """

    def send(self, symbols, gap=0.0):
        """Appends symbols; before each there are gaps of a cycle, each with the chance ``gap``."""
        for symbol in symbols:
            while random.random() < gap:
                self.queue.append(None)
            self.queue.append(int(symbol))

    def wait(self, cycles):
        """Appends so many cycles without a symbol."""
        self.queue.extend([None] * cycles)

    def send_packet(self, data):
        """Appends a packet with the bytes ``data``: start, bytes, end."""
        self.send(packet(data))

    def send_command(self, op, hub, param):
        """Appends a command, for the HUB with the ID ``hub``."""
        self.send(command(op, hub, param))

    def send_reply(self, op, hub, value, done=True):
        """Appends a reply, of the HUB with the ID ``hub``; ``done``: the command was done, not refused."""
        self.send(reply(op, hub, value, done))

    def send_ready(self):
        """Appends a ready signal."""
        self.send([Control.READY])


class FiberMonitor(StreamMonitor):
    """Looks at a fiber.

    Parameters, members and timing are those of ``StreamMonitor``: ``items`` are the symbols, ``times`` their cycles.

    Raises
    ------
    AssertionError
        As ``StreamMonitor``; and if an idle is offered.
    """

    def sample(self):
        """Looks at a cycle; returns the symbol that was offered in it, or None."""
        symbol = super().sample()
        assert symbol != Control.IDLE, f"cycle {self.clock.cycles}: {self.name} says idle"
        return symbol

    def decoded(self):
        """The symbols in ``items`` taken apart, as ``Decoded``."""
        return decoded(self.items)


class FiberSink(FiberMonitor, StreamSink):
    """Takes the symbols that leave a board.

    Parameters, members and timing are those of ``StreamSink``, what is raised is that of ``FiberMonitor``; ``pause``
    is the chance that the fiber takes nothing in a cycle.
    """

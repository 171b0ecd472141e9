"""Sequence charts of the paper's four examples on its Figure 7: every frame on every fiber of an engine run.

Source: "The Design of Nectar" (1989), sections 4.2.1 to 4.2.4; fact H17. The boards are RTL; the commands are those
that the datalink gives.
"""

from ...hdl.host.events import EventGroup
from ...hdl.hub.commands import Op
from ...hdl.link.symbol import COMMAND_LENGTH, Control, is_control
from ...sim.profile import PROTOTYPE
from ...sim.recorder import Recorder
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.system import System
from .sequence import Message, draw
from .timing import command_name

__all__ = ["circuit", "multicast_circuit", "multicast_packet", "packet", "traffic"]

_TEXT = b"hello, world"


async def _send(cab, destination, switching):
    await cab.datagram.send((destination, 1), _TEXT, switching)


async def _receive(cab):
    message = await cab.mailbox(1).receive()
    assert await message.read() == _TEXT
    message.free()


def traffic(sender, receivers, switching):
    """Sends a message from the CAB ``sender`` to one or more others; returns the Messages on all fibers."""
    topology = load("figure7")
    recorder = Recorder(groups=EventGroup.SYMBOLS)
    system = System.of(EngineMachine(topology, PROTOTYPE, recorder=recorder), topology, PROTOTYPE)
    try:
        numbers = [system.id_of(name) for name in receivers]
        system.spawn(sender, _send, numbers if len(numbers) > 1 else numbers[0], switching)
        for name in receivers:
            system.spawn(name, _receive)
        run = system.run()
        try:
            run.send(None)
        except StopIteration:
            pass
        names = {hub.id: hub.name for hub in topology.hubs.values()}
        with recorder.recording() as recording:
            return _messages(recording.events(), names)
    finally:
        system.close()
        recorder.close()


def _messages(events, hubs):
    """The Messages in events of symbols; ``hubs``: names of HUBs by ID."""
    fibers = {}
    for event in events:
        fibers.setdefault((event.fiber.sender, event.fiber.receiver), []).append((event.time_ps, event.symbol))
    found = []
    for (sender, receiver), symbols in fibers.items():
        ends = (sender.partition(".")[0], receiver.partition(".")[0])
        found += [Message(time, *ends, text, kind) for time, text, kind in _frames(symbols, hubs)]
    return sorted(found, key=lambda message: (message.time_ps, message.sender))


def _frames(symbols, hubs):
    """(time, words, kind) of each frame on one direction of a fiber."""
    signals = [time for time, symbol in symbols if symbol == Control.READY]
    yield from ((time, "ready", "ready") for time in signals)
    rest = [item for item in symbols if item[1] != Control.READY]
    while rest:
        (time, control), *_ = rest
        if control == Control.START:
            end = next(at for at, (_, symbol) in enumerate(rest) if symbol == Control.END)
            yield time, f"packet, {end - 1} bytes", "data"
            rest = rest[end + 1 :]
        else:
            assert control in (Control.COMMAND, Control.REPLY) and not any(
                is_control(symbol) for _, symbol in rest[1:COMMAND_LENGTH]
            ), "a frame is whole"
            opcode, hub, value = (symbol for _, symbol in rest[1:COMMAND_LENGTH])
            if control == Control.REPLY:
                yield time, f"reply of {hubs[hub]}: done", "reply"
            elif opcode == Op.CLOSE_ALL:
                yield time, command_name(opcode, value), "command"
            else:
                yield time, f"{command_name(opcode, value).partition(',')[0]}, {hubs[hub]} P{value}", "command"
            rest = rest[COMMAND_LENGTH:]


def _chart(name, title, description, boards, receivers, switching):
    return draw(name, title, description, boards, traffic(boards[0], receivers, switching))


_ONE = ("CAB3", "HUB2", "HUB1", "CAB1")
_TWO = ("CAB2", "HUB1", "HUB4", "CAB4", "HUB3", "CAB5")


def circuit():
    """Section 4.2.1."""
    return _chart(
        "sequence-circuit",
        "Circuit switching: CAB3 sends to CAB1",
        "CAB3 sends an open retry for HUB2 and an open retry reply for HUB1. HUB2 takes out the first command, opens "
        "the connection and passes on the second. The reply of HUB1 comes back to CAB3 along the route. Then CAB3 "
        "sends the packet and a close all, which closes the connections behind the data. Each board answers the "
        "start of the packet with a ready signal.",
        _ONE,
        ["CAB1"],
        "circuit",
    )


def multicast_circuit():
    """Section 4.2.2."""
    return _chart(
        "sequence-multicast-circuit",
        "Circuit switching for multicast: CAB2 sends to CAB4 and CAB5",
        "CAB2 sends four opens: to HUB1 for P6, to HUB4 for P5 with reply, to HUB4 for P3, to HUB3 for P4 with "
        "reply. Two replies come back. Then CAB2 sends one packet and a close all. HUB4 passes both on to CAB4 and "
        "to HUB3, and HUB3 to CAB5.",
        _TWO,
        ["CAB4", "CAB5"],
        "circuit",
    )


def packet():
    """Section 4.2.3."""
    return _chart(
        "sequence-packet",
        "Packet switching: CAB3 sends to CAB1",
        "CAB3 sends a test open retry for HUB2, another for HUB1, the packet and a close all, one behind the other, "
        "and waits for no reply. Each HUB takes out the command that is for it and passes on the rest as soon as its "
        "neighbour is ready. Each board answers the start of the packet with a ready signal.",
        _ONE,
        ["CAB1"],
        "packet",
    )


def multicast_packet():
    """Section 4.2.4."""
    return _chart(
        "sequence-multicast-packet",
        "Packet switching for multicast: CAB2 sends to CAB4 and CAB5",
        "CAB2 sends four test open retry commands, for P6 of HUB1, P5 and P3 of HUB4 and P4 of HUB3, then the packet "
        "and a close all. HUB4 passes the packet on to CAB4 and to HUB3 at once. Each board answers the start of the "
        "packet with a ready signal.",
        _TWO,
        ["CAB4", "CAB5"],
        "packet",
    )

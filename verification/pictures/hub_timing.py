"""Timing diagrams of a HUB, from simulations of its RTL: docs/timing.md.

They show the profile ``prototype``; the first three can show another, too. A HUB of four ports with ID 1; fibers take a
symbol in every cycle. Sources: facts H2, H3, H9, H12, H13, H15.
"""

from ...hdl.hub.commands import Op
from ...hdl.hub.profile import PROTOTYPE
from ...hdl.link.symbol import ANY_HUB, Control, command, packet
from .scope import HUB_ID, arrives, crosses, leaves, owner, ready_bit, record, registered
from .timing import Bits, Measure, States, Symbols, draw

__all__ = ["close_all", "flow_control", "reply", "retry", "set_up", "transfer"]

_CLOSE = command(Op.CLOSE_ALL, ANY_HUB, 0)


def _open(op, port):
    return command(op, HUB_ID, port)


def _name(what, profile):
    """Of the picture's file."""
    return f"timing-{what}" if profile is PROTOTYPE else f"timing-{profile.name}-{what}"


def _title(what, profile):
    return what if profile is PROTOTYPE else f"{what}, profile {profile.name}"


def _at(cycle, symbols):
    return {cycle + n: symbol for n, symbol in enumerate(symbols)}


def _first(values, symbol, begin=0):
    """The cycle at which ``symbol`` is there for the first time from ``begin`` on."""
    return values.index(symbol, begin)


def transfer(profile=PROTOTYPE):
    """H3: a byte on an established connection."""
    at = 30
    seen = record(
        {0: _at(0, _open(Op.OPEN_RETRY, 1)) | {at: 0xA5, at + 1: 0x3C, at + 4: 0x77}},
        {"in": arrives(0), "register": registered(0), "crossbar": crosses(1), "out": leaves(1)},
        60,
        profile,
    )
    left = _first(seen["out"], 0xA5)
    return draw(
        _name("transfer", profile),
        _title("Transfer of bytes on an established connection", profile),
        f"Port 0 of a HUB is connected to port 1. The byte A5 is valid at the input pins of port 0 in cycle 0. It is "
        f"in the input register in cycle {_first(seen['register'], 0xA5) - at}, crosses the crossbar in cycle "
        f"{_first(seen['crossbar'], 0xA5) - at} and is valid at the output pins of port 1 in cycle {left - at}. "
        f"The bytes behind it keep their distances.",
        [
            Symbols("port_0.rx", "input pins", seen["in"]),
            Symbols("register_0", "input register", seen["register"]),
            Symbols("crossbar", "to output 1", seen["crossbar"]),
            Symbols("port_1.tx", "output pins", seen["out"]),
        ],
        [Measure(at, left, "transfer")],
        at,
        at - 1,
        left + 6,
    )


def set_up(profile=PROTOTYPE):
    """H2: the first symbol of a packet behind its open."""
    at = 10
    seen = record(
        {0: _at(at - 4, _open(Op.OPEN_RETRY, 1) + packet([0xA5, 0x3C]))},
        {"in": arrives(0), "owner": owner(1), "crossbar": crosses(1), "out": leaves(1)},
        40,
        profile,
    )
    left = _first(seen["out"], Control.START)
    return draw(
        _name("set-up", profile),
        _title("Set-up of a connection, and transfer of the first symbol", profile),
        f"An open with retry for port 1 arrives at port 0, and a packet in the next cycle. The start of the packet "
        f"is valid at the input pins in cycle 0. The connection stands in the status table in cycle "
        f"{_first(seen['owner'], 0) - at}. The start is valid at the output pins of port 1 in cycle {left - at}.",
        [
            Symbols("port_0.rx", "input pins", seen["in"], frames=True),
            States("output 1", "is connected to", seen["owner"], "port {}"),
            Symbols("crossbar", "to output 1", seen["crossbar"]),
            Symbols("port_1.tx", "output pins", seen["out"]),
        ],
        [Measure(at, left, "set-up and transfer")],
        at,
        at - 5,
        left + 4,
    )


def retry(profile=PROTOTYPE):
    """H9: an open that waits for an output that is taken."""
    at, end = 40, 52
    seen = record(
        {
            2: _at(0, _open(Op.OPEN_RETRY, 1)) | _at(end, _CLOSE),
            0: _at(at, _open(Op.OPEN_RETRY_REPLY, 1)),
        },
        {"in": arrives(0), "owner": owner(1), "out": leaves(1), "back": leaves(0)},
        100,
        profile,
    )
    closes = _first(seen["out"], Control.COMMAND, at)
    free = _first(seen["owner"], None, at)
    granted = _first(seen["owner"], 0, free)
    answered = _first(seen["back"], Control.REPLY, at)
    return draw(
        _name("retry", profile),
        _title("An open with retry and reply waits for its output", profile),
        f"Output 1 is connected to port 2 when an open with retry and reply for it arrives at port 0 in cycle 0. The "
        f"command waits. Port 2 ends its transfer with a close all, which leaves port 1 from cycle {closes - at} on. "
        f"The output is free in cycle {free - at}, is connected to port 0 in cycle {granted - at}, and the reply "
        f"leaves port 0 from cycle {answered - at} on.",
        [
            Symbols("port_0.rx", "input pins", seen["in"], frames=True),
            Symbols("port_1.tx", "output pins", seen["out"], frames=True),
            States("output 1", "is connected to", seen["owner"], "port {}"),
            Symbols("port_0.tx", "output pins", seen["back"], frames=True),
        ],
        [Measure(free, granted, "free until granted"), Measure(granted, answered, "granted until replied")],
        at,
        at - 1,
        answered + 4,
    )


def reply():
    """H12: a reply that goes back against a connection, into a stream of the other direction."""
    at = 60
    data = [0xA0 + n for n in range(7)]
    seen = record(
        {
            0: _at(0, _open(Op.OPEN_RETRY, 1)),
            2: _at(20, _open(Op.OPEN_RETRY, 0)) | _at(at + 6, data),
            1: _at(at, [Control.REPLY, Op.OPEN_RETRY_REPLY, 2, 8]),
        },
        {"reply": arrives(1), "data": arrives(2), "out": leaves(0)},
        110,
    )
    sent = [(cycle, symbol) for cycle, symbol in enumerate(seen["out"]) if symbol is not None and cycle >= at]
    first = _first(seen["out"], Control.REPLY, at)
    before = [cycle for cycle, _ in sent].index(first)
    assert [symbol for _, symbol in sent if symbol in data] == data, "the stream is whole"
    return draw(
        "timing-reply",
        "A reply steals cycles of the data that go its way",
        f"Port 0 is connected to output 1, port 2 to output 0. A reply of another HUB arrives at port 1 in cycle 0 "
        f"and goes back to port 0, against the connection. It leaves port 0 from cycle {first - at} on, behind "
        f"{before} bytes of the stream from port 2. The other bytes wait for four cycles; none is lost.",
        [
            Symbols("port_1.rx", "input pins", seen["reply"], frames=True),
            Symbols("port_2.rx", "input pins", seen["data"]),
            Symbols("port_0.tx", "output pins", seen["out"], frames=True),
        ],
        [Measure(at, first, "the reply's way through the HUB")],
        at,
        at - 1,
        sent[-1][0] + 1,
    )


def close_all():
    """H13: a close all that closes the connection behind the data."""
    at = 30
    seen = record(
        {0: _at(0, _open(Op.OPEN_RETRY, 1)) | _at(at, [0xA5, 0x3C, *_CLOSE])},
        {"in": arrives(0), "out": leaves(1), "owner": owner(1)},
        70,
    )
    last = _first(seen["out"], ANY_HUB, at) + 1
    free = _first(seen["owner"], None, at)
    return draw(
        "timing-close-all",
        "A close all closes the connection behind the data",
        f"Two bytes and a close all arrive at port 0, which is connected to output 1. The close all waits until all "
        f"of it has arrived, leaves behind the data, and its last symbol is valid at the output pins of port 1 in "
        f"cycle {last - at}. The connection is gone from the status table in cycle {free - at}.",
        [
            Symbols("port_0.rx", "input pins", seen["in"], frames=True),
            Symbols("port_1.tx", "output pins", seen["out"], frames=True),
            States("output 1", "is connected to", seen["owner"], "port {}"),
        ],
        [Measure(last, free, "last symbol until closed")],
        at,
        at - 1,
        free + 3,
    )


def flow_control():
    """H15: the ready bit lets the second packet pass when the neighbour has begun to pass on the first."""
    at, answer = 10, 44
    one, two = packet([]), packet([])
    seen = record(
        {
            0: _at(at - 4, _open(Op.TEST_OPEN_RETRY, 1) + one + _open(Op.TEST_OPEN_RETRY, 1) + two),
            1: {answer: Control.READY},
        },
        {"in": arrives(0), "back": leaves(0), "out": leaves(1), "ready": ready_bit(1), "signal": arrives(1)},
        80,
    )
    low = _first(seen["ready"], 0)
    again = _first(seen["out"], Control.START, answer)
    return draw(
        "timing-flow-control",
        "Flow control of packets by the ready bit",
        f"Two packets arrive at port 0, each behind a test open with retry for output 1. The start of the first "
        f"leaves port 1 in cycle {_first(seen['out'], Control.START) - at}. It sets the ready bit of output 1 to 0, "
        f"and port 0 sends ready back to its own neighbour. The second test open waits. The ready signal of the next "
        f"board arrives at port 1 in cycle {answer - at}, and the second packet leaves {again - answer} cycles later.",
        [
            Symbols("port_0.rx", "input pins", seen["in"], frames=True),
            Symbols("port_0.tx", "output pins", seen["back"]),
            Symbols("port_1.tx", "output pins", seen["out"]),
            Bits("output 1", "ready bit", seen["ready"]),
            Symbols("port_1.rx", "input pins", seen["signal"]),
        ],
        [
            Measure(_first(seen["out"], Control.START), low, "start until the bit is 0"),
            Measure(answer, again, "ready signal until the next start"),
        ],
        at,
        at,
        again + 2,
    )

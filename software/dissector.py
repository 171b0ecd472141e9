"""The Wireshark dissector: ``dissector.lua`` with the tables of commands and protocols in front."""

from pathlib import Path

from ..hdl.cab.addresses import CRC_BYTES, HEADER_BYTES
from ..hdl.hub.commands import COMMANDS, HELLO, HELLO_ASK, Error, Group
from .packet import (
    ANY_CAB,
    ASK,
    LAST_FRAGMENT,
    WINDOW_UNIT,
    ChannelKind,
    Flag,
    PacketKind,
    Protocol,
    Reason,
    Refusal,
)

__all__ = ["lua"]

#: Kinds of frames of a packet file, as ``sim.packetfile.FrameKind`` has them.
_FRAMES = {"PACKET": 1, "COMMAND": 2, "REPLY": 3}
_PLACE = "--@TABLES@\n"


def _words(name):
    return name.lower().replace("_", " ")


def _table(name, rows):
    """A table of Lua: numbers → texts, or → true."""
    items = ", ".join(f'[{key}] = "{value}"' if isinstance(value, str) else f"[{key}] = true" for key, value in rows)
    return f"local {name} = {{ {items} }}"


def lua():
    """The text of the dissector."""
    parameter = {int(row.op): row.parameter for row in COMMANDS}
    to_port = [op for op, text in parameter.items() if text in ("output port", "port", "input port")]
    forced = [op for op, text in parameter.items() if "| 0x80" in text]
    opens = [int(row.op) for row in COMMANDS if row.op >> 4 == Group.OPEN]
    closes = [int(row.op) for row in COMMANDS if row.name.startswith("close all")]
    numbers = {
        **{f"FRAME_{name}": value for name, value in _FRAMES.items()},
        **{f"PROTOCOL_{item.name}": item for item in Protocol},
        **{f"KIND_{item.name}": item for item in PacketKind},
        **{f"CHANNEL_{item.name}": item for item in ChannelKind},
        **{f"FLAG_{item.name}": item for item in Flag},
        "HEADER_BYTES": HEADER_BYTES,
        "CRC_BYTES": CRC_BYTES,
        "ANY_CAB": ANY_CAB,
        "ASK": ASK,
        "LAST_FRAGMENT": LAST_FRAGMENT,
        "WINDOW_UNIT": WINDOW_UNIT,
    }
    tables = [
        *(f"local {name} = {int(value)}" for name, value in numbers.items()),
        _table("COMMANDS", [(int(row.op), row.name) for row in COMMANDS]),
        _table("TO_PORT", [(op, None) for op in to_port]),
        _table("FORCED", [(op, None) for op in forced]),
        _table("OPENS", [(op, None) for op in opens]),
        _table("CLOSES", [(op, None) for op in closes]),
        _table("HELLOS", [(HELLO, "hello"), (HELLO_ASK, "hello, to be answered,")]),
        _table("ERRORS", [(int(item), _words(item.name)) for item in Error]),
        _table("PROTOCOLS", [(int(item), _words(item.name)) for item in Protocol]),
        _table("PACKET_KINDS", [(int(item), item.name) for item in PacketKind]),
        _table("CHANNEL_KINDS", [(int(item), item.name) for item in ChannelKind]),
        _table("STREAM_FLAGS", [(int(item), item.name) for item in Flag]),
        _table("REFUSALS", [(int(item), _words(item.name)) for item in Refusal]),
        _table("REASONS", [(int(item), _words(item.name)) for item in Reason]),
    ]
    body = (Path(__file__).parent / "dissector.lua").read_text()
    before, place, behind = body.partition(_PLACE)
    assert place
    return before + "\n".join(tables) + "\n" + behind

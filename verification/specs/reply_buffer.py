"""Specification of hdl/hub/port/reply_buffer.py: H12; docs/hub.md, "Replies". It tells which replies there are. A bench
compares all their bytes, a proof follows one of them."""

from nectar.hdl.hub.port.reply_buffer import ARRIVED_ROOM
from nectar.hdl.link.symbol import COMMAND_LENGTH

from .spec import Spec, choose

__all__ = ["ReplyBufferSpec"]

_LAST = COMMAND_LENGTH - 1


class ReplyBufferSpec(Spec):
    """``level``: replies that wait, all of whose bytes have come. ``no_room``: the reply that is coming found none."""

    inputs = ("place", "strobe", "source__pop")
    state = {"level": (3, 0), "no_room": (1, 0)}

    def outputs(self, s, i):
        """A reply is lost, and told, if there was no room when its first byte came. ``kept``: it is complete."""
        completes = i.strobe & (i.place == _LAST)
        return {
            "source__valid": s.level != 0,
            "lost": completes & s.no_room,
            "kept": completes & (s.no_room == 0),
        }

    def following(self, s, i):
        """The oldest may leave, and the reply that is kept comes."""
        begins = i.strobe & (i.place == 1)
        return {
            "level": s.level + self.outputs(s, i)["kept"] - i.source__pop,
            "no_room": choose(begins, s.level == ARRIVED_ROOM, s.no_room),
        }

"""Specification of hdl/hub/port/reply_sender.py: H12; docs/hub.md, "Replies". It tells what is sent when. A bench
compares all bytes of replies, a proof follows one of them."""

from nectar.hdl.hub.port.reply_sender import REPLY_ROOM
from nectar.hdl.link.symbol import COMMAND_LENGTH

from .spec import Spec, choose

__all__ = ["ReplySenderSpec"]

_LAST = COMMAND_LENGTH - 1


class ReplySenderSpec(Spec):
    """``level``: replies that wait, the one that is being sent included. ``come``: place of the next byte of a reply.
    ``at``: place of the symbol that is sent next. ``own``: the answer is being sent, or was sent last."""

    inputs = ("push", "take", "answer__valid")
    state = {"level": (3, 0), "come": (2, 1), "at": (2, 0), "own": (1, 0)}

    def outputs(self, s, i):
        """Replies and answers take turns. ``keeps``: the byte that comes is kept. ``sends_own``: the symbol is of the
        answer."""
        full = s.level == REPLY_ROOM
        turn = i.answer__valid & ((s.own == 0) | (s.level == 0))
        own = choose(s.at == 0, turn, s.own)
        return {
            "full": full,
            "waiting": (s.level != 0) | (i.answer__valid != 0),
            "answer__ready": i.take & (s.at == _LAST) & s.own,
            "keeps": i.push & ((s.come != 1) | (full == 0)),
            "sends_own": own,
        }

    def following(self, s, i):
        """A reply leaves with its last symbol, and counts from its last byte on."""
        shown = self.outputs(s, i)
        keeps, last = shown["keeps"], i.take & (s.at == _LAST)
        return {
            "level": s.level + (keeps & (s.come == _LAST)) - (last & (s.own == 0)),
            "come": choose(keeps, choose(s.come == _LAST, 1, s.come + 1), s.come),
            "at": s.at + i.take,
            "own": choose(i.take, shown["sends_own"], s.own),
        }

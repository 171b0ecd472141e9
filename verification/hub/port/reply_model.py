"""Model of the replies of a port (hdl/hub/port/reply_sender.py), for its bench and that of the whole output port."""

from collections import deque

from nectar.hdl.hub.port.reply_sender import REPLY_ROOM
from nectar.hdl.link.symbol import Control
from nectar.verification.specs.reply_sender import ReplySenderSpec
from nectar.verification.specs.spec import Follower

__all__ = ["ReplyModel"]


class ReplyModel:
    """What is sent when, as specified; the replies that wait, and the answer."""

    def __init__(self):
        self.spec = Follower(ReplySenderSpec())
        self.replies = deque()  # bytes
        self.coming = []
        self.answer = None
        self.seen = {"own": 0, "other": 0, "own in turn": 0, "other in turn": 0, "refused": 0}

    @property
    def waiting(self):
        """Whether there is a symbol to send."""
        return bool(self.replies or self.answer)

    @property
    def full(self):
        """Whether four replies wait, the one that is being sent included."""
        return len(self.replies) == REPLY_ROOM

    def step(self, inputs):
        """What is next; then what goes and what comes."""
        at, shown = self.spec.state.at, self.spec.step(inputs)
        keeps, own = shown.pop("keeps"), bool(shown.pop("sends_own"))
        symbols = [Control.REPLY, *((self.answer if own else self.replies[0]) if self.waiting else ())]
        shown["symbol"] = 0 if inputs["muted"] else symbols[at] if self.waiting else None
        self.seen["refused"] += inputs["push"] and shown["full"]
        if inputs["take"] and at == 0:
            self.seen["own" if own else "other"] += 1
            if self.answer and self.replies:
                self.seen["own in turn" if own else "other in turn"] += 1
        if inputs["take"] and at == len(symbols) - 1:
            if own:
                self.answer = None
            else:
                self.replies.popleft()
        if keeps:
            self.coming.append(inputs["byte"])
            if len(self.coming) == 3:
                self.replies.append(bytes(self.coming))
                self.coming = []
        return shown

"""Models of a HUB with one fault each, which the reference model must find."""

from nectar.hdl.hub.commands import HELLO, Error, Group, Op
from nectar.hdl.link.symbol import Control

from .cycle_model import CycleModel

__all__ = ["FAULTY"]


class IgnoresReadyBit(CycleModel):
    """Test open succeeds without a ready signal."""

    def _must_wait(self, port, row, param):
        return (
            self.owner[param] not in (None, port) if row.group is Group.OPEN else super()._must_wait(port, row, param)
        )


class TakesAway(CycleModel):
    """An open takes an output from the input that has it."""

    def _blocked(self, port, row, o):
        return None if self.now % 7 == 0 and any(p.hold for p in self.ports) else super()._blocked(port, row, o)


class ClosesAtTheHead(CycleModel):
    """Close all closes as it leaves the queue: it overtakes what is held up in front of it."""

    def _pass(self, port):
        super()._pass(port)
        if port.closing and not port.passing:
            self._close(port.index, Op.CLOSE_MINE, 0)


class ForgetsReady(CycleModel):
    """No ready for a start that is dropped."""

    def _pass(self, port):
        before = port.readies
        super()._pass(port)
        if not self.targets(port.index):
            port.readies = before


class RefusesFree(CycleModel):
    """An open that does not wait is refused although the output is free."""

    def _error(self, port, row, op, param):
        return Error.BUSY if op == Op.OPEN and param < self.size else super()._error(port, row, op, param)


class UnevenCopies(CycleModel):
    """A multicast leaves out outputs that are not ready."""

    def _pass(self, port):
        kept = list(self.owner)
        targets = self.targets(port.index)
        if any(self.ports[o].crossbar is None for o in targets):
            for o in targets:
                self.owner[o] = port.index if self.ports[o].crossbar is None else None
        super()._pass(port)
        self.owner = kept


class ChangesAnswers(CycleModel):
    """Changes answers."""

    def changed(self, port, op, answer):
        """The answer that is given instead."""
        return answer

    def _answer(self, port, op, answer):
        return super()._answer(port, op, self.changed(port.index, op, answer))


class CountsNothing(ChangesAnswers):
    """Errors are not counted."""

    def changed(self, port, op, answer):
        return answer._replace(value=0) if op == Op.STATUS_ERRORS else answer


class WrongError(ChangesAnswers):
    """An unknown opcode is answered with the wrong code."""

    def changed(self, port, op, answer):
        return answer._replace(value=Error.BUSY) if answer == (False, Error.UNKNOWN) else answer


class StaleStatus(ChangesAnswers):
    """The status table shows its reader as the one that is connected."""

    def changed(self, port, op, answer):
        return answer._replace(value=0x80 | port) if op == Op.STATUS_OUTPUT and answer.done else answer


class LockOfAnybody(CycleModel):
    """A lock is granted to everybody."""

    def _must_wait(self, port, row, param):
        return row.group is Group.OPEN and super()._must_wait(port, row, param)

    def _error(self, port, row, op, param):
        error = super()._error(port, row, op, param)
        return None if error == Error.LOCKED else error


class LockThatKeepsNobodyOut(CycleModel):
    """Opens do not look at locks."""

    def _blocked(self, port, row, o):
        error = super()._blocked(port, row, o)
        return None if error == Error.LOCKED else error


class LockThatKeepsItsUserOut(CycleModel):
    """An open of what the input has looks at the lock."""

    def _blocked(self, port, row, o):
        return (
            Error.BUSY if self.owner[o] == port and self.lock[o] not in (None, port) else super()._blocked(port, row, o)
        )


class ClosesByAccident(CycleModel):
    """A reply to close all reply closes nothing."""

    def _pass_reply(self, port, frame):
        owner = self.owner[port.index]
        super()._pass_reply(port, frame)
        self.owner[port.index] = owner


class FlushWithoutReady(CycleModel):
    """A flush sends no ready signal."""

    def _flush(self, port):
        super()._flush(port)
        port.readies -= 1


class PassesHello(CycleModel):
    """A neighbour's hello is passed on like other replies."""

    def _pass_reply(self, port, frame):
        owner = self.owner[port.index]
        super()._pass_reply(port, frame)
        if frame[0] == HELLO and owner is not None:
            self.ports[owner].replies.append([int(Control.REPLY), *frame])


class ForgetsToUnlock(CycleModel):
    """Unlock mine leaves a lock."""

    def _lock(self, port, op, param):
        return param if op == Op.UNLOCK_MINE else super()._lock(port, op, param)


#: All of them.
FAULTY = [
    IgnoresReadyBit,
    TakesAway,
    ClosesAtTheHead,
    ForgetsReady,
    RefusesFree,
    UnevenCopies,
    CountsNothing,
    WrongError,
    StaleStatus,
    LockOfAnybody,
    LockThatKeepsNobodyOut,
    LockThatKeepsItsUserOut,
    ClosesByAccident,
    FlushWithoutReady,
    PassesHello,
    ForgetsToUnlock,
]

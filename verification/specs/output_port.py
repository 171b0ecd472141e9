"""Specification of hdl/hub/port/output_port.py: H12, H13, H15; docs/hub.md, "Output side of a port".

A beat is a symbol, and in bit 9 whether the symbol is the last of a close all. Replies come from the reply sender,
which has its own specification: ``reply_waiting``, ``reply_symbol``.
"""

from types import SimpleNamespace

from nectar.hdl.hub.port.output_port import READY_LIMIT
from nectar.hdl.link.symbol import SYMBOL_BITS, Control

from .spec import Spec, Where, choose

__all__ = ["MOST_BEATS", "OutputPortSpec"]

#: Beats that have come through the crossbar and not left, at most.
MOST_BEATS = 3
_SYMBOL = (1 << SYMBOL_BITS) - 1


def _is_start(beat):
    return (beat & _SYMBOL) == Control.START


class OutputPortSpec(Spec):
    """An output port with the crossbar's ``register``, or with a skid buffer.

    ``beat_0`` and so on, ``count``: beats that have come through the crossbar and not left, the oldest first.
    ``symbol``: the symbol in the output register, if ``valid`` is 1. In the place beside the register:
    ``inserted_symbol``, if ``inserted`` is 1, or the oldest beat, if ``beside`` is 1. ``readies``: ready signals to
    send. ``started``, ``closed``: a start, or the last symbol of a close all whose connection stands, has entered the
    output register in the cycle before.
    """

    inputs = (
        "push",
        "beat",
        "tx__ready",
        "looped",
        "send_ready",
        "repair",
        "ready_arrived",
        "ready_set",
        "ready_clear",
        "ended",
        "reply_waiting",
        "reply_symbol",
    )
    state = {
        **{f"beat_{n}": (SYMBOL_BITS + 1, 0) for n in range(MOST_BEATS)},
        "count": (2, 0),
        "valid": (1, 0),
        "symbol": (SYMBOL_BITS, 0),
        "inserted": (1, 0),
        "inserted_symbol": (SYMBOL_BITS, 0),
        "beside": (1, 0),
        "readies": (READY_LIMIT.bit_length(), 0),
        "started": (1, 0),
        "closed": (1, 0),
        "ready_bit": (1, 1),
    }

    def __init__(self, register):
        self.register = register

    def moves(self, s, i):
        """What happens in a cycle: the output register ``loads``; the oldest beat ``comes`` to it, or to the place
        beside it, and ``leaves``; a ready signal or a symbol of a reply is inserted."""
        loads = (s.valid == 0) | i.tx__ready | i.looped
        there = s.count != 0 if self.register else (s.count != 0) | i.push
        comes = (s.inserted == 0) & (s.beside == 0) & there
        return SimpleNamespace(
            loads=loads,
            comes=comes,
            oldest=choose(s.count != 0, s.beat_0, i.beat),
            leaves=loads & (s.inserted == 0) & (s.beside | comes),
            takes_ready=loads & (s.readies != 0),
            takes_reply=loads & (s.readies == 0) & i.reply_waiting,
        )

    def outputs(self, s, i):
        """``takes_reply``: a symbol is taken from the reply sender. The output is ready while no start is on its
        way."""
        beats = [(s.count > n) & _is_start(getattr(s, f"beat_{n}")) for n in range(MOST_BEATS)]
        starts = s.started | beats[0] | beats[1] | beats[2]
        return {
            "tx__valid": s.valid & (i.looped == 0),
            "loop_valid": s.valid & i.looped,
            "tx__payload": Where(s.valid, s.symbol),
            "loop_symbol": Where(s.valid, s.symbol),
            "space": s.count - s.beside < 2,
            "ready": s.ready_bit & (starts == 0),
            "ready_bit": s.ready_bit,
            "closed": s.closed,
            "busy": s.valid | s.inserted | s.closed | i.reply_waiting | (s.count != 0) | (s.readies != 0),
            "takes_reply": self.moves(s, i).takes_reply,
        }

    def following(self, s, i):
        """The output register takes what stands beside it, else the oldest beat; the place beside it is filled anew
        with each load. Where a connection has ended no close all is left."""
        now = self.moves(s, i)
        end = s.count - now.leaves
        beats = {}
        for n in range(MOST_BEATS):
            behind = getattr(s, f"beat_{n + 1}") if n + 1 < MOST_BEATS else 0
            kept = choose(now.leaves, behind, getattr(s, f"beat_{n}"))
            beat = choose(i.push & (end == n), i.beat, kept)
            beats[f"beat_{n}"] = choose(i.ended, beat & _SYMBOL, beat)
        inserts = now.takes_ready | now.takes_reply
        readies = s.readies + i.send_ready + i.repair - now.takes_ready
        loaded = choose(s.inserted, s.inserted_symbol, now.oldest & _SYMBOL)
        inserted_symbol = choose(now.takes_ready, int(Control.READY), i.reply_symbol)
        return beats | {
            "count": end + i.push,
            "valid": choose(now.loads, s.inserted | now.leaves, s.valid),
            "symbol": choose(now.loads, loaded, s.symbol),
            "inserted": choose(now.loads, inserts, s.inserted),
            "inserted_symbol": choose(inserts, inserted_symbol, s.inserted_symbol),
            "beside": choose(now.loads, 0, s.beside | now.comes if self.register else 0),
            "readies": choose(readies > READY_LIMIT, READY_LIMIT, readies),
            "started": now.leaves & _is_start(now.oldest),
            "closed": now.leaves & (now.oldest >> SYMBOL_BITS & 1) & (i.ended == 0),
            "ready_bit": choose(s.started | i.ready_clear, 0, choose(i.ready_set | i.ready_arrived, 1, s.ready_bit)),
        }

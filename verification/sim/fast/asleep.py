"""Runs in which boards nap against the same ones in which none does."""

from ....hdl.host.events import EventGroup
from ....sim.recorder import Recorder
from ..traffic import run

__all__ = ["asleep_and_awake", "finish"]


def asleep_and_awake(play, *arguments, **options):
    """Plays twice: with naps, and with all symbols recorded, in which case no board naps. Fails unless both runs are
    the same.

    ``play(*arguments, **options)`` returns what is to be the same, and of some boards at how many edges each has
    napped, a list. Returns these two of the run with naps."""
    naps, napped = play(*arguments, **options)
    awake, none = play(*arguments, **options, recorder=Recorder(groups=EventGroup.SYMBOLS))
    assert naps == awake, arguments
    assert not any(none)
    return naps, napped


def finish(machine, until_ps, *boards):
    """Runs ``machine``, an EngineMachine, until then and closes it; returns at how many edges each of these boards has
    napped."""
    run(machine, until_ps)
    napped = [machine.engine.napped(board) for board in boards]
    machine.close()
    return napped

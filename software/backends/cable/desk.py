"""Lone CABs on the fibers of real HUBs: whether they are where they should be, and a clean start.

``docs/cable.md``, "Boards with one CAB", tells what is done and why.
"""

from ....hdl.cab.addresses import REG
from ....hdl.hub.commands import REPLY, Op
from ....hdl.link.symbol import ANY_HUB
from ...datalink.options import Options
from ...datalink.route import command_word
from ...errors import CableError

__all__ = ["OPTIONS", "WATCHDOG", "settle"]

#: Times of the datalink for CABs each of which may stand still for some tens of milliseconds while the others go on. No
#: circuits, whose packets wait for nobody; and no ready signals that no packet has asked for: a packet may wait in
#: front of a CAB that stood still when it came.
OPTIONS = Options(
    watch_us=20_000,
    ready_us=2_000_000,
    stall_us=1_000_000,
    reply_us=200_000,
    look_us=2_000,
    suspect_us=200_000,
    spare_ready=False,
    circuits=False,
)
#: Binary logarithm of the watchdog's time of HUBs that CABs hang on, in cycles: a second or so.
WATCHDOG = 26

_COMMAND, _REPLY = REG["TX_COMMAND"], REG["REPLY"]
#: How often a HUB is asked, how often its answer is looked for, CPU cycles before each look.
_ATTEMPTS, _LOOKS, _CYCLES = 4, 8, 1000


def settle(machine, topology):
    """Sees to it that the CABs of a CableMachine hang where ``topology`` says, that their HUBs' ports are as after a
    reset, and their boards, too.

    Raises CableError.
    """
    places = {}
    for name in machine.doors:
        ((_, end),) = topology.neighbours(name)
        if end.port is None:
            raise CableError(
                f"{topology.name}: {name} hangs on no HUB, so that no HUB could take its packets; wire it to one"
            )
        places[name] = end
    # Twice: what waited in one port's queue may have gone to another's CAB when that was made ready.
    for look in (_look, _reset):
        ended = []

        async def main(look, board, name, ended=ended):
            end = places[name]
            await look(board, name, topology.hubs[end.board].id, end)
            ended.append(name)

        for board in machine.boards:
            board.reset()
            for name in board.names:
                machine.start(name, main(look, board, name))
        try:
            machine.run(lambda ended=ended: len(ended) == len(places)).send(None)
        except StopIteration:
            pass
    for board in machine.boards:
        board.reset()


async def _look(board, name, hub, end):
    """Looks where the CAB hangs, makes its port as new, and has its HUB be patient."""
    door, path = board.doors[name], board.line.path
    # What stands before the question, and perhaps waits for somebody, goes.
    door.write(_COMMAND.address, command_word(Op.FLUSH_REPLY, hub, end.port))
    word = await _ask(door, Op.IDENTITY_REPLY, ANY_HUB)
    if word is None:
        raise CableError(
            f"{path}: no HUB answers on the fiber of {name}; is it wired to a board with the top 'hub', at the same "
            f"rate?"
        )
    found = _REPLY.hub.get(word), _REPLY.value.get(word)
    if found != (hub, end.port):
        raise CableError(
            f"{path}: {name} hangs on port P{found[1]} of the HUB with ID {found[0]}, but by the topology on {end}, "
            f"whose ID is {hub}"
        )
    await _reset(board, name, hub, end)
    await _done(board, name, Op.WATCHDOG_TIME_REPLY, hub, WATCHDOG)


async def _reset(board, name, hub, end):
    """Empties the queue of the CAB's port, closes its connections, sets its ready bit."""
    await _done(board, name, Op.RESET_PORT_REPLY, hub, end.port)


async def _done(board, name, op, hub, param):
    word = await _ask(board.doors[name], op, hub, param)
    if word is None or not _REPLY.opcode.get(word) & REPLY:
        raise CableError(
            f"{board.line.path}: the HUB of {name} {'does not answer' if word is None else 'refuses'} the command "
            f"{op.name.removesuffix('_REPLY').lower().replace('_', ' ')}; reset its board"
        )


async def _ask(door, op, hub, param=0):
    """What REPLY reads as when the answer is there; None if none comes."""
    for _ in range(_ATTEMPTS):
        door.write(_COMMAND.address, command_word(op, hub, param))
        for _ in range(_LOOKS):
            door.spend(_CYCLES)
            word = await door.read(_REPLY.address)
            if _REPLY.valid.get(word) and _REPLY.opcode.get(word) | REPLY == op:
                return word
    return None

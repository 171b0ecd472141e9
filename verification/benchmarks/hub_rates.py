"""What a HUB of 16 ports does in a cycle when all ports ask for random outputs at once, on the RTL: packets that pass,
and commands that are answered."""

from ...hdl.hub.commands import Op
from ...hdl.hub.profile import HUB_PROFILES
from ...hdl.link.symbol import ANY_HUB, Control, command, packet
from .. import seeds
from ..hub.harness import Harness
from ..hub.monitors import Agents, Endpoint
from ..hub.traffic import ROOM, Neighbour
from .outcome import Outcome

__all__ = ["measure"]

_PORTS, _HUB = 16, 1
#: Bytes of a packet; packets and commands of each port. So many commands find room in a queue.
_BYTES, _PACKETS, _COMMANDS = 64, 1200, 200
#: Of all cycles of an output, those in which it can carry a symbol if each input has one packet at its head for some
#: output, and waits until it is free, with many ports: "Input Versus Output Queueing on a Space-Division Packet Switch"
#: (1987).
_HEADS = 0.59
_LIMIT = 200_000


def _played(profile, endpoints):
    """The recording of all that the endpoints send."""
    harness, agents = Harness(_PORTS, profile, _HUB), Agents(endpoints)
    try:
        harness.play(agents, lambda: agents.quiet, _LIMIT)
    finally:
        harness.close()
    return agents.recording


def _times(recording, code):
    """When symbols of that code have left, at all ports."""
    return [sent.taken for sent_by_port in recording.tx for sent in sent_by_port if sent.symbol == code]


def _transactions(port, rng, count):
    """Packets to random others, each as soon as there is room for it."""
    for _ in range(count):
        output = rng.choice([other for other in range(_PORTS) if other != port])
        yield ROOM
        yield from command(Op.OPEN_RETRY, _HUB, output)
        yield from packet(rng.randbytes(_BYTES))
        yield from command(Op.CLOSE_ALL, ANY_HUB, 0)


def _packets(profile, scale):
    rng, count = seeds.rng("packets of 16 ports"), max(2, round(_PACKETS * scale))
    ends = [Neighbour(port, rng, _transactions(port, rng, count), late=0) for port in range(_PORTS)]
    recording = _played(profile, ends)
    passed = _times(recording, Control.END)
    assert len(passed) == _PORTS * count, f"{len(passed)} of {_PORTS * count} packets have come"
    # As long as all ports ask.
    cycles = min(symbols[-1][0] for symbols in recording.rx if symbols)
    passed = sum(time <= cycles for time in passed)
    whole = _BYTES + len(packet(b""))
    return Outcome(
        passed * whole / (_PORTS * cycles),
        "",
        None,
        f"{profile.name}: {1000 * passed / cycles:.1f} packets of {_BYTES} bytes in 1000 cycles, {passed} in {cycles}: "
        f"the share of the outputs' cycles in which they carry a packet; ceiling {_HEADS}, with an end of the "
        f"connection and a set-up in no time",
        measured={"packets": passed, "cycles": cycles},
        part=f"{profile.name} packets",
    )


def _commands(profile, scale):
    rng, count = seeds.rng("commands of 16 ports"), max(2, round(_COMMANDS * scale))
    ends = [Endpoint() for _ in range(_PORTS)]
    for end in ends:
        end.send(*(command(Op.STATUS_OUTPUT, _HUB, rng.randrange(_PORTS)) for _ in range(count)))
    recording = _played(profile, ends)
    answered = _times(recording, Control.REPLY)
    assert len(answered) == _PORTS * count, f"{len(answered)} of {_PORTS * count} commands have been answered"
    cycles = max(answered) - min(symbols[0][0] for symbols in recording.rx)
    return Outcome(
        len(answered) / cycles,
        "",
        None,
        f"{profile.name}: commands a cycle, {len(answered)} in {cycles} cycles; ceiling 1, a decision in each cycle",
        measured={"commands": len(answered), "cycles": cycles},
        part=f"{profile.name} commands",
    )


def measure(scale):
    """An Outcome for packets and one for commands, of each profile."""
    return [rate(profile, scale) for profile in HUB_PROFILES.values() for rate in (_packets, _commands)]

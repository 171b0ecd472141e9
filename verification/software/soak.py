"""A soak: byte streams, requests and reliable multicasts among several CABs over several HUBs, while everything goes
wrong.

Symbol errors, lost ready signals, replies and commands by rate, cuts of fibers and resets of HUBs again and again. Not
one message may be lost, doubled, reordered or damaged. A soak is a number of rounds; each is a new system, and replays
from its seed:

    python -m nectar.verification.software.soak --rounds 1 --seed 17 --boards rtl
"""

import argparse
import statistics
import time
from dataclasses import dataclass, field

from nectar.software.datalink.options import Options
from nectar.software.transport.options import MulticastOptions, RequestOptions, StreamOptions
from nectar.verification import seeds
from nectar.verification.software.helpers import simulated

__all__ = ["Outcome", "Rates", "soak", "soak_round"]

TOPOLOGIES = ["chain:3", "mesh:2x2", "figure7"]
#: No message may need so long, in us and in picoseconds: whatever stands still for it is lost.
PATIENCE_US = 20_000_000
LIMIT_PS = 120 * 10**12
OPTIONS = Options()
LONG = {
    "stream": StreamOptions(silence_us=PATIENCE_US, connect_us=PATIENCE_US),
    "request": RequestOptions(timeout_us=PATIENCE_US, attempts=1000, keep_us=PATIENCE_US),
    "multicast": MulticastOptions(timeout_us=PATIENCE_US),
}
PORT, SERVICE, MAILBOX = 7, 5, 100
#: us after which all that is kept for peers that might ask again has been given up.
SETTLE_US = PATIENCE_US + 1_500_000
#: us after which all servers are there.
BEGIN_US = 1000
HEAD = 6


@dataclass(frozen=True)
class Rates:
    """What goes wrong: probabilities of a symbol (a signal, a frame), and milliseconds between cuts and between
    resets."""

    errors: float = 1e-5
    ready: float = 1e-3
    reply: float = 1e-2
    command: float = 1e-3
    cut_ms: float = 40
    reset_ms: float = 60

    def faults(self):
        """As text."""
        return [
            f"*:errors={self.errors:g}",
            f"*:lost-ready={self.ready:g}",
            f"*:lost-reply={self.reply:g}",
            f"*:lost-command={self.command:g}",
        ]


@dataclass
class Outcome:
    """What came of it. Times in ms of simulated time.

    ``messages``: that arrived, by transport. ``hits``: of each fault. ``recoveries``: after each cut and reset, until
    all flows that it met had gone on.
    ``longest``: the longest time for which a flow stood still. ``strays``: messages that arrived where they were not
    sent to."""

    messages: dict = field(default_factory=lambda: dict.fromkeys(("stream", "request", "multicast"), 0))
    hits: dict = field(default_factory=dict)
    recoveries: list = field(default_factory=list)
    longest: float = 0.0
    strays: int = 0
    rounds: int = 0
    simulated_ms: float = 0.0

    @property
    def total(self):
        return sum(self.messages.values())

    def add(self, other):
        """Adds another round's."""
        for mine, theirs in ((self.messages, other.messages), (self.hits, other.hits)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        self.recoveries += other.recoveries
        self.longest = max(self.longest, other.longest)
        self.strays += other.strays
        self.rounds += other.rounds
        self.simulated_ms += other.simulated_ms

    def __str__(self):
        hits = ", ".join(f"{name} {count}" for name, count in self.hits.items())
        told = (
            f"median {statistics.median(self.recoveries):.1f} ms, worst {max(self.recoveries):.1f} ms"
            if self.recoveries
            else "none was needed"
        )
        return (
            f"{self.total} messages in {self.rounds} rounds "
            f"({', '.join(f'{name} {count}' for name, count in self.messages.items())}), "
            f"{self.simulated_ms:.0f} ms simulated; struck: {hits}; recovery from {len(self.recoveries)} cuts and "
            f"resets: {told}; "
            f"longest standstill {self.longest:.1f} ms; strays {self.strays}"
        )


class _Flow:
    """What goes from one CAB to another by one transport, in order."""

    def __init__(self, transport, source, destination, count, seed):
        self.transport, self.source, self.destination, self.count = transport, source, destination, count
        self.times = []  # us at which each message arrived
        self._name = f"{transport} {source}->{destination} {seed}"

    def content(self, number):
        """Message ``number``: its length, its number, noise."""
        rng = seeds.rng(self._name, number)
        noise = rng.randbytes(rng.choice([0, 1, 20, 100, 100, 300, 900, rng.randrange(3000)]))
        return (len(noise) + HEAD).to_bytes(3, "big") + number.to_bytes(3, "big") + noise

    async def arrived(self, cab, data):
        """``data`` has arrived: it must be the next message."""
        number = len(self.times)
        assert number < self.count, f"{self._name}: more messages than were sent"
        assert data == self.content(number), (
            f"{self._name}: message {number} is not what was sent: got number {int.from_bytes(data[3:6], 'big')}"
        )
        self.times.append(await cab.now_us())


async def _stream_out(cab, flow, to):
    await cab.sleep(BEGIN_US)
    connection = await cab.stream.connect((to, PORT + cab.id))
    for number in range(flow.count):
        await connection.send(flow.content(number))
    await connection.close()


async def _stream_in(cab, flow, source):
    listener = cab.stream.listen(PORT + source)
    connection = await listener.accept()
    held = b""
    while data := await connection.receive(1 << 14):
        held += data
        while len(held) >= HEAD and len(held) >= (length := int.from_bytes(held[:3], "big")):
            await flow.arrived(cab, held[:length])
            held = held[length:]
    assert not held, "the stream ended within a message"
    await connection.close()
    listener.close()


async def _ask(cab, flow, to):
    await cab.sleep(BEGIN_US)
    for number in range(flow.count):
        data = flow.content(number)
        answer = await cab.request.call((to, SERVICE + cab.id), data)
        assert answer == data[::-1], f"request {number} to {to}: another answer"


async def _answer(cab, flow, source):
    service = cab.request.serve(SERVICE + source)
    while True:
        request = await service.receive()
        data = await request.read()
        await flow.arrived(cab, data)
        await request.reply(data[::-1])


async def _spread(cab, flows, ids):
    await cab.sleep(BEGIN_US)
    for number in range(flows[0].count):
        await cab.multicast.send((ids, MAILBOX + cab.id), flows[0].content(number))


async def _collect(cab, flow, source):
    while True:
        message = await cab.mailbox(MAILBOX + source).receive()
        data = await message.read()
        message.free()
        await flow.arrived(cab, data)


def _start(system, rng, seed, count):
    """Starts all tasks; returns the flows."""
    cabs = system.cabs
    flows = []
    for number, cab in enumerate(cabs):
        cab.stream.options, cab.request.options, cab.multicast.options = (
            LONG["stream"],
            LONG["request"],
            LONG["multicast"],
        )
        following = cabs[(number + 1) % len(cabs)]
        for transport, out, into, to in (
            ("stream", _stream_out, _stream_in, following),
            ("request", _ask, _answer, rng.choice([other for other in cabs if other is not cab])),
        ):
            flow = _Flow(transport, cab.id, to.id, count, seed)
            # A server never ends; its clients do.
            (to.spawn(into, flow, cab.id) if transport == "request" else system.spawn(to.name, into, flow, cab.id))
            system.spawn(cab.name, out, flow, to.id)
            flows.append(flow)
        members = rng.sample([other for other in cabs if other is not cab], rng.randrange(1, len(cabs)))
        group = [_Flow("multicast", cab.id, 0, max(1, count // 2), seed) for _ in members]
        for flow, member in zip(group, members, strict=True):
            flow.destination = member.id
            member.spawn(_collect, flow, cab.id)
        system.spawn(cab.name, _spread, group, [member.id for member in members])
        flows += group
    return flows


def _disturb(system, rng, rates, events):
    """Cuts fibers and resets HUBs, again and again; notes in ``events`` when each was over, in us. Returns what ends
    it."""
    machine, faults = system.machine, system.faults
    over = []

    def cut():
        if over:
            return
        where = "-".join(rng.choice(machine.fibers)) if rng.random() < 0.5 else "->".join(rng.choice(machine.fibers))
        lasts = rng.choice([10, 200, 3000])
        events.append((machine.time_ps / 1e6 + lasts, faults.cut(where, for_us=lasts)))
        machine.plan(machine.time_ps + round(rng.expovariate(1 / rates.cut_ms) * 1e9), cut)

    def reset():
        if over:
            return
        events.append((machine.time_ps / 1e6, faults.reset(rng.choice(list(machine.hub_ports)))))
        machine.plan(machine.time_ps + round(rng.expovariate(1 / rates.reset_ms) * 1e9), reset)

    machine.plan(round(rng.expovariate(1 / rates.cut_ms) * 1e9), cut)
    machine.plan(round(rng.expovariate(1 / rates.reset_ms) * 1e9), reset)
    return lambda: over.append(True)


def _strays(system):
    """Takes out and counts the messages that nobody waits for."""
    count = 0
    for cab in system.cabs:
        for number in range(MAILBOX, MAILBOX + 256):
            while number in cab.mailboxes and (message := cab.mailbox(number).try_receive()) is not None:
                message.free()
                count += 1
    return count


def soak_round(seed, boards="fast", count=40, rates=Rates(), topology=None):
    """One round: each CAB sends ``count`` messages by stream, ``count`` requests and half as many multicasts. Returns
    an Outcome.

    Raises AssertionError or ProgramError, with the seed, if a message is lost, doubled, reordered or damaged.
    """
    rng = seeds.rng("soak", seed)
    topology = topology or rng.choice(TOPOLOGIES)
    events = []
    outcome = Outcome()
    with simulated(topology, boards=boards, options=OPTIONS, seed=seed) as system:
        used = [cab.memory.used for cab in system.cabs]
        placed = {text.partition(":")[2].partition("=")[0]: system.faults.add(text) for text in rates.faults()}
        flows = _start(system, rng, seed, count)
        finish = _disturb(system, rng, rates, events)
        try:
            system.go(LIMIT_PS)
            simulated_ms = system.time_ns / 1e6
            finish()
            for fault in placed.values():
                fault.end()
            for cab in system.cabs:
                system.spawn(cab.name, lambda cab: cab.sleep(SETTLE_US))
            system.go(LIMIT_PS)
            outcome.strays = _strays(system)
            assert [cab.memory.used for cab in system.cabs] == used, "memory is kept"
        except BaseException as error:
            error.add_note(
                f"soak seed {seed} on {boards} boards, {topology}, {count} messages, NECTAR_SEED {seeds.seed()}"
            )
            raise
        outcome.rounds, outcome.simulated_ms = 1, simulated_ms
        outcome.hits = {name: fault.hits for name, fault in placed.items()}
        outcome.hits |= {
            "cuts": sum(event.fault.what == "cut" for _, event in events),
            "resets": sum(event.fault.what == "reset" for _, event in events),
        }
        for flow in flows:
            assert len(flow.times) == flow.count, (
                f"soak seed {seed}: {flow.transport} {flow.source}->{flow.destination} lacks messages"
            )
            outcome.messages[flow.transport] += flow.count
            outcome.longest = max(
                [outcome.longest, *((b - a) / 1000 for a, b in zip([0, *flow.times], flow.times, strict=False))]
            )
        for over, event in events:
            if not event.hits:
                continue
            after = [min(t for t in flow.times if t > over) for flow in flows if flow.times[0] < over < flow.times[-1]]
            if after:
                outcome.recoveries.append((max(after) - over) / 1000)
    return outcome


def soak(seed, messages=None, seconds=None, boards="fast", count=40, tell=None, rates=Rates()):
    """Rounds until ``messages`` have arrived, or ``seconds`` of this machine have passed. Returns the Outcome of
    all."""
    begun = time.monotonic()
    total = Outcome()
    number = 0
    while (messages is None or total.total < messages) and (
        seconds is None or time.monotonic() - begun < seconds or not number
    ):
        total.add(soak_round(seed * 1_000_000 + number, boards, count, rates))
        number += 1
        if tell:
            tell(total)
    return total


def main():
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--count", type=int, default=40, help="messages of each flow")
    parser.add_argument("--boards", default="fast")
    options = parser.parse_args()
    total = Outcome()
    for number in range(options.rounds):
        total.add(soak_round(options.seed + number, options.boards, options.count))
        print(f"up to seed {options.seed + number}: {total}", flush=True)


if __name__ == "__main__":
    main()

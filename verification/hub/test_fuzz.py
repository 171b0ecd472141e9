"""Millions of random symbols at all ports of a HUB at once, in each profile: legal ones judged by the reference model,
and noise.

After the noise the HUB is emptied by flushes and supervisor commands, every table is read, and a fresh connection works
from every port. NECTAR_SEED replays a run.
"""

from array import array

import pytest

from nectar.hdl.hub.commands import FORCE, HELLO, HELLO_ASK, REPLY, WATCHDOG_DEFAULT, Op
from nectar.hdl.hub.monitor_map import Clear
from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet
from nectar.verification import seeds
from nectar.verification.hub.fuzz import HUB, REPLY_TIME, Invariants, Noise, batch
from nectar.verification.hub.harness import VALID, Harness
from nectar.verification.hub.monitors import Agents, Endpoint, always, randomly, seven_of_eight
from nectar.verification.hub.reference import judge
from nectar.verification.hub.streams import Violation, departures
from nectar.verification.hub.traffic import Neighbour, audit, transactions

#: Ports of the HUB: every day as in test_hub, which shares the compiled HUB, and at night.
PORTS, NIGHTLY_PORTS = 5, 16
#: Symbols for each profile, of which a tenth are legal; in the everyday regression and in the nightly one.
EVERYDAY, NIGHTLY = 200_000, 20_000_000
#: Symbols after which the HUB is emptied and looked at.
ROUND = 130_000
CASES = [
    pytest.param(profile, ports, amount, id=f"{profile.name}-{amount / 1_000_000:g} million", marks=marks)
    for profile in HUB_PROFILES.values()
    for ports, amount, marks in (
        (PORTS, EVERYDAY, ()),
        (NIGHTLY_PORTS, NIGHTLY, pytest.mark.nightly),
    )
]
CLOSE_ALL = command(Op.CLOSE_ALL, ANY_HUB, 0)


def legal(profile, rng, count, ports):
    """One recording of legal traffic, ``count`` transactions from each port, judged; returns the number of symbols
    that arrived."""
    harness = Harness(ports, profile, HUB & 0x7F)
    gap, late = rng.choice([0, 0, 0.1, 0.3]), rng.choice([0.1, 0.5])
    takes = [rng.choice([always, seven_of_eight, randomly(rng, rng.choice([0.4, 0.7, 0.9]))]) for _ in range(ports)]
    agents = Agents(
        [
            Neighbour(
                port, rng, transactions(port, ports, HUB & 0x7F, rng, count), gap=gap, late=late, take=takes[port]
            )
            for port in range(ports)
        ]
    )
    try:
        harness.play(agents, lambda: agents.quiet, 200_000)
        agents.endpoints[rng.randrange(ports)].then(audit(ports, HUB & 0x7F))
        harness.play(agents, lambda: agents.quiet, 20_000)
    finally:
        harness.close()
    assert all(end.done for end in agents.endpoints)
    verdict = judge(agents.recording, HUB & 0x7F, profile.transfer)
    assert verdict.packets and verdict.grants and verdict.replies and verdict.locks
    return sum(map(len, agents.recording.rx))


@pytest.mark.parametrize("profile, ports, amount", CASES)
def test_legal_symbols_do_what_the_reference_does(profile, ports, amount, record_property):
    """H9 to H16 at once, with locks, flow control and every way to open and to close."""
    rng = seeds.rng("fuzz", profile.name)
    symbols = 0
    while symbols < amount // 10:
        symbols += legal(profile, rng, 60, ports)
    record_property("legal symbols", symbols)


class Talk:
    """Commands and their answers at the ports of a HUB that has gone through noise."""

    def __init__(self, harness):
        self.harness = harness
        self.agents = Agents([Endpoint() for _ in range(harness.ports)])

    def send(self, streams):
        """Sends ``streams`` ({port: symbols}) until nothing moves any more; returns what came out of each port, as
        Departures."""
        before = [len(tx) for tx in self.agents.recording.tx]
        for port, symbols in streams.items():
            self.agents.endpoints[port].send(symbols)
        begin = self.agents.now
        self.harness.play(self.agents, lambda: self.agents.now > begin + 2 and self.agents.quiet, 50_000)
        return [departures(tx[start:], port) for port, (tx, start) in enumerate(zip(self.agents.recording.tx, before))]

    def ask(self, questions):
        """Gives commands that must all be done: ``questions`` ({port: [(op, param)]}), the ports at once and one behind
        the other at each; returns the values in their order ({port: [value]})."""
        got = self.send(
            {
                port: [symbol for op, param in asked for symbol in command(op, HUB, param)]
                for port, asked in questions.items()
            }
        )
        values = {}
        for port, asked in questions.items():
            frames = [frame for frame, _ in got[port].replies]
            frames = [frame for frame in frames if frame[1] == HUB and frame[0] not in (HELLO, HELLO_ASK)]
            assert [frame[0] for frame in frames] == [op | REPLY for op, _ in asked], (
                f"port {port}: {[(Op(op).name, param) for op, param in asked]}: {frames}"
            )
            values[port] = [frame[2] for frame in frames]
        return values


def emptied(harness, manager):
    """Empties a HUB that holds whatever noise has left, and looks at it."""
    everyone = range(harness.ports)
    talk = Talk(harness)
    end = [int(Control.END)]
    talk.send({manager: end + end + command(Op.FLUSH_REPLY, HUB, 1)})
    talk.ask({manager: [(Op.WATCHDOG_TIME_REPLY, 0), *((Op.ENABLE_REPLY, port) for port in everyone)]})
    answers = talk.send({port: end + end + command(Op.FLUSH_REPLY, HUB, port) for port in everyone})
    for port in everyone:
        assert (Op.FLUSH_REPLY, HUB, port) in [frame for frame, _ in answers[port].replies], (
            f"port {port} does not answer a flush"
        )
    for op in (Op.CLOSE_MINE_REPLY, Op.UNLOCK_MINE):
        talk.send({port: command(op, HUB, 0) for port in everyone})
    talk.ask({manager: [(Op.FORCE_READY_REPLY, FORCE | port) for port in everyone]})
    for op, value in (
        (Op.STATUS_OUTPUT, 0),
        (Op.STATUS_LOCK, 0),
        (Op.STATUS_INPUT, 0),
        (Op.STATUS_QUEUE, 0),
        (Op.STATUS_READY, 1),
        (Op.STATUS_NEIGHBOUR, None),
        (Op.STATUS_ERRORS, None),
    ):
        # The manager asks about all others, and another port about the manager's, where commands wait meanwhile.
        others = [port for port in everyone if port != manager]
        for asker, about in ((manager, others), (others[0], [manager])):
            found = talk.ask({asker: [(op, port) for port in about]})[asker]
            for port, found_value in zip(about, found):
                if value is not None:
                    assert found_value == value, f"{Op(op).name} of port {port}"
                elif op == Op.STATUS_ERRORS:
                    assert found_value > 0, f"{Op(op).name} of port {port}"
    talk.ask({manager: [(Op.WATCHDOG_TIME_REPLY, WATCHDOG_DEFAULT), (Op.MONITOR_CLEAR_REPLY, Clear.STOP)]})
    begin = talk.agents.now
    harness.play(
        talk.agents,
        lambda: talk.agents.recording.idle and talk.agents.recording.idle[-1] and talk.agents.now > begin + 2,
        20_000,
    )
    for step in (1, harness.ports - 1):
        targets = {port: (port + step) % harness.ports for port in everyone}
        got = talk.send(
            {
                port: command(Op.TEST_OPEN_RETRY_REPLY, HUB, o) + packet([port, step]) + CLOSE_ALL
                for port, o in targets.items()
            }
        )
        for port, o in targets.items():
            assert [item.symbol for item in got[o].data] == packet([port, step]) + CLOSE_ALL, (
                f"fresh connection from {port} to {o}"
            )
            assert [frame for frame, _ in got[port].replies] == [(Op.TEST_OPEN_RETRY_REPLY, HUB, o)] and len(
                got[port].readies
            ) == 1


def noise(profile, rng, ports):
    """One round of noise, what must hold in it, and what must hold after it; returns the number of symbols that
    arrived."""
    harness = Harness(ports, profile, HUB)
    manager = rng.randrange(ports)
    try:
        talk = Talk(harness)
        others = [(Op.ALLOW_SUPERVISOR_REPLY, port) for port in range(ports) if port != manager]
        talk.ask({manager: [*others, (Op.WATCHDOG_TIME_REPLY, rng.choice([8, 10, 12]))]})
        noises = [Noise(port, ports, port == manager, rng) for port in range(ports)]
        watch = Invariants(ports)
        while watch.symbols < ROUND:
            share = rng.choice([0.3, 0.7, 1])
            ready = [rng.choice([0, 0.3, 0.7, 0.9, 1, 1]) for _ in range(ports)]
            rx, taken = batch(noises, rng.randrange(200, 2000), share, ready)
            sent, _ = harness.run(rx, taken)
            watch.feed(rx, sent)
        cycles = 3 << 12
        rx, taken = batch(noises, cycles, 0, [1] * ports)
        sent, _ = harness.run(rx, taken)
        watch.feed(rx, sent)
        watch.check()
        emptied(harness, manager)
        return watch.symbols
    finally:
        harness.close()


@pytest.mark.parametrize("profile, ports, amount", CASES)
def test_noise_leaves_a_hub_that_works(profile, ports, amount, record_property):
    """Nothing hangs a HUB: commands good and bad, fragments, garbage, slow and stopped fibers, at all ports at once."""
    rng = seeds.rng("fuzz", profile.name)
    symbols = 0
    while symbols < amount * 9 // 10:
        symbols += noise(profile, rng, ports)
    record_property("symbols of noise", symbols)


@pytest.mark.nightly
@pytest.mark.parametrize("ports, count", [(2, 60), (3, 60), (5, 60), (8, 60), (64, 5), (128, 2)])
@pytest.mark.parametrize("profile", HUB_PROFILES.values(), ids=lambda profile: profile.name)
def test_hubs_of_all_sizes_work(profile, ports, count, record_property):
    """H1: legal traffic as the reference has it, and a round of noise that leaves a HUB that works."""
    rng = seeds.rng("fuzz", profile.name, ports)
    record_property("ports", str(ports))
    for what, symbols in (
        ("legal symbols", legal(profile, rng, count, ports)),
        ("symbols of noise", noise(profile, rng, ports)),
    ):
        assert symbols
        record_property(what, symbols)


def _watched(sent, cycles=20):
    """Invariants of four ports for ``cycles``, at which input 0 has opened output 2 and sent data, and output 2 has
    sent ``sent`` at once."""
    lines = {0: command(Op.OPEN_REPLY, HUB, 2) + packet([0, 1, 2]), 1: packet([64, 65])}
    rx = array("H", bytes(2 * 4 * cycles))
    for port, line in lines.items():
        for at, symbol in enumerate(line):
            rx[4 * at + port] = VALID | symbol
    watch = Invariants(4)
    watch.feed(rx, [[], [], list(enumerate(sent)), []])
    return watch


def test_what_may_come_out_is_accepted():
    """The check itself: data of the connected input, its frame, and a ready signal of the own port."""
    _watched(packet([0, 1, 2])).check()
    assert _watched([]).symbols == 13


@pytest.mark.parametrize(
    "sent, message",
    [
        (packet([0, 64]), "data of input 1 began 1 times, but it was connected at most 0"),
        (packet([0, 128, 1]), "data of input"),
        ([int(Control.READY)], "1 ready signals for 0 causes"),
        ([int(Control.REPLY), 1, HUB, 2], "answered 1 of 0 commands"),
        ([int(Control.REPLY), 1, 0x11, 2], "replies that have never arrived"),
        ([int(Control.REPLY), 1, int(Control.START)], "cut short"),
        ([0x1F0], "sent 0x1f0"),
    ],
)
def test_what_may_not_come_out_is_found(sent, message):
    """The check itself can fail."""
    with pytest.raises(Violation, match=message):
        _watched(sent).check()


def test_a_reply_that_has_just_begun_is_accepted_and_one_that_does_not_come_to_its_end_is_found():
    """The check may come in the middle of a reply, as a HUB goes on working off what noise has left."""
    begun = [int(Control.REPLY), 1, 0x11]
    _watched(begun, REPLY_TIME).check()
    with pytest.raises(
        Violation, match=f"port 2: the reply that began in cycle 0 is not complete in cycle {REPLY_TIME + 1}"
    ):
        _watched(begun, REPLY_TIME + 1).check()

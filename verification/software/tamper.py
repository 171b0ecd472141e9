"""Packets lost, doubled, overtaken, delayed and damaged between the datalink and the transports, by seed or one by one.

Nothing in here touches the hardware: what is lost here has crossed the fibers, and its ready signals have been given.
So it works the same on every back end, and what protocols make of it can be tested apart from the recovery of the
datalink."""

from collections.abc import Callable
from dataclasses import dataclass

from nectar.software.datalink.fiberin import Answer
from nectar.verification import seeds

__all__ = ["Tamperer", "Rule"]


@dataclass
class Rule:
    """``count`` packets for which ``match(receiver, header)`` is true, after ``skip`` of them, are dropped or damaged,
    as ``action`` says.

    ``receiver`` is the ID of the CAB at which the packet arrives. ``header`` in place of ``action`` gives bytes that
    stand for the packet's header."""

    match: Callable
    action: str = "drop"
    skip: int = 0
    count: int = 1
    header: Callable | None = None
    hits: int = 0

    def applies(self, receiver, header):
        if self.hits >= self.count or not self.match(receiver, header):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.hits += 1
        return True


class Tamperer:
    """Sits between the datalink and the transports of all CABs of ``system``.

    ``protocols``: numbers of those whose packets are tampered with. ``drop``, ``damage``, ``double``, ``delay``:
    probabilities. A damaged packet may have a bit of its header wrong. A packet that is delayed leaves behind later
    ones, at most ``late_us`` afterwards; a copy may come as late.

    Members
    -------
    gone : set of int
        IDs of CABs that hear nothing and of which nothing is heard.
    rules : list of Rule
    counts : dict of str → int
        What was done how often.
    """

    def __init__(self, system, protocols, seed=0, *, drop=0.0, damage=0.0, double=0.0, delay=0.0, late_us=3000):
        print("seed of the tamperer", seed)
        self.rng = seeds.rng("tamper", seed)
        self.protocols = {int(protocol) for protocol in protocols}
        self.drop, self.damage, self.double, self.delay = drop, damage, double, delay
        self.late_us = late_us
        self.gone = set()
        self.rules = []
        self.counts = dict.fromkeys(("drop", "damage", "double", "delay"), 0)
        for cab in system.cabs:
            self._send_side(cab)
            self.follow(cab)

    def calm(self):
        """From now on nothing is harmed any more."""
        self.drop = self.damage = self.double = self.delay = 0.0
        self.gone.clear()
        self.rules.clear()

    def follow(self, cab):
        """Tampers with what a CAB receives; for one that has started anew, too."""
        receivers = cab.datalink._in.protocols
        for number in self.protocols & set(receivers):
            receivers[number] = _Receiver(self, cab.id, receivers[number])

    def _send_side(self, cab):
        """Makes the CAB's datalink double and delay what it is given to send."""
        tamperer, kind, kept = self, type(cab.datalink), []
        if not self.double and not self.delay:
            return

        class Tampered(kind):
            """A datalink that is not to be trusted."""

            __slots__ = ()

            def post(self, route, header, areas=(), done=None, argument=None, wait=True):
                if not self.spoil(route, header, areas, done, argument):
                    super().post(route, header, areas, done, argument, wait)
                if kept and tamperer.rng.random() < 0.5:
                    super().post(*kept.pop(tamperer.rng.randrange(len(kept))))

            async def send(self, route, header, areas, last=True, done=None, argument=None):
                if route.before or not self.spoil(route, header, areas, done, argument):
                    await super().send(route, header, areas, True, done, argument)

            def spoil(self, route, header, areas, done, argument):
                """Whether the packet is dealt with. Of a copy only the second tells that it has left: the areas stay
                until then."""
                fate = None if route.before else tamperer.fate(header)
                areas = list(areas)
                if fate is None:
                    return False
                if fate == "double":
                    super().post(route, header, areas)
                if fate == "double" and tamperer.rng.random() < 0.5:
                    super().post(route, header, areas, done, argument)
                else:
                    kept.append((route, header, areas, done, argument))
                return True

        async def pump(cab):
            real = super(Tampered, cab.datalink)
            while True:
                await cab.sleep(1 + tamperer.rng.randrange(tamperer.late_us))
                if kept:
                    real.post(*kept.pop(0))

        cab.datalink.__class__ = Tampered
        cab.spawn(pump)

    def fate(self, header):
        """What happens to a packet as it is sent: None, delay or double."""
        if header[0] not in self.protocols:
            return None
        chance = self.rng.random()
        for name, rate in (("delay", self.delay), ("double", self.double)):
            if chance < rate:
                self.counts[name] += 1
                return name
            chance -= rate
        return None


class _Receiver:
    """Stands before a transport protocol of CAB ``number``."""

    def __init__(self, tamperer, number, real):
        self.tamperer = tamperer
        self.number = number
        self.real = real
        self.spoilt = False

    def packet(self, header):
        tamperer, rng = self.tamperer, self.tamperer.rng
        self.spoilt = False
        if self.number in tamperer.gone or header[1] in tamperer.gone:
            return Answer.DISCARD
        action = None
        for rule in tamperer.rules:
            if rule.applies(self.number, header):
                action = rule.action
                if rule.header is not None:
                    header, action = rule.header(header), "header"
                break
        else:
            chance = rng.random()
            if chance < tamperer.drop:
                action = "drop"
            elif chance < tamperer.drop + tamperer.damage:
                action = "damage"
                if rng.random() < 0.5:
                    bit = rng.randrange(8 * len(header))
                    header = bytes(
                        byte ^ (1 << bit % 8 if index == bit // 8 else 0) for index, byte in enumerate(header)
                    )
        if action in tamperer.counts:
            tamperer.counts[action] += 1
        if action == "drop":
            return Answer.DISCARD
        self.spoilt = action == "damage"
        return self.real.packet(header)

    def received(self, length, good):
        return self.real.received(length, good and not self.spoilt)

"""Random programs of messages between ranks, and the sequential replay that says what they may receive.

The rules are those of the MPI standard, version 4.1: sections 3.5 (a receive takes the oldest message of its
communicator, source and tag; messages and receives do not overtake each other), 3.7 (requests), 3.8 (probes), 3.9
(persistent requests) and 3.10 (PROC_NULL).

A program is a list of steps, each of two ranks. The replay does one after the other, and keeps what has been sent and
what is wanted. A call may wait only for what an earlier step does; so no program can wait for ever.

Messages go by three communicators:

- NAMED: a receive names its source, and a tag or ANY_TAG. The standard leaves one outcome.
- ANYONE: each receive has ANY_SOURCE and ANY_TAG.
- TAGGED: each receive has ANY_SOURCE and a tag.

In the last two, a receive may take the oldest message of any source.
"""

from dataclasses import dataclass, field

from nectar.verification.software.helpers import pattern

__all__ = ["ANYONE", "NAMED", "Program", "SIZES", "TAGGED", "TAGS", "UNUSED", "WHOLE", "judge", "planned"]

NAMED, ANYONE, TAGGED = range(3)
#: Around the short messages of Nectarine and a packet.
SIZES = [0, 1, 3, 95, 99, 100, 101, 1003, 1004, 1005, 3000]
#: Bytes up to which a send returns when its data are in data memory (docs/mpi.md).
WHOLE = 131_072
TAGS = 3
#: A tag that nothing is sent with.
UNUSED = 9

SENDS = ["Send", "Isend", "Ssend", "Issend", "Bsend", "Ibsend", "Send_init", "Isend and Free"]
RECEIVES = ["Recv", "Irecv", "Probe", "Mprobe", "Iprobe", "Recv_init"]
WAITS = ["Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"]
#: Calls that return at once, whatever other ranks do.
AT_ONCE = ("Isend", "Issend", "Bsend", "Ibsend", "Send_init", "Isend and Free")


@dataclass
class Message:
    """A message that is sent. ``receive``: the Receive that takes it, or None."""

    room: int
    source: int
    to: int
    tag: int
    data: bytes
    receive: object = None


@dataclass
class Receive:
    """A receive, the one of that number of its rank; ``source`` and ``tag`` may be None: any. ``message``: what it
    takes, or None."""

    number: int
    room: int
    to: int
    source: int | None
    tag: int | None
    message: object = None

    def takes(self, message):
        """Whether it matches a message."""
        return (
            (self.room, self.to) == (message.room, message.to)
            and self.source in (None, message.source)
            and self.tag in (None, message.tag)
        )


@dataclass
class Program:
    """What each rank does, and what the replay says of it.

    Members
    -------
    actions : list of list
        By rank: (name, …) as ``play`` of test_random_messages reads them.
    messages, receives : list
        In the order of the steps.
    looks : list of (rank, source, tag, receives of the rank before)
        Calls of Iprobe, in the order of the steps.
    """

    size: int
    salt: int
    actions: list = field(default_factory=list)
    messages: list = field(default_factory=list)
    receives: list = field(default_factory=list)
    looks: list = field(default_factory=list)
    requests: list = field(default_factory=list)  # by rank: number → Message or Receive

    def objects(self, room, one, other):
        """Whether two ranks send each other objects, and not buffers, in a room."""
        return room == ANYONE or room == NAMED and (one + other + self.salt) % 2 == 1

    # -- steps ---------------------------------------------------------------------------------------
    def waiting(self, room, source, to):
        """Messages that no receive takes yet."""
        return [
            message
            for message in self.messages
            if message.receive is None and (message.room, message.source, message.to) == (room, source, to)
        ]

    def sent(self, room, source, to, tag, data):
        """A message is sent: the oldest receive that matches it takes it."""
        message = Message(room, source, to, tag, data)
        self.messages.append(message)
        for receive in self.receives:
            if receive.message is None and receive.takes(message):
                receive.message, message.receive = message, receive
                break
        return message

    def wanted(self, room, to, source, tag):
        """A receive is called: it takes the oldest message that matches it."""
        number = sum(receive.to == to for receive in self.receives)
        receive = Receive(number, room, to, source, tag)
        self.receives.append(receive)
        for message in self.messages:
            if message.receive is None and receive.takes(message):
                receive.message, message.receive = message, receive
                break
        return receive

    def send(self, room, source, to, tag, size, way):
        """A step: ``source`` sends."""
        objects = self.objects(room, source, to)
        data = pattern(min(size, SIZES[-1]) if objects else size, len(self.messages))
        if objects and way in ("Send_init", "Isend and Free"):
            way = "Isend"
        message = self.sent(room, source, to, tag, data)
        at_once = way in AT_ONCE or way == "Send" and len(data) <= WHOLE
        if not at_once and (room != NAMED or message.receive is None):
            way = "Issend"
        request = None
        if way in ("Isend", "Issend", "Ibsend", "Send_init"):
            request = self.request(source, message)
        self.actions[source].append(("send", way, objects, room, to, tag, data, request))

    def receive(self, room, to, source, tag, way, objects):
        """A step: ``to`` receives."""
        receive = self.wanted(room, to, source, tag)
        if receive.message is None and way not in ("Irecv", "Recv_init") or objects and way == "Recv_init":
            way = "Irecv"
        request = self.request(to, receive) if way in ("Irecv", "Recv_init") else None
        self.actions[to].append(("receive", way, objects, room, source, tag, receive.number, request))

    def request(self, rank, of):
        """The number of a new request of a rank."""
        self.requests[rank].append(of)
        return len(self.requests[rank]) - 1

    def exchange(self, one, other, tag, size):
        """A step: two ranks send each other a message, by Sendrecv; False if an earlier receive would take one."""
        pairs = [(one, other), (other, one)] if one != other else [(one, one)]
        if any(
            receive.message is None and receive.takes(Message(NAMED, *pair, tag, b""))
            for receive in self.receives
            for pair in pairs
        ):
            return False
        objects = self.objects(NAMED, one, other)
        data = [pattern(min(size, SIZES[-1]), len(self.messages) + turn) for turn in range(len(pairs))]
        for (source, to), each in zip(pairs, data, strict=True):
            self.sent(NAMED, source, to, tag, each)
        for (source, to), each in zip(pairs, data, strict=True):
            got = self.wanted(NAMED, source, to, tag)
            self.actions[source].append(("exchange", objects, to, tag, each, got.number))
        return True

    def settled(self, rank):
        """Numbers of the requests of a rank that end by what earlier steps do."""
        return [
            number
            for number, of in enumerate(self.requests[rank])
            if (of.message is not None if isinstance(of, Receive) else of.room == NAMED and of.receive is not None)
        ]

    def finish(self):
        """Receives what is left, sends what is wanted, waits for all requests."""
        for message in list(self.messages):
            if message.receive is None:
                room, source, to, tag = message.room, message.source, message.to, message.tag
                objects = self.objects(room, source, to)
                chosen = {NAMED: (source, tag), ANYONE: (None, None), TAGGED: (None, tag)}[room]
                self.receive(room, to, *chosen, "Recv", objects)
        for receive in list(self.receives):
            if receive.message is None:
                source = (receive.to + 1) % self.size if receive.source is None else receive.source
                self.send(receive.room, source, receive.to, receive.tag or 0, 7, "Isend")
        for rank in range(self.size):
            self.actions[rank].append(("wait", WAITS[(rank + self.salt) % len(WAITS)], None))


def planned(size, salt, steps):
    """The Program of so many ranks. ``steps``: (kind, rank, rank, room, tag, bytes, a number that chooses)."""
    program = Program(size, salt, [[] for _ in range(size)], requests=[[] for _ in range(size)])
    for kind, one, other, room, tag, nbytes, choice in steps:
        one, other = one % size, other % size
        actions = program.actions[one]
        if kind == "exchange" and program.exchange(one, other, tag, nbytes):
            continue
        if kind in ("send", "exchange"):
            program.send(room, one, other, tag, nbytes, SENDS[choice % len(SENDS)])
        elif kind == "receive":
            way = RECEIVES[choice % len(RECEIVES)]
            source = other if room == NAMED else None
            queue = program.waiting(room, other, one)
            if queue:
                tag = queue[choice % len(queue)].tag
            wild = room == ANYONE or room == NAMED and choice % 3 == 0
            objects = program.objects(room, other, one)
            program.receive(room, one, source, None if wild else tag, way, objects)
        elif kind == "look":
            before = sum(receive.to == one for receive in program.receives)
            program.looks.append((one, other, None if choice % 2 else tag, before))
            actions.append(("look", program.objects(NAMED, one, other), other, None if choice % 2 else tag))
        elif kind == "wait":
            actions.append(("wait", WAITS[choice % len(WAITS)], program.settled(one)))
        elif kind == "pause":
            actions.append(("pause", 1e-6 * nbytes))
        else:
            actions.append((kind, other, tag))
    program.finish()
    return program


def judge(program, outcomes):
    """Raises AssertionError unless the standard allows what the ranks have received.

    ``outcomes``: by rank (dict of number of a receive → (source, tag, bytes), list of (tag, length) or None of each
    look)."""
    named = [receive for receive in program.receives if receive.room == NAMED]
    for receive in named:
        sent = receive.message
        got = outcomes[receive.to][0][receive.number]
        assert got == (sent.source, sent.tag, sent.data), f"receive {receive.number} of rank {receive.to}"
    left = {}
    for message in program.messages:
        if message.room != NAMED:
            group = message.room, message.to, message.tag if message.room == TAGGED else None
            left.setdefault((*group, message.source), []).append((message.source, message.tag, message.data))
    for receive in program.receives:
        if receive.room != NAMED:
            got = outcomes[receive.to][0][receive.number]
            queue = left.get((receive.room, receive.to, receive.tag, got[0]))
            assert queue and queue.pop(0) == got, f"receive {receive.number} of rank {receive.to} takes not the oldest"
    assert not any(left.values()), "messages that nobody has received"
    seen = [iter(looks) for _, looks in outcomes]
    for rank, source, tag, before in program.looks:
        found = next(seen[rank])
        wanted = Receive(0, NAMED, rank, source, tag)
        first = next(
            (each for each in program.messages if wanted.takes(each) and each.receive.number >= before),
            None,
        )
        length = None if program.objects(NAMED, rank, source) else first and len(first.data)
        allowed = [None] if first is None else [None, (first.tag, length)]
        assert found in allowed, f"a look of rank {rank} finds {found}, not {allowed[-1]}"

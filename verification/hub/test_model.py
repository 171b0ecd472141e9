"""The model that does one thing after the other, on cases written by hand from docs/hub.md, and the search for an
order."""

import pytest

from nectar.hdl.hub.commands import BY_OPCODE, COMMANDS, HELLO, HELLO_ASK, Error, Op
from nectar.hdl.hub.monitor_map import CounterId, Flag, Select
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet, reply
from nectar.verification.hub.history import Lock, ReadyBit, Window
from nectar.verification.hub.model import Model, explain
from nectar.verification.hub.streams import Violation

HUB = 7
CLOSE_ALL = command(Op.CLOSE_ALL, ANY_HUB, 0)
REFUSED, DONE = False, True


@pytest.fixture
def hub():
    """A HUB of four ports."""
    return Model(4, HUB)


def ask(hub, port, op, param):
    """Gives a command and returns (done, value)."""
    before = len(hub.answers[port])
    hub.arrive(port, *command(op, HUB, param))
    opcode, number, value = hub.answers[port][before]
    assert number == HUB and opcode | 1 == op | 1
    return bool(opcode & 1), value


def counted(hub, port):
    """{CounterId: number} of a port."""
    return {CounterId(number): count for number, count in enumerate(hub.counters[port]) if count}


def test_a_connection_carries_a_packet_and_close_all_ends_it(hub):
    """Sections 4.2.1 and 4.2.3."""
    hub.arrive(0, *command(Op.TEST_OPEN_RETRY, HUB, 2), *packet(b"ab"), *CLOSE_ALL)
    assert hub.data[2] == packet(b"ab") + CLOSE_ALL and hub.owner == [None] * 4
    assert hub.readies == [1, 0, 0, 0] and hub.ready == [True, True, False, True]
    assert counted(hub, 0) == {CounterId.OPENED: 1, CounterId.PACKETS: 1}


@pytest.mark.parametrize(
    "op, error",
    [
        (Op.OPEN_REPLY, Error.BUSY),
        (Op.TEST_OPEN_REPLY, Error.BUSY),
        (Op.LOCK_REPLY, Error.LOCKED),
        (Op.TEST_LOCK_REPLY, Error.LOCKED),
        (Op.CLOSE_REPLY, Error.NOT_MINE),
        (Op.UNLOCK_REPLY, Error.NOT_MINE),
    ],
)
def test_what_another_input_has_is_refused(hub, op, error):
    """The first of BUSY, LOCKED and NOT_READY that is true."""
    hub.arrive(0, *command(Op.OPEN, HUB, 2), *command(Op.LOCK, HUB, 2))
    assert ask(hub, 1, op, 2) == (REFUSED, error)
    assert counted(hub, 1) == ({CounterId.NOT_MINE: 1} if error is Error.NOT_MINE else {})


def test_refusals_of_an_open_come_in_their_order(hub):
    """BAD_PORT, DISABLED, BUSY, LOCKED, NOT_READY."""
    hub.arrive(0, *command(Op.LOCK, HUB, 2), *command(Op.OPEN, HUB, 2), *packet(b""))
    assert ask(hub, 1, Op.TEST_OPEN_REPLY, 2) == (REFUSED, Error.BUSY)
    hub.arrive(0, *CLOSE_ALL)
    assert ask(hub, 1, Op.TEST_OPEN_REPLY, 2) == (REFUSED, Error.LOCKED)
    hub.arrive(0, *command(Op.UNLOCK, HUB, 2))
    assert ask(hub, 1, Op.TEST_OPEN_REPLY, 2) == (REFUSED, Error.NOT_READY)
    assert ask(hub, 3, Op.DISABLE_REPLY, 2) == (DONE, 2)
    assert ask(hub, 1, Op.TEST_OPEN_REPLY, 2) == (REFUSED, Error.DISABLED)
    assert ask(hub, 1, Op.TEST_OPEN_REPLY, 1) == (REFUSED, Error.BAD_PORT) == ask(hub, 1, Op.OPEN_RETRY_REPLY, 4)
    assert counted(hub, 1) == {CounterId.DISABLED: 1, CounterId.BAD_PORT: 2}


def test_a_lock_keeps_the_next_one_out_and_lets_its_holder_in(hub):
    """docs/hub.md, locks: taken while another input is connected; close does not touch it."""
    hub.arrive(0, *command(Op.OPEN, HUB, 2))
    assert ask(hub, 1, Op.LOCK_REPLY, 2) == (DONE, 2)
    assert ask(hub, 0, Op.OPEN_REPLY, 2) == (DONE, 2), "it holds the output already"
    hub.arrive(0, *CLOSE_ALL)
    hub.arrive(0, *command(Op.OPEN_RETRY_REPLY, HUB, 2))
    assert hub.blocked == {0: (Op.OPEN_RETRY_REPLY, 2)}
    assert ask(hub, 1, Op.OPEN_REPLY, 2) == (DONE, 2)
    hub.arrive(1, *CLOSE_ALL)
    assert hub.blocked and hub.lock[2] == 1
    hub.arrive(1, *command(Op.UNLOCK_MINE, HUB, 0))
    assert not hub.blocked and hub.answers[0][-1] == [Op.OPEN_RETRY_REPLY, HUB, 2]


def test_a_flush_ends_what_waits_and_throws_the_rest_away(hub):
    """docs/hub.md, input side, 5."""
    hub.arrive(0, *command(Op.OPEN, HUB, 2))
    hub.arrive(1, *command(Op.OPEN_RETRY_REPLY, HUB, 2), *packet(b"lost"), *command(Op.STATUS_OUTPUT, HUB, 0))
    assert hub.queue_level(1) == 10 and not hub.answers[1]
    hub.arrive(1, *command(Op.FLUSH_REPLY, HUB, 0x55))
    assert hub.answers[1] == [[Op.OPEN_RETRY_REPLY & ~1, HUB, Error.GIVEN_UP], [Op.FLUSH_REPLY, HUB, 0x55]]
    assert hub.readies[1] == 1 and counted(hub, 1) == {CounterId.FLUSHED: 1}


def test_a_reply_runs_back_and_close_all_reply_takes_the_connection_down(hub):
    """docs/hub.md, replies: refused ones close nothing; without a connection there is nowhere to go."""
    hub.arrive(0, *command(Op.OPEN, HUB, 2))
    hub.arrive(2, *reply(Op.CLOSE_ALL_REPLY, 9, 1, done=False))
    assert hub.owner[2] == 0
    hub.arrive(2, *reply(Op.CLOSE_ALL_REPLY, 9, 1), *reply(1, 9, 1))
    assert hub.passed[0] == [[0x14, 9, 1], [0x15, 9, 1]] and hub.owner[2] is None
    assert counted(hub, 2) == {CounterId.NO_ROUTE: 1}


def test_neighbours_say_hello(hub):
    """docs/hub.md, neighbours: remembered, answered, forgotten when asked, never passed on."""
    hub.arrive(0, *command(Op.OPEN, HUB, 2))
    hub.arrive(2, int(Control.REPLY), HELLO_ASK, 9, 0x83)
    assert hub.hellos[2] == [[HELLO, HUB, 0x82]] and not hub.passed[0]
    assert ask(hub, 1, Op.STATUS_KIND, 2) == (DONE, 0x83) and ask(hub, 1, Op.STATUS_NEIGHBOUR, 2) == (DONE, 9)
    assert ask(hub, 1, Op.STATUS_KIND, 2) == (DONE, 0x7F) and ask(hub, 1, Op.STATUS_NEIGHBOUR, 2) == (DONE, 0)
    assert hub.hellos[2][1:] == [[HELLO_ASK, HUB, 0x82]] * 2
    hub.arrive(2, int(Control.REPLY), HELLO, 9, 0)
    assert ask(hub, 1, Op.STATUS_KIND, 2) == (DONE, 0) and len(hub.hellos[2]) == 3


def test_a_disabled_port_hears_nothing_and_counts_frames(hub):
    """docs/hub.md, supervisor commands."""
    hub.arrive(2, *command(Op.OPEN, HUB, 0), *command(Op.LOCK, HUB, 1))
    hub.arrive(1, *command(Op.OPEN, HUB, 2))
    assert ask(hub, 3, Op.DISABLE_REPLY, 2) == (DONE, 2)
    assert hub.owner == [None] * 4 == hub.lock and hub.readies[2] == 1
    hub.ready[2] = False
    hub.arrive(2, *packet(b"abc"), *command(Op.OPEN, HUB, 0), *reply(1, 9, 9), int(Control.READY), 0x101)
    assert counted(hub, 2) == {CounterId.OPENED: 1, CounterId.FLUSHED: 1, CounterId.DISABLED: 3}
    assert not hub.ready[2] and not hub.answers[2]
    assert ask(hub, 3, Op.ENABLE_REPLY, 2) == (DONE, 2) and hub.ready[2] and hub.hellos[2] == [[HELLO_ASK, HUB, 0x82]]


def test_a_looped_port_meets_itself(hub):
    """docs/hub.md, loop back: what leaves arrives; the fiber is not heard."""
    assert ask(hub, 0, Op.LOOP_BACK_REPLY, 0x82) == (DONE, 2)
    hub.arrive(2, *command(Op.OPEN, HUB, 0))
    assert hub.owner[0] is None
    hub.arrive(0, *command(Op.OPEN, HUB, 2), *command(Op.FLUSH_REPLY, 9, 0), *packet(b"x"))
    assert not hub.data[2] and hub.ready[2] and counted(hub, 2)[CounterId.NO_CONNECTION] == 1
    assert ask(hub, 0, Op.STATUS_NEIGHBOUR, 2) == (DONE, 0) and ask(hub, 0, Op.STATUS_KIND, 2) == (DONE, 0x82)
    assert ask(hub, 0, Op.LOOP_BACK_REPLY, 2) == (DONE, 2) and not hub.looped[2]


def test_supervisor_commands_are_for_those_who_may(hub):
    """docs/hub.md: refused before anything else is looked at, without effect, and counted."""
    assert ask(hub, 0, Op.ALLOW_SUPERVISOR_REPLY, 1) == (DONE, 1)
    before = hub.copy()
    for row in COMMANDS:
        if row.supervisor and row.op != Op.RESET_HUB:
            assert ask(hub, 1, row.op, 0x99) == (REFUSED, Error.NOT_ALLOWED)
    hub.arrive(1, *command(Op.RESET_HUB, HUB, 0))
    assert counted(hub, 1) == {CounterId.NOT_ALLOWED: 14} and hub.allowed == [True, False, True, True]
    for name in ("owner", "lock", "ready", "enabled", "looped", "watchdog", "selected"):
        assert getattr(hub, name) == getattr(before, name)


def test_a_forced_connection_takes_the_output_from_whoever_has_it(hub):
    """docs/hub.md, force connection."""
    hub.arrive(0, *command(Op.OPEN, HUB, 2), *command(Op.LOCK, HUB, 2))
    assert ask(hub, 1, Op.FORCE_CONNECTION_REPLY, 0x82) == (DONE, 2) and hub.owner[2] == 1 and hub.lock[2] == 0
    assert ask(hub, 1, Op.FORCE_CONNECTION_REPLY, 0x81) == (REFUSED, Error.BAD_PORT)
    assert ask(hub, 1, Op.FORCE_CONNECTION_REPLY, 0x84) == (REFUSED, Error.BAD_PORT)
    assert ask(hub, 3, Op.FORCE_CONNECTION_REPLY, 0x02) == (DONE, 2) and hub.owner[2] is None
    ask(hub, 3, Op.DISABLE_REPLY, 0)
    assert ask(hub, 1, Op.FORCE_CONNECTION_REPLY, 0x80) == (REFUSED, Error.DISABLED)


def test_the_watchdog_frees_what_a_port_holds(hub):
    """docs/hub.md, watchdog: connections, locks, the waiting command, half a command, ready bits."""
    hub.arrive(2, *command(Op.OPEN, HUB, 3), int(Control.START), *command(Op.CLOSE, HUB, 3))
    hub.arrive(0, *command(Op.OPEN, HUB, 1), *command(Op.LOCK, HUB, 3), *packet(b"")[:1])
    hub.arrive(0, *command(Op.TEST_OPEN_RETRY_REPLY, HUB, 3), 1, 2, *command(Op.OPEN, HUB, 2)[:2])
    hub.expire(0)
    assert hub.owner == [None] * 4 == hub.lock and hub.ready == [True] * 4
    assert hub.answers[0] == [[Op.TEST_OPEN_RETRY_REPLY & ~1, HUB, Error.GIVEN_UP]] and hub.queue_level(0) == 0
    assert counted(hub, 0) == {
        CounterId.OPENED: 1,
        CounterId.PACKETS: 1,
        CounterId.TIMED_OUT: 1,
        CounterId.NO_CONNECTION: 1,
    }


def test_the_monitor_shows_counters_and_flags(hub):
    """docs/monitor.md; hdl/hub/monitor_map.py."""
    for _ in range(300):
        hub.arrive(1, *command(Op.CLOSE, HUB, 0))
    assert ask(hub, 0, Op.MONITOR_SELECT_REPLY, 1) == (DONE, 1)
    place = 2 * CounterId.NOT_MINE
    assert (ask(hub, 0, Op.MONITOR_READ_REPLY, place), ask(hub, 0, Op.MONITOR_READ_REPLY, place + 1)) == (
        (DONE, 1),
        (DONE, 44),
    )
    assert ask(hub, 0, Op.STATUS_ERRORS, 1) == (DONE, 255)
    assert ask(hub, 0, Op.MONITOR_CLEAR_REPLY, 1) == (DONE, 1) and counted(hub, 1) == {}
    ask(hub, 0, Op.MONITOR_SELECT_REPLY, Select.FLAGS)
    assert ask(hub, 0, Op.MONITOR_READ_REPLY, 3) == (DONE, Flag.ENABLED | Flag.SUPERVISOR | Flag.READY)
    for op in (Op.MONITOR_SELECT_REPLY, Op.MONITOR_CLEAR_REPLY):
        assert ask(hub, 0, op, 4) == (REFUSED, Error.BAD_PORT)


def test_unknown_opcodes_are_refused_and_a_question_of_a_neighbour_is_no_command(hub):
    """docs/hub.md, errors: HELLO_ASK as a command is counted, but its refusal would be a hello."""
    for op in set(range(256)) - set(BY_OPCODE):
        before = len(hub.answers[0])
        hub.arrive(0, *command(op, HUB, 0))
        assert hub.answers[0][before:] == ([[op & ~1, HUB, Error.UNKNOWN]] if op & 1 and op != HELLO_ASK else [])
    assert counted(hub, 0) == {CounterId.UNKNOWN: 256 - 52}


def test_an_order_is_found_if_there_is_one(hub):
    """Two inputs open the same output: one of them gets it, whichever, and nothing else can be."""
    orders = {
        0: [command(Op.OPEN_REPLY, HUB, 2)],
        1: [command(Op.OPEN_REPLY, HUB, 2)],
        3: [command(Op.STATUS_OUTPUT, HUB, 2)],
    }

    def seen(*answers):
        def fits(model, final):
            return all(
                found == due if final else found == due[: len(found)] for found, due in zip(model.answers, answers)
            )

        return fits

    first = explain(hub, orders, seen([[1, HUB, 2]], [[0, HUB, Error.BUSY]], [], [[Op.STATUS_OUTPUT, HUB, 0]]))
    second = explain(hub, orders, seen([[0, HUB, Error.BUSY]], [[1, HUB, 2]], [], [[Op.STATUS_OUTPUT, HUB, 0x81]]))
    assert {model.owner[2] for model in first} == {0} and {model.owner[2] for model in second} == {1}
    for wrong in (
        ([[1, HUB, 2]], [[1, HUB, 2]], [], [[Op.STATUS_OUTPUT, HUB, 0]]),
        ([[1, HUB, 2]], [[0, HUB, Error.BUSY]], [], [[Op.STATUS_OUTPUT, HUB, 0x81]]),
    ):
        with pytest.raises(Violation, match="no order"):
            explain(hub, orders, seen(*wrong))


def test_what_may_have_been_and_what_must_have_been():
    """history.py: windows decide only what they can."""
    early, late = Lock(0, Window(10, 20), Window(50, 60)), Lock(1, Window(30, 40))
    assert early.clashes(late) and not early.clashes(Lock(1, Window(52, 70)))
    assert late.possible(35, 36) and not late.certain(35, 36) and late.certain(41, 10**6) and not early.possible(70, 80)
    bit = ReadyBit()
    assert bit.may_be(1, 0, 5) and not bit.may_be(0, 0, 5)
    bit.clears.append(Window(100, 100))
    assert bit.may_be(1, 90, 95) and bit.may_be(1, 99, 110) and not bit.may_be(1, 120, 150) and bit.may_be(0, 120, 150)
    bit.sets.append(Window(130, 140))
    assert bit.may_be(1, 135, 150) and not bit.may_be(0, 160, 170)

"""examples/transactions: transfers are made whole and once, whatever stops when."""

import json
import re

import pytest

from nectar.software import ProgramError

from .examples import as_stated, modules, rows, run

#: Few transfers and accounts, so that a stop meets a known transaction and accounts are in use by others. Two of these
#: transfers would change the account that is closed.
ARGUMENTS = ("--recover", "--phases", "--transfers", 6, "--accounts", 16)
COORDINATOR, PARTICIPANT = "CAB1", "CAB2"
#: Of the transaction CAB1.1.1, which changes accounts of CAB2 and CAB3: who stops between which two of its steps, and
#: whether that transaction is decided in the end; None if that is as it happens.
PHASES = {
    "the coordinator, while it asks for votes": (COORDINATOR, (COORDINATOR, "begun"), (PARTICIPANT, "prepared"), False),
    "the coordinator, when it has the votes": (COORDINATOR, (COORDINATOR, "has the votes"), None, False),
    "the coordinator, while it logs": (COORDINATOR, (COORDINATOR, "has the votes"), (COORDINATOR, "decided"), None),
    "the coordinator, when it has decided": (COORDINATOR, (COORDINATOR, "decided"), None, True),
    "the coordinator, when one has committed": (COORDINATOR, (PARTICIPANT, "committed"), None, True),
    "the coordinator, when all is told": (COORDINATOR, (COORDINATOR, "told"), None, True),
    "a participant, before it is asked": (PARTICIPANT, (COORDINATOR, "begun"), None, None),
    "a participant, while it logs": (PARTICIPANT, (PARTICIPANT, "asked to prepare"), (PARTICIPANT, "prepared"), None),
    "a participant, when it has prepared": (PARTICIPANT, (PARTICIPANT, "prepared"), None, None),
    "a participant, when it is decided": (PARTICIPANT, (COORDINATOR, "decided"), None, True),
    "a participant, while it commits": (
        PARTICIPANT,
        (PARTICIPANT, "asked to commit"),
        (PARTICIPANT, "committed"),
        True,
    ),
    "a participant, when it has committed": (PARTICIPANT, (PARTICIPANT, "committed"), None, True),
}


@pytest.fixture(scope="module")
def program():
    with modules("transactions/transactions") as module:
        yield module


def steps(text, id="CAB1.1.1"):
    """(CAB, what) → microseconds, of a transaction."""
    found = re.findall(r" *([\d.]+) us  (\w+) +([\w.]+) +(.+)", text)
    return {(cab, what): float(when) for when, cab, of, what in found if of == id}


@pytest.fixture(scope="module")
def undisturbed(program):
    return steps(run(program, *ARGUMENTS, topology="hub:3").text)


def moment(undisturbed, begin, end):
    """A time between two steps; just behind the first if there is no second."""
    return (undisturbed[begin] + undisturbed[end]) / 2 if end else undisturbed[begin] + 5


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.replace(",", "").replace(" ", "-"))
def test_a_cab_stopped_in_any_phase_recovers_and_every_transfer_is_made_once(phase, program, undisturbed):
    """The program compares the logs with each other, with the CABs, and with the transfers made one by one."""
    cab, begin, end, decided = PHASES[phase]
    fault = f"{cab}:stop,at={moment(undisturbed, begin, end):.3f}us,for=30ms"
    ran = run(program, *ARGUMENTS, topology="hub:3", faults=[fault])
    assert f"{cab} was stopped and has recovered" in ran.text
    assert ran.results == {"transactions.made": 4, "transactions.left": 0, "transactions.doubts": 0}
    if decided is not None:
        assert ((COORDINATOR, "decided") in steps(ran.text)) == decided


def test_a_participant_that_stops_for_good_before_it_votes_stops_only_what_needs_it(program, undisturbed):
    at = undisturbed[COORDINATOR, "begun"] + 5
    ran = run(program, *ARGUMENTS, topology="hub:3", faults=[f"{PARTICIPANT}:stop,at={at:.3f}us"])
    assert f"{PARTICIPANT} is stopped\n" in ran.text
    assert ran.results["transactions.left"] > 0 and ran.results["transactions.made"] > 0


def test_a_coordinator_that_stops_for_good_leaves_what_is_prepared_in_doubt(program, undisturbed):
    """Two-phase commit blocks: nobody else knows whether it has decided."""
    at = moment(undisturbed, (PARTICIPANT, "prepared"), (COORDINATOR, "has the votes"))
    ran = run(program, *ARGUMENTS, topology="hub:3", faults=[f"{COORDINATOR}:stop,at={at:.3f}us"])
    assert f"{COORDINATOR} is stopped\n" in ran.text
    assert ran.results["transactions.doubts"] > 0
    assert (PARTICIPANT, "committed") not in steps(ran.text)


def test_damaged_symbols_and_lost_commands_change_nothing(program):
    ran = run(program, *ARGUMENTS, topology="hub:3", faults=["*:errors=3e-4", "*:lost-command=5e-3"])
    assert ran.results["transactions.left"] == 0


def test_the_table(program):
    """A coordinated transfer costs more than one in a single memory, so that one CAB is slower than the sequential
    program."""
    ran = run(program, "--transfers", 24, "--accounts", 256, "--cabs", "1,3", topology="hub:3")
    table = rows(ran.text)
    assert [row.cabs for row in table] == [1, 3]
    assert table[0].speedup < 1 and table[1].speedup < 3


# -- what the logs are looked at for -------------------------------------------------------------------------
TRANSFERS = [{0: -5, 1: 5}, {0: -7, 1: 7}]
PREPARED = {"is": "prepared", "id": "A.1.1", "changes": {}}
DECIDED = {"is": "decided", "id": "A.1.1", "transfer": 0, "at": ["A", "B"]}
COMMITTED = {"is": "committed", "id": "A.1.1"}


def survey(program, folder, **logs):
    for name, records in logs.items():
        (folder / name).mkdir()
        (folder / name / "1.log").write_text("".join(json.dumps(record) + "\n" for record in records))
    return program.survey(folder, list(logs), 1, TRANSFERS, 2)


def test_the_balances_of_the_logs_are_those_of_what_was_decided(program, tmp_path):
    balance, made, doubts = survey(program, tmp_path, A=[PREPARED, DECIDED, COMMITTED], B=[PREPARED])
    assert balance == {0: 995, 1: 1005} and made == {0} and doubts == 1


@pytest.mark.parametrize(
    "a, b, said",
    [
        ([PREPARED, DECIDED, COMMITTED], [], "B does not know of it"),
        ([PREPARED, DECIDED], [PREPARED, {**COMMITTED, "is": "aborted"}], "B does not know of it"),
        ([PREPARED, COMMITTED], [PREPARED], "A has committed what was not decided"),
        ([PREPARED, DECIDED], [PREPARED, {**DECIDED, "id": "B.1.1"}], "a transfer was made twice"),
    ],
)
def test_a_transfer_in_part_or_twice_is_noticed(a, b, said, program, tmp_path):
    with pytest.raises(ProgramError, match=said):
        survey(program, tmp_path, A=a, B=b)


def test_a_line_without_its_end_does_not_count():
    with modules("transactions/records") as records:
        assert records.parsed(b'{"is": "start"}\n{"is": "decid') == [{"is": "start"}]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--transfers", 0), "--transfers must be 1 at least"),
        (("--accounts", 3), "--accounts must be 4 at least"),
        (("--phases",), "--phases goes with --recover"),
    ],
)
def test_wrong_options(arguments, said, program):
    with pytest.raises(ProgramError, match=said):
        run(program, *arguments)


@pytest.mark.nightly
def test_full_size_on_the_rtl(program):
    as_stated("transactions", rows(run(program, topology="hub:16", boards="rtl").text))


@pytest.mark.nightly
@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.replace(",", "").replace(" ", "-"))
def test_a_stop_in_any_phase_on_the_rtl(phase, program):
    cab, begin, end, decided = PHASES[phase]
    known = steps(run(program, *ARGUMENTS, topology="hub:3", boards="rtl").text)
    fault = f"{cab}:stop,at={moment(known, begin, end):.3f}us,for=30ms"
    ran = run(program, *ARGUMENTS, topology="hub:3", boards="rtl", faults=[fault])
    assert ran.results["transactions.left"] == ran.results["transactions.doubts"] == 0
    if decided is not None:
        assert ((COORDINATOR, "decided") in steps(ran.text)) == decided

"""One CAB of the transaction service: keeps some accounts, and coordinates the transfers that its clients ask for.

Two-phase commit with presumed abort (C. Mohan, B. Lindsay, 1983). A transaction has an ID, ``CAB.START.NUMBER``.

    coordinator                                   each CAB that keeps one of its accounts
    PREPARE with the changes               →      locks the accounts, forces the record "prepared"
                                           ←      yes; or no, if an account is closed or locked
    all yes: forces the record "decided"
    COMMIT                                 →      forces the record "committed", changes and unlocks the accounts
                                           ←      done
    record "told"
    a no, or no answer: ABORT              →      record "aborted", unlocks the accounts

A CAB that starts again reads its log. What is prepared and not committed is *in doubt*: it locks the accounts and asks
the coordinator. A coordinator that does not know a transaction as decided answers that it was aborted. What is decided
and not told is told again."""

import json

from records import RECORD, Log

from nectar.software import NoRoute
from nectar.software.arithmetic import Work
from nectar.software.errors import CallError

#: An account is found, looked at or changed: hash, comparisons.
ACCOUNT = Work(load=14, store=4, add=30, branch=10, call=3)
#: A message is put together or taken apart: as a record of the log.
MESSAGE = RECORD
#: What each account has at first.
OPENING = 1000
#: Threads of a CAB that answer requests.
SERVERS = 6

#: Microseconds that a coordinator waits for a vote, and for the answer to a word of its decision.
ANSWER_US = 60_000
#: Microseconds after which somebody in doubt asks the coordinator, and between two tries to tell a decision.
PATIENCE_US = 40_000
#: Tries of either.
TRIES = 25


class Bank:
    """The service on one CAB.

    Parameters
    ----------
    cab : Cab
    names : list of str
        The CABs that keep the accounts: account n is on the CAB n modulo their number.
    service : int
        Number under which all of them are called.
    accounts : int
    closed : set of int
        Accounts that refuse every change.
    meter : Meter
    trace : list or None
        Is given (microseconds, CAB, transaction, what has happened).
    since_us : float
        When the CAB has started: its own time begins there.

    Members
    -------
    balance : dict of int → int
        Of the accounts that this CAB keeps.
    done : set of int
        Numbers of the transfers that this CAB has decided to make, of earlier starts too.
    doubts : int
        Transactions that were in doubt when it started.
    """

    def __init__(self, cab, names, service, accounts, closed, meter, trace=None, since_us=0.0):
        self.cab = cab
        self.names = names
        self.service = service
        self.closed = closed
        self.meter = meter
        self.trace = trace
        self.since_us = since_us
        me = names.index(cab.name)
        self.balance = {account: OPENING for account in range(me, accounts, len(names))}
        self.done = set()
        self.doubts = 0
        self._locked = {}  # account -> transaction
        self._prepared = {}  # transaction -> changes
        self._decided = set()  # transactions
        self._voting = set()
        self._number = 0
        self._start = 1
        self._log = Log(cab, f"{service}.log", meter)

    # -- start ---------------------------------------------------------------------------------------
    def open(self):
        """Reads the log, finishes what it leaves open, and offers the service."""
        untold = {}
        for record in self._log.open():
            match record:
                case {"is": "start"}:
                    self._start += 1
                case {"is": "prepared", "id": id, "changes": changes}:
                    self._hold(id, changes)
                case {"is": "committed", "id": id}:
                    self._release(id, change=True)
                case {"is": "aborted", "id": id}:
                    self._release(id)
                case {"is": "decided", "id": id, "transfer": transfer, "at": names}:
                    self._decide(id, transfer)
                    untold[id] = names
                case {"is": "told", "id": id}:
                    untold.pop(id, None)
        self._log.force(**{"is": "start"})
        self.doubts = len(self._prepared)
        service = self.cab.request.serve(self.service)
        for _ in range(SERVERS):
            self.cab.spawn(self._serve, service, name="a server of the bank")
        for id in self._prepared:
            self.cab.spawn(self._ask, id, 0, name=f"{id} in doubt")
        for id, names in untold.items():
            self.cab.spawn(self._tell, id, names, name=f"{id} is told")

    def _note(self, id, what):
        if self.trace is not None:
            self.trace.append((self.since_us + self.cab.now_us(), self.cab.name, id, what))

    # -- accounts ------------------------------------------------------------------------------------
    @property
    def locked(self):
        """Accounts that prepared transactions are about to change."""
        return self._locked.keys()

    def _hold(self, id, changes):
        self._prepared[id] = changes = {int(account): change for account, change in changes.items()}
        self._locked.update(dict.fromkeys(changes, id))

    def _release(self, id, change=False):
        """A prepared transaction is over; with ``change`` its changes are made."""
        for account, amount in self._prepared.pop(id, {}).items():
            del self._locked[account]
            self.balance[account] += amount if change else 0

    # -- what other CABs ask -------------------------------------------------------------------------
    def _serve(self, cab, service):
        while True:
            request = service.receive()
            asked = json.loads(bytes(request.read()))
            self.meter.compute(2 * MESSAGE)
            request.reply(self._answer(**asked).encode())

    def _answer(self, do, id, changes=None):
        """The answer to a request: a word."""
        match do:
            case "prepare":
                return self._prepare(id, changes)
            case "commit":
                return self._commit(id)
            case "abort":
                return self._abort(id)
            case "outcome":
                return "committed" if id in self._decided else "voting" if id in self._voting else "aborted"

    def _prepare(self, id, changes):
        self._note(id, "asked to prepare")
        self.meter.compute(len(changes) * ACCOUNT)
        if any(int(account) in self.closed for account in changes):
            return "closed"
        if any(int(account) in self._locked for account in changes):
            return "locked"
        self._hold(id, changes)
        self._log.force(**{"is": "prepared", "id": id, "changes": changes})
        self._note(id, "prepared")
        if id not in self._prepared:  # aborted meanwhile
            return "locked"
        self.cab.spawn(self._ask, id, PATIENCE_US, name=f"{id} is watched")
        return "yes"

    def _commit(self, id):
        if id in self._prepared:
            self._note(id, "asked to commit")
            self._log.force(**{"is": "committed", "id": id})
            self.meter.compute(len(self._prepared.get(id, ())) * ACCOUNT)
            self._release(id, change=True)
            self._note(id, "committed")
        return "done"

    def _abort(self, id):
        if id in self._prepared:
            self._log.append(**{"is": "aborted", "id": id})
            self._release(id)
            self._note(id, "aborted")
        return "done"

    def _ask(self, cab, id, patience_us):
        """Asks the coordinator what has become of a transaction, as long as it is in doubt."""
        coordinator = id.partition(".")[0]
        for _ in range(TRIES):
            cab.sleep(patience_us)
            if id not in self._prepared:
                return
            outcome = self._call([coordinator], do="outcome", id=id)[0]
            if outcome in ("committed", "aborted"):
                self._commit(id) if outcome == "committed" else self._abort(id)
                return
            patience_us = PATIENCE_US

    # -- coordinator ---------------------------------------------------------------------------------
    def _decide(self, id, transfer):
        self._decided.add(id)
        self.done.add(transfer)

    def _call(self, names, changes=None, **request):
        """Asks the CABs ``names`` at the same time; their answers, None where there is none. ``changes``: of each."""
        calls, answers = {}, {}
        for name in names:
            asked = request if changes is None else {**request, "changes": changes[name]}
            if name != self.cab.name:
                self.meter.compute(MESSAGE)
                data = json.dumps(asked).encode()
                try:
                    calls[name] = self.cab.request.start((name, self.service), data, timeout_us=ANSWER_US)
                except (CallError, NoRoute):
                    answers[name] = None
        if self.cab.name in names:
            own = request if changes is None else {**request, "changes": changes[self.cab.name]}
            answers[self.cab.name] = self._answer(**own)
        for name, call in calls.items():
            try:
                answers[name] = bytes(call.result()).decode()
                self.meter.compute(MESSAGE)
            except CallError:
                answers[name] = None
        return [answers[name] for name in names]

    def transfer(self, number, changes):
        """Makes the transfer ``number``: ``changes`` are amounts by account. Returns "yes" if it is made, "closed" if
        it never can be, "locked" or None if it may be tried again: an account is in use, or a CAB does not answer."""
        self._number += 1
        id = f"{self.cab.name}.{self._start}.{self._number}"
        parts = {}
        for account, amount in changes.items():
            parts.setdefault(self.names[account % len(self.names)], {})[account] = amount
        names = list(parts)
        self._voting.add(id)
        self._note(id, "begun")
        votes = self._call(names, parts, do="prepare", id=id)
        self._note(id, "has the votes")
        if any(vote != "yes" for vote in votes):
            self._voting.remove(id)
            self._call(
                [name for name, vote in zip(names, votes, strict=True) if vote in ("yes", None)], do="abort", id=id
            )
            return "closed" if "closed" in votes else "locked" if None not in votes else None
        self._log.force(**{"is": "decided", "id": id, "transfer": number, "at": names})
        self._decide(id, number)
        self._voting.remove(id)
        self._note(id, "decided")
        self._tell(self.cab, id, names)
        return "yes"

    def _tell(self, cab, id, names):
        """Tells a decision to commit until all have heard it. Who has not after all tries will ask."""
        for _ in range(TRIES):
            answers = self._call(names, do="commit", id=id)
            names = [name for name, answer in zip(names, answers, strict=True) if answer is None]
            if not names:
                self._log.append(**{"is": "told", "id": id})
                self._note(id, "told")
                return
            cab.sleep(PATIENCE_US)

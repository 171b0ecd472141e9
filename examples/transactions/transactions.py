"""Moves money between accounts on all CABs by distributed transactions that survive the stop of a CAB.

    nectar run examples/transactions/transactions.py [--transfers 200] [--accounts 4096] [--cabs 1,2,4,8,16]
    nectar run examples/transactions/transactions.py --recover --transfers 40 --topology hub:4 \\
        --faults 'CAB2:stop,at=20ms,for=30ms'

Every CAB keeps some accounts and has clients that ask it for transfers; a transfer changes two accounts. ``bank.py``
has the protocol, two-phase commit, ``records.py`` the log: a file on the CAB's node, which outlives the CAB. Without
--recover the same transfers are made on 1, 2, 4, … CABs, and a table is printed: simulated time, speed-up over a
sequential program (one CAB that changes the accounts in its memory and logs each transfer before the next), the ideal,
and the share of the CABs' time in which they did not compute: messages, and waiting for the node. With --recover they
are made once, on all CABs; a CAB that is stopped and starts anew recovers. --phases prints when each step of a
transaction was done.

In the end the logs of all nodes are read: every transfer must have happened on all its CABs or on none, and once; the
balances must be those of the transfers that were decided, made one after the other.

"The Design of Nectar" (1989), section 7, names distributed transaction systems such as Camelot."""

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from bank import ACCOUNT, OPENING, Bank
from records import Log, parsed

from nectar.software import ProgramError
from nectar.software.nectarine import Application
from nectar.software.speedup import Meter, Scaling, counts_of

TOPOLOGY = "hub:16"
NODES = True

#: Service of the first run.
SERVICE = 100
#: Clients of each CAB.
CLIENTS = 4
#: An account that refuses every change.
CLOSED = 13
#: Microseconds until a transfer whose account is in use is tried again.
AGAIN_US = 3000
#: Tries of a transfer, and how many of them may meet a CAB that does not answer.
TRIES, SILENT = 50, 5


def transfers_of(count, accounts):
    """The transfers: a list of {account: amount}."""
    draw = random.Random(1989)
    made = []
    for _ in range(count):
        source, target = draw.sample(range(accounts), 2)
        amount = draw.randint(1, 100)
        made.append({source: -amount, target: amount})
    return made


def sequential(cab, transfers, accounts):
    """All transfers one after the other on one CAB, each logged. Returns the microseconds that this takes."""
    meter = Meter(cab)
    log = Log(cab, "sequential.log", meter)
    log.open()
    balance = dict.fromkeys(range(accounts), OPENING)
    begin = cab.now_us()
    for number, changes in enumerate(transfers):
        meter.compute(2 * len(changes) * ACCOUNT)
        if CLOSED not in changes:
            log.force(transfer=number, changes=changes)
            for account, amount in changes.items():
                balance[account] += amount
    return cab.now_us() - begin


def client(cab, bank, work, transfers, outcomes):
    """A client: makes the next transfer of ``work`` until there is none left."""
    while work:
        number = work.pop(0)
        silent = 0
        for attempt in range(TRIES):
            outcome = bank.transfer(number, transfers[number])
            if outcome in ("yes", "closed"):
                break
            silent += outcome is None
            if silent == SILENT:
                break
            cab.sleep(AGAIN_US * (1 + (number + attempt) % CLIENTS))
        outcomes[number] = outcome


def serve(task, names, service, transfers, accounts, trace=None, since_us=0.0):
    """The task of each CAB: opens its part of the service, makes its share of the transfers. Returns its Meter,
    the Bank, and the outcomes of the transfers of this start."""
    cab, meter, outcomes = task.cab, Meter(task.cab), {}
    bank = Bank(cab, names, service, accounts, {CLOSED}, meter, trace, since_us)
    bank.open()
    meter.start()
    work = [number for number in range(names.index(cab.name), len(transfers), len(names)) if number not in bank.done]
    clients = [cab.spawn(client, bank, work, transfers, outcomes, name="a client") for _ in range(CLIENTS)]
    for thread in clients:
        thread.join()
    meter.stop()
    return meter, (bank, outcomes)


def serve_team(task, team, cabs, transfers, accounts):
    """The same as a task of a team; each run has a service of its own."""
    return serve(task, cabs[: team.size], SERVICE + team.size, transfers, accounts)


def survey(folder, names, service, transfers, accounts):
    """What the logs say: the balances of all accounts, the transfers decided, the parts still in doubt. ProgramError
    if a transfer happened in part, or twice."""
    logs = {}
    for name in names:
        file = folder / name / f"{service}.log"
        logs[name] = parsed(file.read_bytes()) if file.exists() else []
    decided = [record for log in logs.values() for record in log if record["is"] == "decided"]
    if len({record["transfer"] for record in decided}) < len(decided):
        raise ProgramError("a transfer was made twice")
    found = {
        name: {
            what: {each["id"] for each in log if each["is"] == what} for what in ("prepared", "committed", "aborted")
        }
        for name, log in logs.items()
    }
    ids = {record["id"] for record in decided}
    doubts = 0
    for name, of in found.items():
        if of["committed"] - ids:
            raise ProgramError(f"{name} has committed what was not decided")
        doubts += len(of["prepared"] - of["committed"] - of["aborted"])
    balance = dict.fromkeys(range(accounts), OPENING)
    for record in decided:
        for name in record["at"]:
            if record["id"] not in found[name]["prepared"] - found[name]["aborted"]:
                raise ProgramError(f"a transfer was decided, and {name} does not know of it")
        for account, amount in transfers[record["transfer"]].items():
            balance[account] += amount
    return balance, {record["transfer"] for record in decided}, doubts


def compare(banks, balance):
    """ProgramError if a running CAB has another balance than the logs, but for accounts that are in doubt."""
    for bank in banks:
        if any(bank.balance[account] != balance[account] for account in bank.balance.keys() - bank.locked):
            raise ProgramError(f"{bank.cab.name} has another balance than the logs")


async def recover(system, folder, options, transfers):
    """Makes the transfers once, on all CABs, whatever stops."""
    application = Application(system)
    names = [cab.name for cab in system.cabs]
    trace = [] if options.phases else None
    starts = []

    def begin(cab):
        arguments = names, SERVICE, transfers, options.accounts, trace, system.time_ns / 1000
        starts.append(application.spawn(f"bank {len(starts)}", serve, *arguments, on=cab.name))

    system.on_restart = begin
    for cab in system.cabs:
        begin(cab)
    await application.run()
    ended = {record.cab: record.result[1][0] for record in starts if record.result is not None}
    for when, cab, id, what in sorted(trace or ()):
        print(f"{when:12.3f} us  {cab:6} {id:12} {what}")
    for record in starts[len(names) :]:
        doubts = ended[record.cab].doubts if record.cab in ended else "?"
        print(f"{record.cab} was stopped and has recovered: transactions in doubt: {doubts}")
    for name in names:
        if name not in ended:
            print(f"{name} is stopped")
    balance, made, doubts = survey(folder, names, SERVICE, transfers, options.accounts)
    compare(ended.values(), balance)
    refused = sum(CLOSED in changes for changes in transfers)
    left = len(transfers) - len(made) - refused
    print(f"{len(made)} transfers made, each of them whole and once; {refused} refused, {left} not made")
    print(f"parts of transactions in doubt: {doubts}")
    system.report("transactions.made", len(made))
    system.report("transactions.left", left)
    system.report("transactions.doubts", doubts)


async def main(system, arguments):
    """Makes the transfers on each number of CABs, prints a table; or once, with stops."""
    parser = argparse.ArgumentParser(
        prog="nectar run examples/transactions/transactions.py",
        description=__doc__.partition("\n")[0],
        allow_abbrev=False,
    )
    parser.add_argument("--transfers", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--accounts", type=int, default=4096, help="how many there are (default: 4096)")
    parser.add_argument("--cabs", metavar="N,N,…", help="numbers of CABs (default: 1,2,4,8,16)")
    parser.add_argument("--recover", action="store_true", help="one run on all CABs, which may be stopped by --faults")
    parser.add_argument("--phases", action="store_true", help="with --recover: print each step of a transaction")
    options = parser.parse_args(arguments)
    if options.transfers < 1:
        raise ProgramError("--transfers must be 1 at least")
    if options.accounts < max(2, len(system.cabs)):
        raise ProgramError(f"--accounts must be {max(2, len(system.cabs))} at least: each CAB keeps one, or more")
    if options.phases and not options.recover:
        raise ProgramError("--phases goes with --recover")
    transfers = transfers_of(options.transfers, options.accounts)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        cabs = [cab.name for cab in system.cabs]
        for name in cabs:
            (folder / name).mkdir()
            system.node(name).lend(folder / name)
        if options.recover:
            await recover(system, folder, options, transfers)
            return
        alone = system.spawn(cabs[0], sequential, transfers, options.accounts)
        await system.run()
        print(f"{options.transfers} transfers between {options.accounts} accounts")
        scaling = Scaling(system, "transactions", counts_of(system, options.cabs))
        async for answers in scaling.run(serve_team, alone.result, cabs, transfers, options.accounts):
            banks = [bank for bank, _ in answers]
            names = cabs[: len(banks)]
            balance, made, doubts = survey(folder, names, SERVICE + len(banks), transfers, options.accounts)
            compare(banks, balance)
            if doubts or len(made) != sum(CLOSED not in changes for changes in transfers):
                raise ProgramError("not every transfer has been made")

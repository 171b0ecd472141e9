"""``nectar run``: what those who begin get wrong most often is told in one line.

All on fast boards and in this process, so that it takes no time.
"""

import re
import sys

import pytest

from nectar.cli import main
from nectar.cli.arguments import Arguments, meant
from nectar.cli.run import FLAGS, VALUES

TASKS = """
TOPOLOGY = "hub:2"

async def job(cab):
    {job}

async def other(cab):
    {other}

async def main(system, arguments):
    system.spawn("CAB1", job)
    system.spawn("CAB2", other)
    {main}
    print("done")
"""
SENDS = "await cab.datagram.send((2, 1), b'hello')"
TAKES = "return len(await (await cab.mailbox(1).receive()).read())"
WAITS = "await cab.mailbox(9).receive()"
RUNS = "await system.run()"
MISSING = "'await' is missing before the call of"


def program(job=SENDS, other=TAKES, main=RUNS):
    """A program whose three functions do the lines given; these are lines 5, 8 and 13 of ``program.py``."""
    return TASKS.format(job=job, other=other, main=main)


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Runs a program (its text); exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(text, *options):
        (tmp_path / "program.py").write_text(text)
        status = main(["run", "program.py", "--boards", "fast", *options])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def refused(run, tmp_path):
    """Runs a program that must fail; the one line that says why, and what it had printed before."""

    def refused(text, *options, status):
        ended, out, err = run(text, *options)
        line, end, rest = err.partition("\n")
        assert ended == status and line.startswith("nectar: ") and end and not rest, (ended, err)
        assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".toml", "")] == ["program.py"]
        return line.removeprefix("nectar: "), out

    return refused


# -- options ----------------------------------------------------------------------------------------------
LOOKS = program(main="arguments = [*arguments]; await system.run()")


@pytest.mark.parametrize(
    "word, option",
    [
        ("--wave", "--waves"),
        ("--max-tme", "--max-time"),
        ("--topolgy", "--topology"),
        ("--topolgy=hub:3", "--topology"),
        ("--topo", "--topology"),
        ("-waves", "--waves"),
        ("--Waves", "--waves"),
        ("--wave_window", "--wave-window"),
        ("--fault", "--faults"),
        ("--sed", "--seed"),
        ("--jsn", "--json"),
        ("--nosleep", "--no-sleep"),
        ("--debg", "--debug"),
        ("--prof", "--profile"),
        ("--bords", "--boards"),
        ("--wavse", "--waves"),
        ("--wave-board", "--wave-boards"),
        ("--seeds", "--seed"),
        ("-on", "--on"),
    ],
)
def test_an_option_that_resembles_one_of_ours_is_refused_with_the_one_that_was_meant(word, option):
    assert meant(word, [*VALUES, *FLAGS, "--debug"]) == option


@pytest.mark.parametrize(
    "word",
    [
        "--max",
        "--output",
        "--kbytes",
        "--from",
        "--to",
        "--pause",
        "--circuit",
        "--rounds",
        "--help",
        "--size",
        "--node",
        "--speed",
        "--send",
        "--mbaud",
        "--no",
        "-x",
        "-5",
        "-",
        "wave",
    ],
)
def test_an_option_of_a_program_is_left_to_it(word):
    assert meant(word, [*VALUES, *FLAGS, "--debug"]) is None


def test_a_mistyped_option_is_told_before_anything_runs_unless_it_stands_behind_two_dashes(simulator, refused, run):
    line, out = refused(LOOKS, "--wave", "x.vcd", status=2)
    assert (
        line.startswith(
            "there is no option --wave; the nearest is --waves; if it is the program's own, write it behind '--'"
        )
        and not out
    )
    line, _ = refused(LOOKS, "--topolgy=hub:2", status=2)
    assert line.startswith("there is no option --topolgy; the nearest is --topology")
    assert run(LOOKS, "--", "--wave", "x.vcd") == (0, "done\n", "")


def test_arguments_that_the_program_never_looked_at_are_told(simulator, run):
    told = "nectar: program.py has not looked at its arguments: --size 'two words'\n"
    assert run(program(), "--size", "two words") == (0, "done\n", told)
    assert run(LOOKS, "--size", "5") == (0, "done\n", "") and run(program()) == (0, "done\n", "")


@pytest.mark.parametrize(
    "look",
    [
        list,
        tuple,
        len,
        bool,
        repr,
        sorted,
        " ".join,
        lambda a: "x" in a,
        lambda a: a[0],
        lambda a: a[:1],
        lambda a: [*a],
        lambda a: a == [],
        lambda a: a + [],
        lambda a: a.pop(),
        lambda a: a.index("x"),
        lambda a: (lambda *b: b)(*a),
    ],
)
def test_whatever_looks_at_arguments_is_noticed(look):
    arguments = Arguments(["x", "y"])
    assert not arguments.seen
    look(arguments)
    assert arguments.seen


# -- await ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text, line, out",
    [
        (program(SENDS.replace("await ", "")), rf"program\.py:5: {MISSING} Datagram\.send, which has done nothing", ""),
        (program(main="system.run()"), rf"program\.py:13: {MISSING} System\.run, which has done nothing", "done\n"),
        (program("cab.sleep(5)", "cab.sleep(6)"), rf"program\.py:5: {MISSING} Cab\.sleep, which has done nothing", ""),
        (program(main="await system.run(); system.run()"), rf"program\.py:13: {MISSING} System\.run, .*", "done\n"),
        # What goes wrong because of it stands behind it: a task that waits for ever, a value that is none.
        (
            program("x = cab.datagram.send((2, 1), b'x'); " + WAITS, WAITS),
            rf"program\.py:5: {MISSING} Datagram\.send, which has done nothing; then: nothing can happen any more at "
            ".*, where task job 1 on CAB1 waits .*",
            "",
        ),
        (
            program(other="return len((await cab.mailbox(1).receive()).read())"),
            rf"program\.py:8: {MISSING} Message\.read, which has done nothing",
            "",
        ),
        (
            program(other="x = (await cab.mailbox(1).receive()).read(); return len(x)"),
            rf"program\.py:8: {MISSING} Message\.read, .*; then: task other 1 on CAB2 failed at .*: "
            r"TypeError: object of type 'coroutine' has no len\(\) .*",
            "",
        ),
        (
            program(main="x = system.run(); print(x + 1)"),
            rf"program\.py:13: {MISSING} System\.run, .*; then: program\.py:13: TypeError: .*",
            "",
        ),
        (
            program(
                main="system.spawn('CAB1', job, protected=True); await system.run()", job=SENDS.replace("await ", "")
            ),
            rf"program\.py:5: {MISSING} Datagram\.send, .*",
            "",
        ),
    ],
)
def test_a_forgotten_await_is_an_error_with_its_line_and_exit_code_1(refused, text, line, out):
    got, printed = refused(text, status=1)
    assert re.fullmatch(line, got), got
    assert printed == out


def test_a_forgotten_await_ends_the_run_at_once(refused):
    """A task that would go on for a long time is not waited for."""
    line, out = refused(program("cab.sleep(5)", "\n    ".join(["while True:", "    await cab.sleep(1000)"])), status=1)
    assert line == f"program.py:5: {MISSING} Cab.sleep, which has done nothing" and not out


def test_files_up_to_a_forgotten_await_are_kept_and_told(simulator, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "program.py").write_text(program("cab.sleep(5)"))
    asked = {"--waves": "w.vcd", "--record": "r.rec", "--report": "r.html", "--trace": "t.json", "--pcap": "p.pcapng"}
    options = [word for pair in asked.items() for word in pair]
    assert main(["run", "program.py", *options, "--wave-boards", "HUB1"]) == 1
    assert capsys.readouterr().err == (
        f"nectar: program.py:5: {MISSING} Cab.sleep, which has done nothing; "
        f"what happened up to then is in {', '.join(asked.values())}\n"
    )
    assert all((tmp_path / name).stat().st_size > 0 for name in asked.values())
    assert (tmp_path / "w.vcd").stat().st_size > 1000


def test_what_ends_before_it_is_awaited_was_not_forgotten(run, refused):
    """A call given to ``within``, which refuses its time; tasks that never begin; a warning of another kind."""
    line, _ = refused(program("await cab.within('soon', cab.sleep(5))"), status=2)
    assert "TypeError" in line and MISSING not in line
    closes = "system.spawn('CAB1', other, daemon=True); system.cab('CAB2').kernel.close()"
    with pytest.warns(UserWarning, match="mine"):
        assert run(program(main=f"import warnings; warnings.warn('mine'); {closes}")) == (0, "done\n", "")


@pytest.mark.parametrize(
    "text, line",
    [
        (
            "TOPOLOGY = 'hub:2'\ndef main(system, arguments):\n    print('ran')\n",
            "program.py: 'main' must be 'async def main(system, arguments)'",
        ),
        (
            program().replace('"CAB1", job', '"CAB1", "job"'),
            "program.py:11: TypeError: a task is a function, not 'job': "
            "give the function and its arguments, without a call",
        ),
        (
            program().replace('"CAB1", job', '"CAB1", job(None)'),
            "program.py:11: TypeError: 'job' has been called: give the function and its arguments, without a call",
        ),
    ],
)
def test_what_is_no_task_is_refused_before_it_runs(refused, text, line):
    assert refused(text, status=2) == (line, "")


# -- finally ----------------------------------------------------------------------------------------------
AWAITS_AGAIN = """
    try:
        await inner(cab)
    finally:
        print("outer")
        try:
            await cab.sleep(5)
            print("never")
        finally:
            await cab.pause()

async def inner(cab):
    try:
        await cab.mailbox(7).receive()
    finally:
        print("inner")
        await cab.mailbox(8).receive()
        print("never")
"""


@pytest.mark.parametrize("protected", [False, True])
def test_a_finally_that_awaits_in_a_task_that_still_waits_runs_up_to_there(run, refused, protected):
    """docs/kernel.md: when the run is over no simulated time passes any more."""
    spawned = f'"CAB1", job, daemon=True, protected={protected}'
    text = program(AWAITS_AGAIN, "await cab.sleep(1000)").replace('"CAB1", job', spawned)
    assert run(text) == (0, "done\ninner\nouter\n", "")
    line, out = refused(text, "--max-time", "900us", status=1)
    assert line == "the time limit was reached at 900.000 us: task other 1 on CAB2 waits for a timer (program.py:26)"
    assert out == "inner\nouter\n"


def test_what_a_finally_raises_at_the_end_is_told(refused):
    text = program("\n    ".join(["try:", f"    {WAITS}", "finally:", "    1 // 0"]), "pass")
    line, out = refused(text.replace('"CAB1", job', '"CAB1", job, daemon=True'), status=2)
    said = r"task job 1 on CAB1 failed at [\d.]+ [nu]s: ZeroDivisionError: .*\(program\.py:8\)"
    assert re.fullmatch(said, line), line
    assert out == "done\n"


# -- what a task calls --------------------------------------------------------------------------------------
@pytest.mark.parametrize("protected", [False, True])
@pytest.mark.parametrize(
    "job, line",
    [
        (
            "await cab.datagram.send(2, b'x')",
            r"TypeError: a destination is written \(CAB, mailbox\), as in \(2, 1\) or \('CAB2', 1\), not 2",
        ),
        (
            "await cab.datagram.send([2, 3], b'x')",
            r"TypeError: a destination is written \(CAB, mailbox\), .* not \[2, 3\]",
        ),
        (
            "await cab.datagram.send((2, 1), [1, 2, 3])",
            r"TypeError: a message is bytes, .* not a list of int: bytes\(numbers\) makes bytes of it",
        ),
        (
            "await cab.datagram.send((2, 1), 'text')",
            r"TypeError: a message is bytes, .* not str: text\.encode\(\) makes bytes of it",
        ),
        ("await cab.request.call(2, b'x')", r"TypeError: a destination is written \(CAB, service\), .* not 2"),
        (
            "await cab.stream.connect(([2], 1))",
            r"TypeError: a port is on one CAB, given by its ID or its name, not by \[2\]",
        ),
        ("await cab.datagram.send((2, 'one'), b'x')", r"ValueError: a mailbox number is 0 to 65535, not 'one'"),
        ("await cab.datagram.send(('CAB9', 1), b'x')", r"NoRoute: there is no CAB 'CAB9'; there are CAB1, CAB2"),
        ("await cab.memory.allocate(-5)", r"ValueError: a block has 0 bytes or more, not -5"),
        ("await cab.sleep(-5)", r"ValueError: a time is a number of microseconds, 0 or more, not -5"),
        ("await cab.sleep(float('nan'))", r"ValueError: a time is a number of microseconds, 0 or more, not nan"),
        ("cab.compute(-5)", r"ValueError: a time is a number of microseconds, 0 or more, not -5"),
        (
            "await __import__('asyncio').sleep(0)",
            r"TypeError: a task can await only what its CAB offers, .* 'await cab\.sleep\(microseconds\)' waits "
            "in simulated time",
        ),
        (
            "await __import__('asyncio').sleep(1)",
            r"RuntimeError: no running event loop; asyncio does not run here: .*cab\.sleep\(microseconds\).*",
        ),
    ],
)
def test_a_wrong_call_is_told_with_its_line_and_what_to_write(refused, job, line, protected):
    text = program(job, "pass").replace('"CAB1", job', f'"CAB1", job, protected={protected}')
    got, _ = refused(text, status=2)
    unit = "ms" if protected else "[nu]s"  # the protection table is cleared first
    assert re.fullmatch(rf"task job 1 on CAB1 failed at [\d.]+ {unit}: {line} \(program\.py:5\)", got), got


def test_a_message_says_task_once_and_times_in_the_unit_that_suits_them(refused):
    text = program("while True: await cab.sleep(1_000_000)", "pass").replace("job", "task")
    line, _ = refused(text, "--max-time", "100s", status=1)
    assert line == "the time limit was reached at 100.000 s: task 1 on CAB1 waits for a timer (program.py:5)"
    line, _ = refused(program("raise ValueError('boo')", "pass").replace("job", "task"), status=2)
    assert re.fullmatch(r"task 1 on CAB1 failed at [\d.]+ ns: ValueError: boo \(program\.py:5\)", line), line


# -- shapes -----------------------------------------------------------------------------------------------
def test_a_topology_file_named_by_the_program_lies_beside_it(tmp_path, monkeypatch):
    there = tmp_path / "there"
    there.mkdir()
    cabs = (f"[cabs.CAB{n}]\n[[fibers]]\nbetween = ['CAB{n}', 'HUB1.P{n}']\n" for n in (1, 2))
    (there / "two.toml").write_text("".join(cabs) + "[hubs.HUB1]\n")
    (there / "program.py").write_text(program().replace('TOPOLOGY = "hub:2"', 'TOPOLOGY = "two.toml"'))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    command = ["run", "there/program.py", "--boards", "fast"]
    assert main(command) == 0
    assert main([*command, "--topology", "two.toml"]) == 2, "one of the command line is looked for where one is"


def test_a_cab_wired_to_a_cab_is_told(refused):
    text = program().replace(
        'TOPOLOGY = "hub:2"',
        "from nectar.sim.topology import Topology; "
        "TOPOLOGY = Topology('pair').cab('CAB1').cab('CAB2').fiber('CAB1', 'CAB2')",
    )
    line, _ = refused(text, status=2)
    assert line == ("pair: CAB1 is wired to CAB2, but CABs find each other through HUBs only: put a HUB between them")


# -- output -----------------------------------------------------------------------------------------------
PRINTS = "\n    ".join(["for _ in range(100_000):", "    print('x' * 10)"])


@pytest.mark.parametrize(
    "text", [program(main=PRINTS), program(PRINTS), program(PRINTS).replace("async def job", "def job")]
)
def test_an_output_that_nobody_reads_ends_the_program_quietly(nectar, text):
    """docs/tutorial/first-program.md: ``nectar run program.py | head -1``."""
    with nectar.start("run", nectar.program(text), "--boards", "fast") as process:
        process.stdout.readline()
        process.stdout.close()
        err, status = process.stderr.read(), process.wait()
    assert (status, err) == (141, "")


def test_a_closed_output_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["map"]) == 2
    told = "nectar: the standard output is closed; send it to /dev/null if nobody is to read it\n"
    assert capsys.readouterr().err == told

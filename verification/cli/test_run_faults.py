"""``nectar run --faults``: faults from the command line, what is told of them, and what is wrong with them
(docs/faults.md)."""

import json

import pytest

PROGRAM = """
TOPOLOGY = "hub:2"


async def send(cab, count):
    for number in range(count):
        await cab.datagram.send((2, 1), bytes([number]) * 100)
    await cab.sleep(20_000)


async def receive(cab):
    while True:
        (await cab.mailbox(1).receive()).free()


async def main(system, arguments):
    system.cab("CAB2").spawn(receive)
    system.spawn("CAB1", send, int(arguments[0]))
    await system.run()
    counters = system.cab("CAB2").datagram.counters
    print(counters.messages_received, "arrived")
    system.report("arrived", counters.messages_received)
"""


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture
def run(nectar):
    """Runs the program with those options; its output, and the results."""

    def run(*options, boards="fast", count=12):
        done = nectar("run", nectar.program(PROGRAM), count, "--boards", boards, "--json", "out.json", *options)
        assert done.returncode == 0 and not done.stderr.replace(
            "nectar: waiting for another process that builds the simulator\n", ""
        ), done
        return done.stdout.splitlines(), {
            result["id"]: result for result in json.loads((nectar.folder / "out.json").read_text())["results"]
        }

    return run


@pytest.mark.parametrize("boards", ["fast", "rtl"])
def test_faults_are_made_and_told_of(run, nectar, boards, simulator):
    (nectar.folder / "more.toml").write_text(
        '[[faults]]\nwhere = "CAB2-HUB1.P1"\nwhat = "lost-start"\nnth = 5\n'
        '[[faults]]\nwhere = "HUB1"\nwhat = "reset"\nat = "15ms"\n'
    )
    lines, results = run("--faults", "HUB1.P1->CAB2:errors-data,nth=100", "--faults", "more.toml", boards=boards)
    assert lines == [
        "10 arrived",
        "fault HUB1.P1->CAB2:errors-data,nth=100: 1 hit, 1 symbol",
        "fault CAB2-HUB1.P1:lost-start,nth=5: 1 hit, 1 symbol",
        "fault HUB1:reset,at=15ms: 1 hit, 0 symbols",
    ]
    assert results["arrived"]["value"] == 10
    assert [(results[f"faults.{n}"]["value"], results[f"faults.{n}"]["symbols"]) for n in (1, 2, 3)] == [
        (1, 1),
        (1, 1),
        (1, 0),
    ]
    assert results["faults.3"]["fault"] == "HUB1:reset,at=15ms"


def test_without_faults_nothing_is_told_of_them(run):
    lines, results = run()
    assert lines == ["12 arrived"] and set(results) == {"run.simulated_time", "arrived"}


def test_the_seed_decides(run):
    """Of 30 messages over a bad fiber about half arrive: that five seeds all give the same messages has a
    probability below 1e-6."""

    def told(seed):
        lines, _ = run("--faults=HUB1.P1->CAB2:errors=4e-3", "--seed", seed, count=30)
        return lines

    first = told(1)
    assert told(1) == first
    assert any(told(seed) != first for seed in range(2, 6))


def test_the_seed_is_1_if_left_out(run):
    fault = "--faults=CAB2:errors=4e-3"
    assert run(fault, count=30)[0] == run(fault, "--seed=1", count=30)[0]


def test_what_has_struck_is_told_even_if_the_program_fails(nectar):
    program = nectar.program(PROGRAM.replace("    await system.run()", "    await system.run()\n    raise system"))
    done = nectar("run", program, 3, "--boards", "fast", "--faults", "CAB2:lost-start")
    assert (
        done.returncode == 2
        and done.stdout == "fault CAB2:lost-start: 1 hit, 1 symbol\n"
        and done.stderr.count("\n") == 1
    )


@pytest.mark.parametrize(
    "options, message",
    [
        (
            ["--faults", "nonsense"],
            "--faults nonsense: a fault is written as WHERE:WHAT, as in CAB1-HUB1.P0:errors=1e-5, or is the name of a "
            ".toml file",
        ),
        (["--faults", "CAB1:errors=2"], "--faults CAB1:errors=2: errors: a rate is 0 to 1, not 2.0"),
        (
            ["--faults", "CAB1:cut,at=soon"],
            "--faults CAB1:cut,at=soon: at=soon: not a time; write a number and ps, ns, us, ms or s, as in 10ms",
        ),
        (["--faults", "CAB7:cut"], "--faults CAB7:cut: there is no fiber CAB7; there are CAB1-HUB1.P0, CAB2-HUB1.P1"),
        (["--faults", "CAB7:stop"], "--faults CAB7:stop: stop: there is no CAB CAB7; there are CAB1, CAB2"),
        (
            ["--faults", "HUB1.P99:disable"],
            "--faults HUB1.P99:disable: disable: HUB1 has no port P99; its ports are P0 to P15",
        ),
        (
            ["--faults", "CAB1:cut", "--faults", "no.toml"],
            "--faults no.toml: cannot be read: No such file or directory",
        ),
        (
            ["--faults", "bad.toml"],
            "--faults bad.toml: faults entry 1: there is no key 'when'; known are where, what, rate, nth, times, "
            "length, at, for, delay",
        ),
        (["--faults", "far.toml"], "--faults far.toml: there is no fiber CAB9; there are CAB1-HUB1.P0, CAB2-HUB1.P1"),
        (
            ["--faults", "far.toml", "--json", "far.toml"],
            "--json far.toml: --faults is the same file; give another name",
        ),
        (["--seed", "x"], "--seed x: not a seed; give a whole number from 0 on"),
        (["--seed=-1"], "--seed -1: not a seed; give a whole number from 0 on"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(nectar, options, message):
    (nectar.folder / "bad.toml").write_text('[[faults]]\nwhere = "CAB1"\nwhat = "cut"\nwhen = "now"\n')
    (nectar.folder / "far.toml").write_text('[[faults]]\nwhere = "CAB9"\nwhat = "cut"\n')
    assert nectar.refused("run", nectar.program(PROGRAM), 3, "--boards", "fast", *options) == message

"""``nectar run``: what a program gets, what comes out of it."""

import json
import os
import re
import shutil

import pytest

import nectar as package

HELLO = """
TOPOLOGY = "figure7"


async def send(cab, destination, data):
    await cab.datagram.send((destination, 1), data)


async def receive(cab):
    message = await cab.mailbox(1).receive()
    data = await message.read()
    message.free()
    return data


async def main(system, arguments):
    system.spawn("CAB3", send, system.id_of("CAB1"), " ".join(arguments).encode())
    receiver = system.spawn("CAB1", receive)
    await system.run()
    events = [] if system.recorder is None else list(system.recorder.recording().events())
    print(receiver.result.decode(), len(system.cabs), len(events))
"""


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_a_program_runs(nectar, simulator, boards):
    done = nectar("run", nectar.program(HELLO), "hello", "--boards", boards)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello 5 0\n", "")


@pytest.mark.parametrize("routes", ["given", "discovered"])
def test_routes_are_given_or_discovered(nectar, routes):
    text = HELLO.replace("len(events))", "system.cab('CAB1').datalink.discovery.explored)")
    done = nectar("run", nectar.program(text), "hi", "--boards", "fast", "--routes", routes)
    assert done.stdout == f"hi 5 {int(routes == 'discovered')}\n"


@pytest.mark.parametrize(
    "order, seen",
    [
        (["--boards", "fast", "P", "a"], "a"),
        (["P", "a", "--boards", "fast"], "a"),
        (["P", "--boards=fast", "--output", "c", "-x", "d"], "--output c -x d"),
        (
            ["--max-time=1s", "P", "--max", "3", "--boards", "fast", "--", "--boards", "rtl", "--"],
            "--max 3 --boards rtl --",
        ),
        (["--boards", "fast", "--", "P", "--topology", "x"], "--topology x"),
        (["--boards", "fast", "P", "--help"], "--help"),
    ],
)
def test_options_stand_before_or_behind_the_program(nectar, order, seen):
    program = nectar.program(HELLO)
    done = nectar("run", *[program if word == "P" else word for word in order])
    assert (done.returncode, done.stdout) == (0, f"{seen} 5 0\n")


def test_the_option_topology_goes_before_the_programs_own(nectar):
    done = nectar("run", nectar.program(HELLO), "hi", "--boards", "fast", "--topology", "chain:3")
    assert done.stdout == "hi 3 0\n"


def test_a_program_may_make_its_own_topology(nectar):
    text = HELLO.replace(
        'TOPOLOGY = "figure7"',
        'from nectar.sim.topology import Topology\n\nTOPOLOGY = Topology("own").hub("HUB1")\n'
        'for number in (1, 3):\n    TOPOLOGY.cab(f"CAB{number}").fiber(f"CAB{number}", f"HUB1.P{number}")\n',
    )
    done = nectar("run", nectar.program(text), "hi", "--boards", "fast")
    assert (done.stdout, done.stderr) == ("hi 2 0\n", "")


def test_a_program_may_have_modules_beside_it(nectar):
    nectar.program("WORD = 'neighbour'\n", "beside.py")
    text = "import beside\nTOPOLOGY = 'hub:1'\nasync def main(system, arguments):\n    print(beside.WORD, __name__)\n"
    (nectar.folder / "sub").mkdir()
    nectar.program(text)
    done = nectar("run", nectar.folder / "program.py", "--boards", "fast")
    assert done.stdout == "neighbour nectar_program\n"


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_a_program_may_have_what_happens_recorded(nectar, simulator, boards):
    done = nectar("run", nectar.program(f"TRACE = True\n{HELLO}"), "hello", "--boards", boards)
    assert int(done.stdout.split()[2]) > 30


REPORT = """
TOPOLOGY = "hub:1"


async def main(system, arguments):
    system.report("first", 1.5, "us", remark="none")
    system.report("second", 3, target=3, ok=arguments == ["fine"])
"""


@pytest.mark.parametrize("fine", [True, False])
def test_what_a_program_reports_decides_the_exit_code_and_goes_into_the_json_file(nectar, fine):
    done = nectar("run", nectar.program(REPORT), *["fine"] * fine, "--boards", "fast", "--json", "out.json")
    assert (done.returncode, done.stderr) == (0 if fine else 1, "")
    content = json.loads((nectar.folder / "out.json").read_text())
    assert content["version"] == package.__version__
    own, *reported = content["results"]
    assert (own["id"], own["value"], own["unit"]) == ("run.simulated_time", 0, "ns")
    assert reported == [
        {"id": "first", "value": 1.5, "unit": "us", "target": None, "ok": None, "remark": "none"},
        {"id": "second", "value": 3, "unit": None, "target": 3, "ok": fine},
    ]


@pytest.mark.parametrize("ending, status", [("sys.exit()", 0), ("sys.exit(0)", 0), ("return", 0)])
def test_a_program_may_end_itself(nectar, ending, status):
    text = f"import sys\nTOPOLOGY = 'hub:1'\nasync def main(system, arguments):\n    print('here')\n    {ending}\n"
    done = nectar("run", nectar.program(text), "--boards", "fast")
    assert (done.returncode, done.stdout, done.stderr) == (status, "here\n", "")


def test_what_a_program_says_of_its_options_has_its_name(nectar):
    text = (
        "import argparse\nTOPOLOGY = 'hub:1'\nasync def main(system, arguments):\n"
        "    argparse.ArgumentParser().parse_args(arguments)\n"
    )
    done = nectar("run", nectar.program(text), "--boards", "fast", "--help-me")
    assert done.returncode == 2 and "program.py: error: unrecognized arguments: --help-me\n" in done.stderr
    assert "nectar: error:" not in done.stderr


def test_a_window_behind_the_end_of_the_program_is_told(nectar, simulator):
    done = nectar("run", nectar.program(HELLO), "hello", "--waves", "w.vcd", "--wave-window", "5s:6s")
    assert (done.returncode, done.stdout) == (0, "hello 5 0\n")
    assert re.fullmatch(
        r"nectar: --wave-window 5s:6s: the program ended at \d+\.\d+ us of simulated time, before it; w\.vcd shows "
        r"nothing\n",
        done.stderr,
    ), done.stderr


@pytest.mark.parametrize("suffix", [".vcd", ".fst"])
def test_waveforms_are_recorded(nectar, simulator, suffix):
    done = nectar(
        "run",
        nectar.program(HELLO),
        "hello",
        "--waves",
        f"w{suffix}",
        "--wave-boards",
        "HUB1,CAB1",
        "--wave-window",
        "20us:30us",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in nectar.folder.iterdir()) == sorted(
        ["program.py", f"w{suffix}", "w.gtkw", "w.names"]
    )
    content = (nectar.folder / f"w{suffix}").read_bytes()
    assert len(content) > 1000
    if suffix == ".vcd":
        assert b"HUB1" in content and b"CAB1" in content and b"HUB2" not in content
        times = [int(line[1:]) for line in content.split(b"\n") if line.startswith(b"#")]
        assert 20_000_000 <= times[1] and times[-1] <= 30_000_000


def test_waveforms_end_at_their_limit_with_a_word(nectar, simulator):
    sizes = []
    for options in ([], ["--wave-limit", "200k"]):
        done = nectar("run", nectar.program(HELLO), "hello", "--waves", "w.vcd", "--wave-boards", "CAB1", *options)
        assert (done.returncode, done.stdout) == (0, "hello 5 0\n")
        sizes.append(os.path.getsize(nectar.folder / "w.vcd"))
    assert re.fullmatch(
        r"nectar: --waves w\.vcd: the waveforms have reached 200\.0 kbyte at \d+\.\d+ us of simulated time and end "
        r"there; give a larger --wave-limit, or record less by --wave-boards and --wave-window\n",
        done.stderr,
    ), done.stderr
    assert 200_000 <= sizes[1] < sizes[0]
    text = (nectar.folder / "w.vcd").read_text()
    assert "$enddefinitions" in text and text.endswith("\n")


def test_a_damaged_simulator_is_linked_again(nectar, simulator):
    """Half of a library would end the process with a bus error."""
    cache = nectar.folder / "cache"
    cache.mkdir()
    for path in simulator.parent.iterdir():
        if re.match(r"\.?(verilog|objects)-(cab|hub16|core|kinds|runtime)-", path.name) or path.name.removeprefix(
            "."
        ).startswith(simulator.name):
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, cache / path.name)
    nectar.environment["NECTAR_CACHE_DIR"] = str(cache)
    assert nectar("run", nectar.program(HELLO), "hello").stderr == ""
    os.truncate(cache / simulator.name, simulator.stat().st_size // 2)
    done = nectar("run", "program.py", "hello")
    assert (done.returncode, done.stdout) == (0, "hello 5 0\n"), done
    assert (
        done.stderr.startswith("nectar: what was kept is damaged; building the simulator (what has changed)")
        and "compiling" not in done.stderr
    )


def test_sleep_changes_no_result(nectar, simulator):
    results = []
    for options in ([], ["--no-sleep"]):
        nectar("run", nectar.program(HELLO), "hello", "--json", "out.json", *options)
        results.append(json.loads((nectar.folder / "out.json").read_text()))
    assert results[0] == results[1]


def test_a_cached_simulator_needs_no_compiler(nectar, simulator):
    nectar.environment["PATH"] = "/nowhere"
    assert nectar("run", nectar.program(HELLO), "hello").stdout == "hello 5 0\n"

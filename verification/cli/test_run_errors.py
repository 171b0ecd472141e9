"""``nectar run``: whatever goes wrong is one clear line, exit code 2, and nothing left behind."""

import os
import re

import pytest

from nectar.verification.cli.caches import verilog_of

MAIN = "TOPOLOGY = 'hub:2'\nasync def main(system, arguments):\n    "


def task(body):
    """A program with one task, which does ``body``, on CAB1."""
    return (
        f"TOPOLOGY = 'hub:2'\nasync def job(cab):\n    {body}\nasync def main(system, arguments):\n"
        "    system.spawn('CAB1', job)\n    await system.run()\n"
    )


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture
def refused(nectar):
    """Runs a program (its text) that must fail; the line that says why."""

    def run(text, *options, boards="fast", **more):
        line = nectar.refused("run", nectar.program(text), "--boards", boards, *options, **more)
        assert os.listdir(nectar.folder) == ["program.py"]
        return line

    return run


# -- the program's file -----------------------------------------------------------------------------------
def test_no_program(nectar):
    assert "arguments are required: PROGRAM.py" in nectar.refused("run")


def test_program_file_is_missing(nectar):
    assert nectar.refused("run", "nowhere.py") == "nowhere.py: there is no such program file"


def test_program_file_is_a_directory(nectar):
    assert nectar.refused("run", nectar.folder).endswith(
        "it is a directory, not a program; give the name of a Python file"
    )


def test_program_file_cannot_be_read(nectar):
    """The memory of a process at address 0 is a file that exists and that nobody can read."""
    assert nectar.refused("run", "/proc/self/mem") == "/proc/self/mem: the program cannot be read: Input/output error"


@pytest.mark.parametrize(
    "text, line",
    [
        ("x = 1\ndef main(:\n", r"program\.py:2: syntax error: .+"),
        ("x = '\n", r"program\.py:1: syntax error: unterminated string literal.*"),
        ("  x = 1\n", r"program\.py:1: syntax error: unexpected indent"),
        ("x = 1\0\n", r"program\.py(:1: syntax error|: not a Python program): source code .*null bytes"),
        (
            "import nowhere_to_be_found\n",
            r"program\.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found' \(while it was loaded\)",
        ),
        (
            "from mpi4py import MPI\n",
            r"program\.py:1: ModuleNotFoundError: No module named 'mpi4py' \(it is written for mpi4py; 'nectar mpirun' "
            r"runs such programs\)",
        ),
        (
            "def f():\n    return 1 / 0\n\nf()\n",
            r"program\.py:2: ZeroDivisionError: division by zero \(while it was loaded\)",
        ),
        ("import sys\nsys.exit('not today')\n", r"program\.py: not today"),
        ("TOPOLOGY = 'hub:2'\n", r"program\.py: it has no 'async def main\(system, arguments\)' to run"),
        (
            "TOPOLOGY = 'hub:2'\ndef main(system, arguments): pass\n",
            r"program\.py: 'main' must be 'async def main\(system, arguments\)'",
        ),
        (
            "TOPOLOGY = 'hub:2'\nasync def main(system): pass\n",
            r"program\.py: 'main' must be 'async def main\(system, arguments\)'.*",
        ),
        ("async def main(system, arguments): pass\n", r"program\.py has no TOPOLOGY; add one, or give --topology"),
        ("TOPOLOGY = 5\nasync def main(system, arguments): pass\n", r"program\.py: TOPOLOGY must be .*"),
        (
            "TOPOLOGY = 'hub:2'\nNODES = 'CAB1'\nasync def main(system, arguments): pass\n",
            r"program\.py: NODES must be a list of names of CABs, or True for all, not 'CAB1'",
        ),
        (
            "TOPOLOGY = 'hub:2'\nNODES = ['CAB3']\nasync def main(system, arguments): pass\n",
            r"program\.py: NODES names 'CAB3', but hub:2 has CAB1, CAB2",
        ),
        (
            "TOPOLOGY = 'hub:2'\nNODES = 7\nasync def main(system, arguments): pass\n",
            r"program\.py: NODES must be a list of names .*",
        ),
    ],
)
def test_a_program_that_cannot_be_loaded(simulator, refused, text, line):
    assert re.fullmatch(line, refused(text))


def test_a_program_that_is_no_text(nectar):
    (nectar.folder / "program.py").write_bytes(b"x = '\xff\xfe'\n")
    assert nectar.refused("run", "program.py").startswith("program.py:1: syntax error: (unicode error)")


# -- what main and the tasks do ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text, line",
    [
        (MAIN + "raise ValueError('boo')", r"program\.py:3: ValueError: boo"),
        (MAIN + "raise ValueError('two\\nlines')", r"program\.py:3: ValueError: two lines"),
        (MAIN + "system.spawn('CAB9', main)", r"there is no CAB 'CAB9'; there are CAB1, CAB2 \(program\.py:3\)"),
        (
            MAIN + "open('nowhere')",
            r"program\.py:3: FileNotFoundError: \[Errno 2\] No such file or directory: 'nowhere'",
        ),
        (MAIN + "raise __import__('nectar.software').software.ProgramError('no such file')", "no such file"),
        (MAIN + "raise SystemExit('enough')", r"program\.py: enough"),
        (MAIN + "raise SystemExit(7)", r"program\.py ended with exit code 7"),
        (
            MAIN + "await __import__('asyncio').sleep(1)",
            r"program\.py:3: RuntimeError: no running event loop; asyncio does not run here: .*",
        ),
        (
            MAIN + "await __import__('asyncio').sleep(0)",
            r"program\.py:3: main awaits what only a task may await; .*system\.run.*",
        ),
        (
            MAIN + "await system.cab('CAB1').mailbox(1).receive()",
            r"only a task can wait .*system\.spawn \(program\.py:3\)",
        ),
        (
            task("raise ValueError('boo')"),
            r"task job 1 on CAB1 failed at [\d.]+ [nu]s: ValueError: boo \(program\.py:3\)",
        ),
        (
            task("cab.door.write(0, 1); await cab.sleep(1)"),
            r"task job 1 on CAB1 failed at .* bus error: store to 0x000000; .*\(program\.py:3\)",
        ),
        (task("await cab.datagram.send((9, 1), b'x')"), r"task job 1 on CAB1 failed at .*9.*\(program\.py:3\)"),
        (
            task("await __import__('asyncio').sleep(0)"),
            r"task job 1 on CAB1 failed at [\d.]+ [nu]s: TypeError: a task can await only .*",
        ),
    ],
)
def test_a_program_that_fails(refused, text, line):
    assert re.fullmatch(line, refused(text))


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_a_task_that_waits_for_ever(refused, simulator, boards):
    assert "task job 1 on CAB1 waits for mailbox 4 of CAB1 (program.py:3)" in refused(
        task("await cab.mailbox(4).receive()"), boards=boards, status=1
    )


def test_several_tasks_that_wait_for_ever_have_a_line_each(here):
    """docs/software.md, "A run that cannot end"."""
    text = task("cab.mailbox(4).receive()").replace("async def job", "def job")
    text = text.replace("    await system.run", "    system.spawn('CAB2', job)\n    await system.run")
    done = here("run", here.program(text), "--boards", "fast")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"nectar: nothing can happen any more at [\d.]+ us, where\n"
        r"  task job 1 on CAB1 waits for mailbox 4 of CAB1 \(program\.py:3\)\n"
        r"  task job 1 on CAB2 waits for mailbox 4 of CAB2 \(program\.py:3\)\n",
        done.stderr,
    ), done.stderr


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_a_task_that_never_ends_is_ended_by_max_time(refused, simulator, boards):
    line = refused(
        task("\n    ".join(["while True:", "    await cab.sleep(100)"])), "--max-time", "5ms", boards=boards, status=1
    )
    assert line == "the time limit was reached at 5.000 ms: task job 1 on CAB1 waits for a timer (program.py:4)"


@pytest.mark.parametrize("boards", ["rtl", "fast"])
@pytest.mark.parametrize("options", [["--stall-time", "1s"], ["--stall-time=1.5s", "--max-time", "1ms"]])
def test_a_task_that_gives_no_control_back_is_named_and_ended(refused, simulator, boards, options):
    line = refused(task("\n    ".join(["await cab.sleep(100)", "while True: pass"])), *options, boards=boards)
    seconds = "1" if "1s" in options else "1.5"
    assert re.fullmatch(
        rf"task job 1 on CAB1 computes without giving control back: for {re.escape(seconds)} s simulated time has "
        rf"stood "
        r"still at 1\d\d\.\d\d\d us \(program\.py:4 in job\)",
        line,
    ), line


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "__import__('time').sleep(100)",
        "while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    ],
)
def test_a_main_that_gives_no_control_back_is_ended(refused, body):
    assert refused(MAIN + body, "--stall-time", "1s").startswith("main computes without giving control back: ")


def test_a_handler_that_gives_no_control_back_is_ended(refused):
    text = task(
        "\n    ".join(
            ["async def handler():", "    while True: pass", "cab.door.attach(handler)", "await cab.sleep(100)"]
        )
    )
    assert "without giving control back" in refused(text, "--stall-time", "1s")


def test_stall_time_0_waits_for_ever(nectar):
    text = MAIN + "__import__('time').sleep(1); print('done')"
    assert nectar("run", nectar.program(text), "--boards", "fast", "--stall-time", "0s").stdout == "done\n"


# -- options ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options, line",
    [
        (["--topology", "hub:99"], r"hub:99: a HUB of 16 ports takes 1 to 16 CABs; .*"),
        (["--topology", "hub:0"], r"hub:0: a HUB of 16 ports takes 1 to 16 CABs"),
        (["--topology", "hub:1000"], r"hub:1000: a HUB of 16 ports takes 1 to 16 CABs"),
        (["--topology", "hub:x"], r"topology 'hub:x' is not understood; write hub:N, N CABs on one HUB"),
        (["--topology", "mesh:0x3"], r"mesh:0x3: a mesh has 1 to 254 HUBs, not 0"),
        (["--topology", "chain:1000"], r"chain:1000: a chain has 1 to 254 HUBs, not 1000"),
        (["--topology", ""], r"there is no topology ''; .*"),
        (["--topology", "star"], r"there is no topology 'star'; .*"),
        (["--topology", "nowhere.toml"], r"nowhere\.toml: cannot be read: No such file or directory"),
        (["--profile", "fast"], r"--profile: there is no profile 'fast'; there is modern, prototype"),
        (["--boards", "abacus"], r"--boards abacus: boards are rtl or fast"),
        (["--routes", "guessed"], r"--routes guessed: routes are given or discovered"),
        (["--max-time", "5"], r"--max-time 5: not a time; write a number and ps, ns, us, ms or s, as in 10ms"),
        (["--max-time", "-5ms"], r"--max-time -5ms: not a time; .*"),
        (["--stall-time", "soon"], r"--stall-time soon: not a time; .*"),
        (["--max-time"], r"argument --max-time: expected one argument; .*"),
        (["--waves", "w.txt"], r"--waves w\.txt: the name must end in \.vcd or \.fst, which is the format"),
        (["--waves", ".vcd"], r"--waves \.vcd: the name must end in \.vcd or \.fst, which is the format"),
        (["--waves", "w.vcd", "--json", "w.vcd"], r"--json w\.vcd: --waves is the same file; give another name"),
        (
            ["--waves", "w.fst", "--json", "w.gtkw"],
            r"--json w\.gtkw: --waves w\.fst writes it besides; give another name",
        ),
        (["--waves", "w.vcd", "--record", "w.gtkw"], r"--record w\.gtkw: --waves w\.vcd writes it besides; .*"),
        (["--waves", "w.fst", "--report", "./w.gtkw"], r"--report \./w\.gtkw: --waves w\.fst writes it besides; .*"),
        (["--waves", "w.fst", "--pcap", "w.names"], r"--pcap w\.names: --waves w\.fst writes it besides; .*"),
        (["--json", "program.py"], r"--json program\.py: the program is the same file; give another name"),
        (
            ["--topology", "t.toml", "--json", "./t.toml"],
            r"--json \./t\.toml: --topology is the same file; give another name",
        ),
        (["--max-time", "9223373s"], r"--max-time 9223373s: longer than the 9223372 s that can be simulated"),
        (["--max-time", "9" * 400 + "s"], r"--max-time 9+s: longer than the 9223372 s that can be simulated"),
        (
            ["--waves", "w.vcd", "--wave-window", "1us:99999999s"],
            r"--wave-window 99999999s: longer than the 9223372 s that can be simulated",
        ),
        (
            ["--waves", "no/where/w.vcd"],
            r"--waves no/where/w\.vcd cannot be written: there is no directory .*/no/where",
        ),
        (["--wave-boards", "CAB1"], r"--wave-boards needs --waves FILE"),
        (["--wave-window", "1us:2us"], r"--wave-window needs --waves FILE"),
        (["--wave-limit", "1M"], r"--wave-limit needs --waves FILE"),
        (["--waves", "w.vcd", "--wave-limit", "much"], r"--wave-limit much: not a size; .*"),
        (
            ["--waves", "w.vcd", "--wave-boards", "CAB1,CAB9"],
            r"--wave-boards: hub:2 has no board 'CAB9'; it has HUB1, CAB1, CAB2",
        ),
        (["--waves", "w.vcd", "--wave-boards", ","], r"--wave-boards names no board; .*"),
        (["--waves", "w.vcd", "--wave-window", "5us"], r"--wave-window 5us: write FROM:TO, as in 10us:150us"),
        (["--waves", "w.vcd", "--wave-window", "5us:3us"], r"--wave-window 5us:3us: it ends before it begins"),
        (
            ["--waves", "w.vcd", "--boards", "fast"],
            r"--waves: CAB1 is a fast board, which has no waveforms; record RTL boards only \(--wave-boards\), or "
            r"make it one \(--rtl\)",
        ),
        (["--json", "no/where"], r"--json no/where cannot be written: there is no directory .*/no"),
        (["--json", "."], r"--json \. cannot be written: it is a directory"),
    ],
)
def test_wrong_options(here, options, line):
    got = here.refused("run", here.program(MAIN + "pass"), *options)
    assert re.fullmatch(line, got), got
    assert os.listdir(here.folder) == ["program.py"]


def test_an_unknown_option_before_the_program_is_told(here):
    line = here.refused("run", "--wave", "x.vcd", here.program(MAIN + "pass"))
    assert line.startswith(
        "there is no option --wave; the nearest is --waves; options of the program stand behind its name"
    )


def test_a_topology_file_is_explained_by_its_entry(here):
    (here.folder / "own.toml").write_text('[hubs.HUB1]\n[cabs.CAB1]\n[[fibers]]\nbetween = ["CAB1", "HUB1.P99"]\n')
    line = here.refused("run", here.program(MAIN + "pass"), "--topology", "own.toml")
    assert line.startswith("own.toml: fiber CAB1 - HUB1.P99: HUB1 has no port P99")


@pytest.mark.parametrize(
    "text, line",
    [
        ("", "there is no CAB; declare at least one"),
        ("[hubs.HUB1\n", r"no valid TOML: Expected '\]' .*"),
        ("hubs = 3\n", "hubs must be a table, not 3"),
        ("hubs.HUB1 = [1]\n", r"hubs\.HUB1 must be a table, not \[1\]"),
        ("fibers = 'all'\n", r"fibers must be an array of tables; write \[\[fibers\]\]"),
        ("x = " + "[" * 100_000, "no topology: its brackets are nested too deeply"),
        ("x = " + "1" * 5000, "no valid TOML: .*"),
        ("[hubs.HUB1]\nports = '4'\n", "HUB1: a HUB has 2 to 128 ports, not '4'"),
        ("[hubs.HUB1]\nphase_ns = 1e300\n", r"HUB1: phase_ns may be at most 1000000000, not 1e\+300"),
        (
            "[hubs.HUB1]\n[cabs.CAB1]\n[cabs.CAB2]\n[[fibers]]\nbetween = ['CAB1', 'HUB1.P0']\n[[fibers]]\nbetween = "
            "['CAB2', 'HUB1.P0']\n",
            r"fiber CAB2 - HUB1\.P0: HUB1\.P0 is already wired by fiber CAB1 - HUB1\.P0; use another port",
        ),
        (
            "[hubs.HUB1]\n[cabs.CAB1]\n[[fibers]]\nbetween = ['CAB1', 'HUB2.P0']\n",
            "fiber CAB1 - HUB2.P0: there is no board HUB2; declare it .*",
        ),
        (
            "[hubs.HUB1]\n[hubs.HUB2]\n[cabs.CAB1]\n[cabs.CAB2]\n[[fibers]]\nbetween = ['CAB1', "
            "'HUB1.P0']\n[[fibers]]\n"
            "between = ['CAB2', 'HUB2.P0']\n",
            "CAB2 cannot be reached from CAB1; wire their HUBs together",
        ),
        (
            "[hubs.HUB1]\n[cabs.CAB1]\n[[fibers]]\nbetween = ['CAB1', 'HUB1.P0']\nsymbol_ns = 1e20\n",
            r"fiber CAB1 - HUB1\.P0: a symbol of 1e\+11 s is longer than the 1 s that it may take",
        ),
        (
            "".join(f"[hubs.HUB{n}]\n" for n in range(300)),
            "HUB255: the id of a HUB is 0 to 254, not 255; give another id",
        ),
    ],
)
def test_an_odd_topology_file(here, text, line):
    (here.folder / "odd.toml").write_text(text)
    got = here.refused("run", here.program(MAIN + "pass"), "--topology", "odd.toml")
    assert re.fullmatch(rf"odd\.toml: {line}", got), got
    assert sorted(os.listdir(here.folder)) == ["odd.toml", "program.py"]


@pytest.mark.parametrize(
    "text, line",
    [
        ("", "defines no topology; .*"),
        ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
        ("def topology():\n    return topology()\n", "RecursionError: .*"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_an_odd_topology_in_python(here, text, line):
    (here.folder / "odd.py").write_text(text)
    got = here.refused("run", here.program(MAIN + "pass"), "--topology", "odd.py")
    assert re.fullmatch(rf"odd\.py: {line}", got), got


@pytest.mark.parametrize("option, name", [("--waves", "w.vcd"), ("--waves", "w.fst"), ("--json", "j.json")])
def test_a_place_that_refuses_files_is_told(nectar, simulator, option, name):
    """/proc takes no files, not even from root."""
    assert f"/proc/{name}" in nectar.refused("run", nectar.program(MAIN + "pass"), option, f"/proc/{name}")


def test_waveforms_go_where_a_link_leads_and_into_no_pipe(nectar, simulator):
    (nectar.folder / "link.vcd").symlink_to("there.vcd")
    assert nectar("run", nectar.program(MAIN + "pass"), "--waves", "link.vcd").returncode == 0
    assert (nectar.folder / "link.vcd").is_symlink() and "$enddefinitions" in (nectar.folder / "there.vcd").read_text()
    os.mkfifo(nectar.folder / "pipe.vcd")
    assert (
        nectar.refused("run", "program.py", "--waves", "pipe.vcd")
        == "--waves pipe.vcd cannot be written: it is no file"
    )
    assert (nectar.folder / "pipe.vcd").is_fifo()
    assert sorted(os.listdir(nectar.folder)) == [
        "link.gtkw",
        "link.names",
        "link.vcd",
        "pipe.vcd",
        "program.py",
        "there.vcd",
    ]


def test_no_compiler_and_no_simulator_in_the_cache(nectar):
    nectar.environment |= {"PATH": "/nowhere", "NECTAR_CACHE_DIR": str(nectar.folder / "cache")}
    nectar.environment.pop("CXX", None)
    assert nectar.refused("run", nectar.program(MAIN + "pass"), "--waves", "w.vcd").startswith(
        "no C++ compiler was found; install g++"
    )
    assert sorted(os.listdir(nectar.folder)) == ["cache", "program.py"]


@pytest.mark.parametrize(
    "compiler, line",
    [
        ("nowhere", r"CXX names 'nowhere', which is not there; set CXX to a C\+\+ compiler or unset it"),
        ("./c++", r"compiling .* failed \(exit code 1\): error: no more"),
    ],
)
def test_a_compiler_that_is_missing_or_fails(nectar, simulator, compiler, line):
    """Progress stands above the line that tells what is wrong. The Verilog is there already."""
    verilog_of(simulator, nectar.folder / "cache")
    (nectar.folder / "c++").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo worn out && exit\necho "error: no more" >&2\nexit 1\n'
    )
    (nectar.folder / "c++").chmod(0o755)
    nectar.environment |= {
        "CXX": compiler.replace("./", f"{nectar.folder}/"),
        "NECTAR_CACHE_DIR": str(nectar.folder / "cache"),
    }
    done = nectar("run", nectar.program(MAIN + "pass"), "--waves", "w.vcd")
    *progress, last = done.stderr.splitlines()
    assert done.returncode == 2 and re.fullmatch(f"nectar: {line}", last), done.stderr
    assert all(item.startswith("nectar: ") for item in progress) and "Traceback" not in done.stderr
    assert sorted(os.listdir(nectar.folder)) == ["c++", "cache", "program.py"]
    assert not [name for name in os.listdir(nectar.folder / "cache") if name.startswith("tmp-")]


def test_debug_shows_the_traceback(nectar):
    done = nectar("run", nectar.program(MAIN + "raise ValueError('boo')"), "--boards", "fast", "--debug")
    assert done.returncode == 2
    assert done.stderr.startswith("Traceback") and 'program.py", line 3' in done.stderr
    assert done.stderr.endswith("\nnectar: program.py:3: ValueError: boo\n")

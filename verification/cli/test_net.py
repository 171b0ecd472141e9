"""``nectar net`` from the command line: docs/net.md."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256

import pytest

from nectar.net import namespaces
from nectar.net.namespaces import FOLDER
from nectar.verification.net.marks import privileged
from nectar.verification.software.helpers import pattern

NAME = f"nectar-test-{os.getpid()}"
NET = ("--name", NAME)
FAST = ("--topology", "hub:2", "--boards", "fast", *NET)
#: Says that it runs, and sleeps.
SLEEPER = [sys.executable, "-c", "print('sleeping', flush=True); import time; time.sleep(600)"]


@pytest.mark.parametrize(
    "words, line",
    [
        ([], "say what to do: up, exec, run, status, down"),
        (["go"], "there is no action 'go'; there are up, exec, run, status, down"),
        (["up"], "say by --topology what is wired to what"),
        (["up", "--topology", "hub:2", "--pace", "slow"], "--pace slow: give the seconds of this machine"),
        (["up", "--topology", "hub:2", "--network", "10.89.0.1/24"], "--network: 10.89.0.1/24 has host bits set"),
        (["up", "--name", "a b"], "--name a b: a name has letters, digits, - and _, 40 at most"),
        (["up", "--topology", "hub:2", "--", "true"], "'nectar net up' takes no command"),
        (["run", "--topology", "hub:2"], "write the command behind '--'"),
        (["exec", "CAB1"], "write the command behind '--'"),
        (["exec", *NET, "CAB1", "--", "true"], "there is no network NAME; 'nectar net up' makes one"),
        (["status", *NET], "there is no network NAME"),
        (["down", *NET], "there is no network NAME"),
    ],
)
def test_wrong_use_is_refused_in_one_line(here, words, line):
    assert line.replace("NAME", repr(NAME)) in here.refused("net", *words)


def test_without_roots_rights_one_line_says_so(here, monkeypatch):
    monkeypatch.setattr(namespaces, "privileged", lambda: False)
    assert "take root's rights" in here.refused("net", "up", "--topology", "hub:2", *NET)


@privileged
def test_an_address_range_in_use_is_refused(here):
    assert "this machine has a route into 192.0.2.0/24 already" in _taken(here)


def _taken(here):
    """What is said of the network that this machine itself is in."""
    with os.popen("ip -4 route show scope link") as routes:
        for line in routes:
            address, _, bits = line.split()[0].partition("/")
            if bits == "24":
                line = here.refused("net", "up", "--topology", "hub:2", *NET, "--network", f"{address}/24")
                return line.replace(address, "192.0.2.0")
    pytest.skip("this machine is in no network of 256 addresses")


def left():
    """What there still is of the network."""
    return [f"{FOLDER}/{NAME}"] * os.path.exists(f"{FOLDER}/{NAME}") + [
        place for place in os.listdir("/run/netns") if place.startswith(f"{NAME}-")
    ]


class Up:
    """A network that stands, in a process of its own."""

    def __init__(self, nectar, *options):
        self.process = nectar.start("net", "up", *FAST, *options)
        self.lines = [self.process.stdout.readline() for _ in range(3)]


@pytest.fixture
def up(nectar):
    """Starts networks, and ends them."""
    started = []

    def start(*options):
        started.append(Up(nectar, *options))
        return started[-1]

    yield start
    for network in started:
        network.process.kill()
        network.process.communicate()
    if left():
        assert nectar("net", "down", *NET).returncode == 0
    assert not left()


@privileged
def test_a_network_is_used_told_of_and_taken_down(nectar, up):
    network = up()
    assert network.lines[:2] == ["CAB1 10.89.0.1\n", "CAB2 10.89.0.2\n"] and "MTU 1000" in network.lines[2]
    ask = "import socket; print(socket.gethostname(), socket.gethostbyname('CAB2'))"
    done = nectar("net", "exec", *NET, "cab1", "--", sys.executable, "-c", ask)
    assert (done.returncode, done.stdout) == (0, "CAB1 10.89.0.2\n")
    assert nectar("net", "exec", *NET, "CAB1", "--", "sh", "-c", "exit 7").returncode == 7
    assert nectar.refused("net", "exec", *NET, "CAB1", "--", "no-such-program") == (
        "no-such-program cannot be run: No such file or directory"
    )
    assert "there are CAB1, CAB2" in nectar.refused("net", "exec", *NET, "CAB9", "--", "true")
    assert f"the network {NAME!r} stands already" in nectar.refused("net", "up", *FAST)
    assert "packets sent" in nectar("net", "status", *NET).stdout
    with nectar.start("net", "exec", *NET, "CAB2", "--", *SLEEPER) as sleeper:
        assert sleeper.stdout.readline() == "sleeping\n"
        assert nectar("net", "down", *NET).returncode == 0
        assert sleeper.wait(60) == -signal.SIGTERM
    assert network.process.wait(60) == 128 + signal.SIGTERM and not left()


@privileged
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_ends_the_network_leaves_nothing_or_down_removes_it(nectar, up, number):
    network = up()
    network.process.send_signal(number)
    assert network.process.wait(60) == (130 if number == signal.SIGINT else -number)
    if number == signal.SIGKILL:
        assert "was not taken away, since its process was ended" in nectar.refused("net", "up", *FAST)
        assert "'nectar net down" in nectar.refused("net", "status", *NET)
        assert nectar("net", "down", *NET).returncode == 0
    assert not left()


@privileged
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_a_packet_file_shows_the_ip_packets(nectar):
    ask = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'over the boards', ('CAB2', 4000))"
    nectar.environment["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    script = f'nectar net exec CAB1 -- {shlex.quote(sys.executable)} -c "{ask}"; sleep 0.3'
    done = nectar("net", "run", *FAST, "--pcap", "p.pcapng", "--json", "out.json", "--", "sh", "-c", script)
    assert done.returncode == 0 and nectar("dissector").returncode == 0
    found = {each["id"]: each["value"] for each in json.loads((nectar.folder / "out.json").read_text())["results"]}
    assert found["net.sent"] >= found["net.received"] >= 1 and found["net.dropped"] == 0 < found["net.busy_time"]
    fields = [word for field in ("_ws.col.Info", "ip.dst", "udp.dstport") for word in ("-e", field)]
    shown = subprocess.run(
        ["tshark", "-X", "lua_script:nectar.lua", "-r", "p.pcapng", "-T", "fields", *fields],
        cwd=nectar.folder,
        text=True,
        capture_output=True,
    ).stdout.splitlines()
    assert "ip 1 > 2: 10.89.0.1 to 10.89.0.2, 43 bytes\t10.89.0.2\t4000" in shown


@privileged
def test_a_script_runs_beside_its_network_which_is_taken_away(nectar):
    python = shlex.quote(sys.executable)
    script = f"nectar net exec CAB1 -- {python} -c 'import socket; print(socket.gethostbyname(\"CAB2\"))'; exit 3"
    nectar.environment["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    done = nectar("net", "run", *FAST, "--pcap", "p.pcapng", "--", "sh", "-c", script)
    assert done.returncode == 3 and done.stdout.startswith("10.89.0.2\n0 packets sent")
    said = "nectar: sh ended with exit code 3; what happened up to then is in p.pcapng"
    assert done.stderr.splitlines()[-1] == said
    assert not left() and (nectar.folder / "p.pcapng").stat().st_size
    assert "cannot be run" in nectar.refused("net", "run", *FAST, "--", "no-such-program") and not left()


@privileged
def test_a_user_namespace_will_do(nectar):
    """Where /dev/net/tun may be opened: in it nobody is root of the machine."""
    nectar.environment["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    inside = (
        "mount -t tmpfs none /run && exec nectar net run " + " ".join(FAST) + " -- nectar net exec CAB1 -- hostname"
    )
    done = subprocess.run(
        ["unshare", "-Urnm", "sh", "-c", inside], env=nectar.environment, text=True, capture_output=True
    )
    if "unshare failed" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0 and done.stdout.startswith("CAB1\n"), done.stderr


SERVE = "python3 -m http.server --bind CAB2 80 >/dev/null 2>&1 & "
WAIT = "until curl -s -o /dev/null http://CAB2/; do sleep 0.1; done; "


def session(nectar, on_cab2, on_cab1, *options):
    """Runs shell commands on both nodes; the finished process. What CAB1's does decides."""
    nectar.environment["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    script = f"nectar net exec CAB2 -- sh -c '{on_cab2}' & nectar net exec CAB1 -- sh -c '{on_cab1}'"
    done = nectar("net", "run", *FAST, *options, "--", "sh", "-c", script)
    assert not left()
    return done


@privileged
@pytest.mark.nightly
@pytest.mark.parametrize("boards", ["fast", "rtl"])
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_fetches_a_megabyte(nectar, boards):
    data = pattern(1_000_000)
    (nectar.folder / "big").write_bytes(data)
    done = session(nectar, SERVE + "wait", WAIT + "curl -s -o got http://CAB2/big", "--boards", boards)
    assert done.returncode == 0, done.stderr
    assert sha256((nectar.folder / "got").read_bytes()).digest() == sha256(data).digest()


@privileged
@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
def test_a_hundred_pings_lose_no_packet(nectar):
    done = session(nectar, "true", "ping -c 100 -i 0.05 CAB2")
    assert done.returncode == 0 and "100 received, 0% packet loss" in done.stdout


@privileged
@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
@pytest.mark.parametrize("kind", ["", "-u -b 5M -l 900"])
def test_iperf3_measures_a_rate(nectar, kind):
    wait = "until iperf3 -c CAB2 -n 1K >/dev/null 2>&1; do sleep 0.2; done; "
    done = session(nectar, "iperf3 -s >/dev/null", wait + f"iperf3 -J -t 5 {kind} -c CAB2")
    assert done.returncode == 0, done.stderr
    sums = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])["end"]
    assert (sums.get("sum_received") or sums["sum"])["bytes"] >= 200_000


@privileged
@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_session_of_a_minute_goes_on_while_a_fiber_is_cut_and_repaired(nectar):
    data = pattern(200_000)
    (nectar.folder / "page").write_bytes(data)
    fetch = (
        "end=$(($(date +%s) + 60)); while [ $(date +%s) -lt $end ]; do "
        "curl -s -m 50 http://CAB2/page | sha256sum; sleep 0.2; done"
    )
    faults = [word for at in (3, 10, 20) for word in ("--faults", f"CAB1-HUB1.P0:cut,at={at}s,for=1s")]
    begun = time.monotonic()
    done = session(nectar, SERVE + "wait", WAIT + fetch, *faults)
    assert done.returncode == 0, done.stderr
    sums = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("  -")]
    assert len(sums) > 10 and set(sums) == {sha256(data).hexdigest()} and time.monotonic() - begun > 60
    assert any("symbols" in line and ": 0 hits" not in line for line in done.stdout.splitlines())


MPI_PROGRAM = """from mpi4py import MPI

comm = MPI.COMM_WORLD
steps = 1000
terms = (4 / (1 + ((step + 0.5) / steps) ** 2) for step in range(comm.rank, steps, comm.size))
pi = comm.allreduce(sum(terms) / steps)
everybody = comm.gather(comm.rank**2)
if comm.rank == 0:
    print(f"pi is {pi:.9f}, squares {everybody}", flush=True)
"""
#: Starts Open MPI's daemon on a node.
AGENT = """#!/bin/sh
host=$1; shift
exec nectar net exec "$host" -- sh -c "$*"
"""
MPIRUN = (
    "mpirun.openmpi -np {ranks} --host {hosts} --mca plm_rsh_agent {folder}/agent --mca pml ob1 --mca btl tcp,self "
    "--mca btl_tcp_if_include 10.89.0.0/24 --mca oob_tcp_if_include 10.89.0.0/24 {python} {folder}/pi.py"
)


def _python_with_mpi():
    """A Python that has mpi4py, the real one; None."""
    python = shutil.which("python3", path="/usr/bin")
    has = python and subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode == 0
    return python if has else None


@privileged
@pytest.mark.nightly
@pytest.mark.skipif(
    shutil.which("mpirun.openmpi") is None or _python_with_mpi() is None,
    reason="Debian's openmpi-bin and python3-mpi4py are not installed",
)
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_job_of_open_mpi_gives_the_answers_of_nectar_mpirun(nectar, ranks):
    nectar.program(MPI_PROGRAM, "pi.py")
    (nectar.folder / "agent").write_text(AGENT)
    (nectar.folder / "agent").chmod(0o755)
    bins = os.path.dirname(sys.executable)
    nectar.environment |= {"PATH": f"{bins}:{os.environ['PATH']}", "PYTHONWARNINGS": "default"}
    nectar.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    hosts = ",".join(f"CAB{number}" for number in range(1, ranks + 1))
    job = MPIRUN.format(ranks=ranks, hosts=hosts, folder=nectar.folder, python=_python_with_mpi())
    words = ["net", "run", *NET, "--topology", f"hub:{ranks}", "--boards", "fast"]
    done = nectar(*words, "--", "sh", "-c", f"nectar net exec CAB1 -- {job}")
    assert done.returncode == 0, done.stderr
    other = nectar("mpirun", "-n", ranks, "--boards", "fast", "pi.py")
    assert other.returncode == 0 and done.stdout.splitlines()[0] == other.stdout.splitlines()[0]
    assert not left()

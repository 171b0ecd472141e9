"""The Verilog files for others: they lint, synthesise, and work. What is tested is the file's text, as ``nectar
verilog`` writes it."""

import functools
import itertools
import os
import re
import subprocess
import tempfile
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from nectar.boards.tools import yosys
from nectar.hdl.cab.addresses import REGISTERS
from nectar.hdl.cab.vme.registers import VME_REGISTERS
from nectar.hdl.hub.commands import Op
from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.hdl.link.symbol import ANY_HUB, command, packet, reply
from nectar.hdl.product import VME_WAIVERS, WAIVERS, product
from nectar.verification.bench import ROOT, Bench
from nectar.verification.models import verilator_home

HUB = 9
FILES = {
    "hub 2": ("hub", {"ports": 2}),
    "hub 5": ("hub", {"ports": 5}),
    "hub 16": ("hub", {}),
    "cab": ("cab", {}),
    "cab 4096": ("cab", {"data_bytes": 4096}),
    "cab VME": ("cab", {"data_bytes": 65536, "domains": 4, "pages": 256, "vme": True}),
    "router 3": ("router", {"dimensions": 3}),
    "node 2": ("node", {"dimensions": 2, "memory_bytes": 4096}),
    "node": ("node", {}),
    **{f"hub {name}": ("hub", {"ports": 4, "profile": name}) for name in HUB_PROFILES},
}


#: HUBs with parts left out: both limits of the queue with every combination of parts, in both profiles.
SMALLER = {
    f"hub {'no-monitor ' * (not monitor)}{'no-locks ' * (not locks)}queue {queue} {profile}": (
        "hub",
        {"ports": 3, "profile": profile, "queue": queue} | without,
    )
    for profile, monitor, locks, queue in itertools.product(HUB_PROFILES, (True, False), (True, False), (256, 4096))
    for without in [{name: False for name, there in (("monitor", monitor), ("locks", locks)) if not there}]
}
FILES |= SMALLER
#: Files that are tested every day: every kind of statement. Other numbers of ports and sizes of memories have no more.
EVERYDAY = {"hub modern", "cab VME", "node 2"}

each_file = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in EVERYDAY else [pytest.mark.nightly]) for name in FILES]
)


@functools.cache
def text(kind, **parameters):
    """What ``nectar verilog`` writes."""
    from nectar.cli import main

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{kind}.v")
        options = [
            word
            for name, value in parameters.items()
            for word in (
                f"--{'no-' * (value is False)}{name.replace('_', '-')}",
                *[str(value)] * (not isinstance(value, bool)),
            )
        ]
        assert main(["verilog", kind, *options, "-o", str(path)]) == 0
        return path.read_text()


def lint(folder, name, *options):
    """What ``verilator --lint-only -Wall`` has to say."""
    done = subprocess.run(
        [verilator_home() / "bin" / "verilator_bin", "--lint-only", "-Wall", *options, name],
        cwd=folder,
        text=True,
        env=os.environ | {"VERILATOR_ROOT": str(verilator_home())},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.returncode, re.findall(r"^%\S+.*", done.stdout, re.M)


@each_file
def test_verilator_has_nothing_to_warn_of(name, tmp_path):
    """With all warnings on, those of the header excepted."""
    kind, parameters = FILES[name]
    (tmp_path / f"{kind}.v").write_text(text(kind, **parameters))
    assert lint(tmp_path, f"{kind}.v") == (0, [])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "node 2" else [pytest.mark.nightly]) for name in FILES]
)
def test_verilator_has_nothing_to_warn_of_in_verilog_2005_whatever_the_file_is_called(name, tmp_path):
    kind, parameters = FILES[name]
    (tmp_path / "other.v").write_text(text(kind, **parameters))
    assert lint(tmp_path, "other.v", "--language", "1364-2005") == (0, [])


def test_only_what_the_header_names_is_switched_off_and_each_is_needed(tmp_path):
    for name in sorted(EVERYDAY):
        kind, parameters = FILES[name]
        waivers = VME_WAIVERS if "vme" in parameters else WAIVERS
        whole = text(kind, **parameters)
        assert re.findall(r"verilator (\w+) (\w+)", whole) == [
            (f"lint_{state}", name) for state in ("off", "on") for name in waivers
        ]
        (tmp_path / f"{kind}.v").write_text(re.sub(r"/\* verilator .*? \*/\n", "", whole))
        status, lines = lint(tmp_path, f"{kind}.v")
        assert status and {found for line in lines for found in re.findall(r"^%Warning-(\w+)", line)} == set(waivers)


@each_file
def test_yosys_synthesises_it(name, tmp_path):
    kind, parameters = FILES[name]
    (tmp_path / f"{kind}.v").write_text(text(kind, **parameters))
    log = yosys(f"read_verilog {kind}.v; hierarchy -check -top {kind}; proc; check -assert", tmp_path)
    assert "Found and reported 0 problems." in log and not re.search(r"^Warning|Latch inferred", log, re.M)


def test_the_top_in_the_documentation_fits_the_file(tmp_path):
    """docs/verilog.md: its example is read with the file that its command writes, all pins connected."""
    page = (ROOT / "docs" / "verilog.md").read_text()
    (top,) = re.findall(r"^```text\n(module top .*?)^```$", page, re.M | re.S)
    (tmp_path / "top.v").write_text(top)
    (tmp_path / "hub.v").write_text(text("hub", ports=4, profile="modern"))
    assert lint(tmp_path, "top.v", "hub.v", "--top-module", "top") == (0, [])
    symbols = [
        int(digits, 16)
        for digits in re.search(r"let `a` send `(.*?)`", page)[1].replace("9'h", "").replace("8'h", "").split()
    ]
    assert symbols == command(Op.OPEN_RETRY_REPLY, 1, 1)


def test_a_message_names_the_file_that_was_asked_for(tmp_path):
    """docs/verilog.md, -o: what is wrong in the file is told with the file's own name and line; a name that no string
    can hold is left out."""
    from nectar.cli import main

    path = tmp_path / "switch 5.v"
    assert main(["verilog", "router", "--dimensions", "2", "-o", str(path)]) == 0
    lines = path.read_text().splitlines()
    assert lint(tmp_path, path.name, "--top-module", "router") == (0, [])
    number = max(place for place, line in enumerate(lines) if line.startswith("  assign "))
    lines[number] = lines[number].replace(" = ", " = nothing_of_that_name + ")
    path.write_text("\n".join(lines) + "\n")
    status, found = lint(tmp_path, path.name, "--top-module", "router")
    assert status and any(
        line.startswith(f"%Error: {path.name}:{number + 1}:") and "nothing_of_that_name" in line for line in found
    ), found
    nameless = product("router", dimensions=2, file='two "quotes".v')
    assert '"router.v"' in nameless and "quotes" not in nameless


def test_the_header_of_a_cab_tells_its_registers():
    """docs/verilog.md: regions of the sizes asked for, registers and fields; those of VME where there is VME."""
    for name, vme in (("cab 4096", False), ("cab VME", True)):
        header = text(*FILES[name][:1], **FILES[name][1]).partition("*/")[0]
        size = FILES[name][1]["data_bytes"]
        assert f"0x100000-0x{0x100000 + size - 1:06X}  data " in header and ("0x800000-0xFFFFFF  vme" in header) == vme
        for register in REGISTERS:
            told = re.search(rf"^ \*   0x{register.address:06X}  {register.access:3} {register.name} ", header, re.M)
            assert bool(told) == (vme or register not in VME_REGISTERS), register.name
            if told:
                following = header[told.end() :].splitlines()[1:]
                assert all(
                    re.match(rf" \* +[\d:]+ +{item.name} ", line) for item, line in zip(register.fields, following)
                )


@each_file
def test_plain_names_only_and_no_assertions(name):
    kind, parameters = FILES[name]
    code = re.sub(r"/\*.*?\*/", "", text(kind, **parameters), flags=re.S)
    assert not re.search(r"\bassert\b", code)
    assert "\\" not in code and "$" not in code.replace("$signed(", "(")


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="there is no board 'crate'; there are hub, cab, router, node"):
        product("crate")
    with pytest.raises(TypeError, match="a cab has no parameter 'ports'; it has data_bytes"):
        product("cab", ports=3)
    with pytest.raises(ValueError, match="a HUB has no profile 'fast'"):
        product("hub", profile="fast")


class Wire:
    """Drives and watches the pins of one port: symbols one a cycle, everything that leaves is taken at once."""

    def __init__(self, dut, port):
        self.pins = [
            getattr(dut, f"port_{port}__{name}") for name in ("rx__payload", "rx__valid", "tx__payload", "tx__valid")
        ]
        self.waiting, self.left = [], []
        getattr(dut, f"port_{port}__tx__ready").value = 1

    def step(self):
        """Between two rising edges: what leaves at the next, what arrives at it."""
        payload, valid, out, leaves = self.pins
        if leaves.value == 1:
            self.left.append(int(out.value))
        valid.value = bool(self.waiting)
        payload.value = self.waiting.pop(0) if self.waiting else 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def opens_carries_data_and_closes(dut):
    """The smallest session: port 0 opens port 1 with a reply, sends a packet, closes behind it; then port 2 gets the
    same output."""
    cocotb.start_soon(Clock(dut.clk, 70, unit="ns").start())
    wires = [Wire(dut, port) for port in range(4)]
    dut.hub_id.value, dut.rst.value = HUB, 1
    data = bytes(range(40))
    close_all = command(Op.CLOSE_ALL, ANY_HUB, 0)

    async def cycles(count):
        for _ in range(count):
            await FallingEdge(dut.clk)
            for wire in wires:
                wire.step()

    await cycles(4)
    dut.rst.value = 0
    for source in (0, 2):
        for wire in wires:
            wire.left.clear()
        wires[source].waiting += [*command(Op.OPEN_RETRY_REPLY, HUB, 1), *packet(data), *close_all]
        await cycles(120)
        ready = 0x104
        assert wires[1].left == [*packet(data), *close_all]
        assert sorted(wires[source].left) == sorted([*reply(Op.OPEN_RETRY_REPLY, HUB, 1), ready])
        assert not wires[3].left and not wires[2 - source].left and dut.idle.value == 1
        wires[1].waiting += [ready]  # the start of the packet has left whoever stands behind port 1
        await cycles(20)


def _configurations():
    return {name: functools.partial(text, "hub", ports=4, profile=name) for name in HUB_PROFILES}


bench = Bench(__name__, _configurations(), top="hub", ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("prototype",)))
def test_product(configuration, claim):
    bench.check(configuration, claim)

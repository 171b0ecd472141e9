"""``nectar verilog``: the file that it writes, and what it says to bad input. What the file does is in
verification/test_product.py."""

import gc
import json
import re
import warnings

import pytest
from amaranth.hdl import Elaboratable, UnusedElaboratable

from nectar import __version__
from nectar.cache import directory
from nectar.cli import main
from nectar.hdl.ipsc2.node.registers import REGISTERS
from nectar.hdl.product import WAIVERS
from nectar.hdl.tidy import ports
from nectar.verification.cli.conftest import Command

#: Boards, and what they are written with.
WRITTEN = {
    "router.v": ("router", "--dimensions", 2),
    "node.v": ("node", "--dimensions", 1, "--memory-bytes", 8192),
    "hub.v": ("hub", "--ports", 2),
    "cab.v": ("cab", "--data-bytes", 8192, "--domains", 4, "--pages", 64),
    "vme.v": ("cab", "--data-bytes", 8192, "--program-bytes", 4096, "--vme", "--period-ps", 12500),
}
#: Pins of a port of a HUB, as docs/wire.md gives them.
PORT = {
    "rx__payload": ("input", 9),
    "rx__valid": ("input", 1),
    "tx__payload": ("output", 9),
    "tx__valid": ("output", 1),
    "tx__ready": ("input", 1),
}


def test_an_interrupted_command_does_not_tell_of_modules_that_it_has_not_used(monkeypatch, capsys, tmp_path):
    class Part(Elaboratable):
        """Never elaborated."""

    def interrupted(*_, parts=(), **__):
        parts = [*parts, Part()]
        raise KeyboardInterrupt

    monkeypatch.setattr("nectar.hdl.product.product", interrupted)
    # As soon as something has been elaborated.
    monkeypatch.setattr(UnusedElaboratable, "_MustUse__silence", False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert main(["verilog", "hub", "--ports", "2", "-o", str(tmp_path / "hub.v")]) == 130
        gc.collect()
    assert not told and capsys.readouterr().err == "nectar: interrupted\n"
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with the files WRITTEN; what the command said to each of them, by its name."""
    nectar = Command(tmp_path_factory.mktemp("written"))
    told = {}
    for name, arguments in WRITTEN.items():
        done = nectar("verilog", *arguments, "-o", name)
        assert (done.returncode, done.stderr) == (0, "")
        told[name] = done.stdout
    return nectar.folder, told


def test_the_file_says_what_it_is_and_has_the_pins_of_the_specification(nectar):
    done = nectar("verilog", "hub", "--ports", 3, "--profile", "prototype", "-o", "hub.v", "--json", "v.json")
    assert (done.returncode, done.stderr) == (0, "")
    text = (nectar.folder / "hub.v").read_text()
    assert re.fullmatch(
        r"hub.v: hub, ports 3, profile prototype, monitor yes, locks yes, queue 1152; "
        rf"{text.count(chr(10))} lines, \d+ modules\n",
        done.stdout,
    )
    head = text[: text.index("*/")]
    for words in (
        f"Nectar {__version__}: hub",
        "ports: 3",
        "profile: prototype",
        "input  [8:0]  port_N__rx__payload  N = 0 to 2",
        *WAIVERS,
    ):
        assert words in head
    pins = {name: (direction, width) for name, direction, width in ports(text)}
    expected = {"clk": ("input", 1), "rst": ("input", 1), "hub_id": ("input", 8), "idle": ("output", 1)}
    expected |= {f"port_{n}__{name}": pin for n in range(3) for name, pin in PORT.items()}
    assert pins == expected and text.count("\nmodule hub (\n") == 1
    (result,) = json.loads((nectar.folder / "v.json").read_text())["results"]
    assert (result["id"], result["value"], result["unit"]) == ("verilog.hub", len(text.encode()), "byte")
    assert {pin["name"]: (pin["direction"], pin["width"]) for pin in result["pins"]} == expected


def test_where_a_home_cannot_be_written_one_variable_is_enough(nectar):
    """Nobody can write in /proc. The tool that makes Verilog keeps what it compiles, too, in the directory that
    NECTAR_CACHE_DIR names."""
    arguments = "verilog", "router", "--dimensions", 2, "-o", "router.v"
    nectar.environment |= {"HOME": "/proc/none"}
    nectar.environment.pop("XDG_CACHE_HOME", None)
    usual = nectar.environment.pop("NECTAR_CACHE_DIR", directory())
    refused = nectar.refused(*arguments)
    assert refused.startswith("the cache directory /proc/none/.cache/nectar/yosys cannot be written (")
    assert refused.endswith("or set NECTAR_CACHE_DIR to another directory") and not list(nectar.folder.iterdir())
    nectar.environment["NECTAR_CACHE_DIR"] = str(usual)
    done = nectar(*arguments)
    assert (done.returncode, done.stderr) == (0, "") and (nectar.folder / "router.v").is_file()


def test_the_router_has_the_pins_of_its_channels_and_of_its_node(written):
    """docs/ipsc2.md, "Pins of the router": a channel for each dimension, and channel 7."""
    folder, told = written
    assert re.fullmatch(r"router.v: router, dimensions 2; \d+ lines, \d+ modules\n", told["router.v"])
    text = (folder / "router.v").read_text()
    pins = {name: (direction, width) for name, direction, width in ports(text)}
    expected = {"clk": ("input", 1), "rst": ("input", 1)}
    for channel in (0, 1, 7):
        for side, direction in (("rx", "input"), ("tx", "output")):
            expected |= {
                f"channel_{channel}__{side}__data": (direction, 2),
                f"channel_{channel}__{side}__strobe": (direction, 1),
            }
    expected |= {f"source__{name}": ("input", width) for name, width in (("request", 1), ("probe", 16), ("data", 2))}
    expected |= {f"source__{name}": ("output", 1) for name in ("grant", "allow", "refused")}
    expected |= {"sink__open": ("output", 1), "sink__data": ("output", 2), "sink__strobe": ("output", 1)}
    expected |= {"sink__ready": ("input", 1), **{name: ("output", 8) for name in ("busy", "held", "violation")}}
    assert pins == expected
    head = text[: text.index("*/")]
    assert re.search(r"input  \[1:0\]  channel_N__rx__data  N = 0 to 1 and 7 ", head)


def test_the_node_has_the_pins_of_its_board_and_tells_its_registers(written):
    """docs/ipsc2-node.md, "Board": channels, CPU bus, irq, tick, what the router tells, and the three of a stopped
    clock; the header has memory and registers."""
    folder, told = written
    assert re.fullmatch(r"node.v: node, dimensions 1, memory_bytes 8192; \d+ lines, \d+ modules\n", told["node.v"])
    text = (folder / "node.v").read_text()
    pins = {name: (direction, width) for name, direction, width in ports(text)}
    expected = {name: ("input", 1) for name in ("clk", "rst", "tick", "bus__valid", "bus__write")}
    for channel in (0, 7):
        for side, direction in (("rx", "input"), ("tx", "output")):
            expected |= {
                f"channel_{channel}__{side}__data": (direction, 2),
                f"channel_{channel}__{side}__strobe": (direction, 1),
            }
    expected |= {"bus__address": ("input", 24), "bus__select": ("input", 4), "bus__write_data": ("input", 32)}
    expected |= {name: ("output", 1) for name in ("irq", "idle", "bus__ready", "bus__done", "bus__error")}
    expected |= {"bus__read_data": ("output", 32), "wake_in": ("output", 32), "slept": ("input", 32)}
    expected |= {name: ("output", 8) for name in ("busy", "held", "violation")}
    assert pins == expected
    head = text[: text.index("*/")]
    assert "0x000000-0x001FFF  memory" in head
    for register in REGISTERS:
        line = re.search(rf"^ \*   0x{register.address:06X}  {register.access:3} {register.name} .*$", head, re.M)
        following = head[line.end() :].splitlines()[1:]
        fields = sorted(register.fields, key=lambda item: item.low)
        assert all(re.match(rf" \* +[\d:]+ +{item.name} ", line) for item, line in zip(fields, following))


def test_the_cab_has_the_pins_of_its_bus_and_of_one_fiber_and_with_vme_those_of_vme(written):
    folder, told = written
    assert told["vme.v"].startswith(
        "vme.v: cab, data_bytes 8192, program_bytes 4096, domains 32, pages 16384, vme yes, period_ps 12500; "
    )
    plain, more = ([name for name, *_ in ports((folder / file).read_text())] for file in ("cab.v", "vme.v"))
    assert {"clk", "rst", "irq", "bus__address", "bus__valid", *(f"fiber__{name}" for name in PORT)} <= set(plain)
    assert {name.split("__")[0] for name in set(more) - set(plain)} == {
        "vme",
        "vme_select",
        "vme_level",
        "host",
    } and set(plain) < set(more)


def test_the_header_tells_what_each_pin_is(written):
    """Each pin has a line with a purpose; those of numbered ports have one together."""
    for file in ("hub.v", "vme.v", "node.v"):
        text = (written[0] / file).read_text()
        for name, direction, width in ports(text):
            name = re.sub(r"^(port|channel)_\d+", r"\1_N", name)
            size = rf"\[{width - 1}:0\] +" if width > 1 else ""
            assert re.search(
                rf"^ \*   {direction} +{size}{name} +(N = 0 (to 1|and 7) +)?[A-Z0-9a-z].*$",
                text[: text.index("*/")],
                re.M,
            ), name


def test_every_run_gives_the_same_bytes_wherever_the_file_lies(nectar, written):
    """And under another name what differs is that name, in the line directives (docs/verilog.md)."""
    (nectar.folder / "other").mkdir()
    for name in ("other/router.v", "other/x.v"):
        assert nectar("verilog", "router", "--dimensions", 2, "-o", name).returncode == 0
    data = (written[0] / "router.v").read_bytes()
    same, named = ((nectar.folder / name).read_bytes() for name in ("other/router.v", "other/x.v"))
    renamed = re.sub(rb'^(\);\n`line \d+) "router\.v"', rb'\1 "x.v"', data, flags=re.M)
    assert data == same and renamed == named != data
    for folder, text in (written[0], data), (nectar.folder, named):
        assert str(folder).encode() not in text and b".py" not in text
    done = nectar("verilog", "router", "--dimensions", 2, "-o", "/dev/stdout")
    assert (done.returncode, done.stdout.encode(), done.stderr) == (0, data, "")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("hub", "--ports", "0"), "a HUB has 2 to 128 ports, not 0"),
        (("hub", "--ports", "1"), "a HUB has 2 to 128 ports, not 1"),
        (("hub", "--ports", "129"), "a HUB has 2 to 128 ports, not 129"),
        (("hub", "--ports", "-4"), "a HUB has 2 to 128 ports, not -4"),
        (("hub", "--ports", "3.5"), "--ports 3.5: not a whole number"),
        (("hub", "--ports", "x"), "--ports x: not a whole number"),
        (("hub", "--ports", ""), "not a whole number"),
        (("hub", "--profile", "fast"), "a HUB has no profile 'fast'; there are prototype"),
        (("hub", "--queue", "255"), "a queue of a HUB holds 256 to 4096 symbols, not 255"),
        (("hub", "--queue", "4097"), "a queue of a HUB holds 256 to 4096 symbols, not 4097"),
        (("hub", "--queue", "1k"), "--queue 1k: not a whole number"),
        (("hub", "--no-monitor=yes"), "argument --no-monitor: ignored explicit argument"),
        (("cab", "--no-monitor"), "--no-monitor: a cab has no monitor to leave out"),
        (("cab", "--no-locks"), "--no-locks: a cab has no locks to leave out"),
        (("router", "--queue", "512"), "--queue: a router has no queue to choose"),
        (("hub", "--data-bytes", "4096"), "--data-bytes: a hub has no data bytes to choose"),
        (("cab", "--ports", "4"), "--ports: a cab has no ports to choose"),
        (("router", "--ports", "4"), "--ports: a router has no ports to choose"),
        (("hub", "--dimensions", "4"), "--dimensions: a hub has no dimensions to choose"),
        (("router", "--dimensions", "8"), "dimensions must be 1 to 7, not 8"),
        (("node", "--dimensions", "0"), "dimensions must be 1 to 7, not 0"),
        (("node", "--memory-bytes", "6000"), "4 kbyte to 8 Mbyte, a power of two, not 6000"),
        (("node", "--memory-bytes", "1M"), "--memory-bytes 1M: not a whole number"),
        (("router", "--memory-bytes", "4096"), "--memory-bytes: a router has no memory bytes to choose"),
        (("router", "--dimensions", "three"), "--dimensions three: not a whole number"),
        (("cab", "--data-bytes", "5000"), "must be a power of two from 4096 to 1048576, not 5000"),
        (("cab", "--data-bytes", "2048"), "must be a power of two from 4096 to 1048576, not 2048"),
        (("cab", "--program-bytes", "1048576"), "must be a power of two from 4096 to 524288, not 1048576"),
        (("cab", "--domains", "3"), "domains must be a power of two from 2 to 32, not 3"),
        (("cab", "--domains", "64"), "domains must be a power of two from 2 to 32, not 64"),
        (("cab", "--domains", "four"), "--domains four: not a whole number"),
        (("cab", "--pages", "8"), "pages must be 16384 or a power of two from 16 to 2048, not 8"),
        (("cab", "--vme", "--period-ps", "9999"), "period_ps must be from 10000 to 75000, not 9999"),
        (("cab", "--period-ps", "12500"), "--period-ps: only VME goes by it; give --vme, too"),
        (("cab", "--vme=yes"), "argument --vme: ignored explicit argument"),
        (("hub", "--vme"), "--vme: a hub has no vme to choose"),
        (("hub", "--domains", "4"), "--domains: a hub has no domains to choose"),
        (("hub", "--json", "x.v"), "--json x.v: -o is the same file; give another name"),
        (("crate",), "there is no board 'crate'; there are hub, cab, router, node"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_file(here, arguments, words):
    assert words in here.refused("verilog", *arguments, "-o", "x.v")
    assert not list(here.folder.iterdir())


def test_a_missing_output_is_told(nectar):
    assert "the following arguments are required: -o/--output" in nectar.refused("verilog", "hub")


@pytest.mark.parametrize(
    "output, reason",
    [
        (".", "-o . cannot be written: it is a directory"),
        ("nowhere/hub.v", "-o nowhere/hub.v cannot be written: there is no directory"),
        ("", "-o: the name of the file is empty"),
        ("/proc/hub.v", "-o /proc/hub.v cannot be written"),
    ],
)
def test_an_output_that_cannot_be_written_is_told(here, output, reason):
    line = here.refused("verilog", "hub", "--ports", 2, "-o", output)
    assert reason in line and not list(here.folder.iterdir())


def test_a_file_that_is_there_stays_whole_when_writing_fails(nectar):
    (nectar.folder / "hub.v").write_text("precious")
    assert "No space left" in nectar.refused("verilog", "router", "--dimensions", 2, "-o", "/dev/full")
    nectar.refused("verilog", "hub", "--ports", 1, "-o", "hub.v")
    assert (nectar.folder / "hub.v").read_text() == "precious"

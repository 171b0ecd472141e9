"""Faults on demand as docs/faults.md has them: as data, as text and as files; which of them a machine refuses."""

import pytest

from nectar.software.errors import CapabilityError, FaultError
from nectar.software.faults import KINDS, SYMBOL_FAULTS, Fault, directions, load
from nectar.verification import seeds

from .helpers import BOARDS, PORTS, simulated

FIBERS = [("CAB1", "HUB1.P0"), ("HUB1.P0", "CAB1"), ("CAB2", "HUB1.P1"), ("HUB1.P1", "CAB2")]


@pytest.mark.parametrize(
    "text, fault",
    [
        ("CAB1-HUB1.P0:errors=1e-5", Fault("CAB1-HUB1.P0", "errors", rate=1e-5)),
        ("CAB1->HUB1.P0:lost-ready,nth=3", Fault("CAB1->HUB1.P0", "lost", "ready", nth=3)),
        ("HUB1.P1->CAB2:errors,length=40,at=1500us", Fault("HUB1.P1->CAB2", "errors", length=40, at_ps=1_500_000_000)),
        ("*:lost-command=0.001", Fault("*", "lost", "command", rate=0.001)),
        ("*:doubled,nth=2,times=7,at=0ps,for=1s", Fault("*", "doubled", nth=2, times=7, at_ps=0, for_ps=10**12)),
        ("HUB1.P3:cut,at=10ms,for=2ms", Fault("HUB1.P3", "cut", at_ps=10**10, for_ps=2 * 10**9)),
        ("CAB2:delay=3us,for=7ns", Fault("CAB2", "delay", delay_ps=3_000_000, for_ps=7000)),
        ("HUB1:reset,at=20ms", Fault("HUB1", "reset", at_ps=2 * 10**10)),
        ("CAB2:stop", Fault("CAB2", "stop")),
    ],
)
def test_a_fault_as_text_is_the_fault_and_the_other_way_round(text, fault):
    assert Fault.parse(text) == fault
    assert Fault.parse(str(fault)) == fault
    assert Fault.parse(text.replace(",", " , ")) == fault


def test_any_fault_can_be_written_and_read():
    rng = seeds.rng("text")
    for _ in range(300):
        what = rng.choice([*SYMBOL_FAULTS, "cut", "delay", "disable", "reset", "stop"])
        more = {"at_ps": rng.choice([None, 0, rng.randrange(10**15)])}
        if what != "reset":
            more["for_ps"] = rng.choice([None, 1, rng.randrange(1, 10**15)])
        if what == "delay":
            more["delay_ps"] = rng.randrange(1, 10**12)
        if what in SYMBOL_FAULTS:
            more["kind"] = rng.choice([None, *KINDS])
            more |= rng.choice(
                [{"rate": rng.choice([0, 1, 0.25, 1e-9])}, {"nth": rng.randrange(1, 99), "times": rng.randrange(1, 9)}]
            )
            if more["kind"] not in ("command", "reply"):
                more["length"] = rng.randrange(1, 50)
        fault = Fault("CAB1", what, **more)
        assert Fault.parse(str(fault)) == fault


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "a fault is written as WHERE:WHAT"),
        ("CAB1", "a fault is written as WHERE:WHAT"),
        (":errors=1", "a fault is written as WHERE:WHAT"),
        ("CAB1:", "there is no fault ''"),
        ("CAB1:mistakes", "there is no fault 'mistakes'; there are errors, lost, doubled, cut"),
        ("CAB1:lost-foo", "lost-foo: there is no such fault"),
        ("CAB1:lost-", "lost-: there is no such fault"),
        ("CAB1:cut-ready", "cut-ready: there is no such fault"),
        ("CAB1:errors=2", "a rate is 0 to 1, not 2.0"),
        ("CAB1:errors=nan", "a rate is 0 to 1, not nan"),
        ("CAB1:errors=x", "rate=x: not a number"),
        ("CAB1:errors=0.1,nth=2", "give a rate, or nth and times, not both"),
        ("CAB1:errors,nth=0", "nth is a whole number from 1 on, not 0"),
        ("CAB1:errors,nth=1.5", "nth=1.5: not a whole number"),
        ("CAB1:errors,nth=1,nth=2", "nth is given twice"),
        ("CAB1:errors,length=0", "length is a whole number from 1 on"),
        ("CAB1:lost-reply,length=3", "a frame is struck as a whole"),
        ("CAB1:errors,often", "'often' between commas: the keys are nth="),
        ("CAB1:errors,", "'nothing' between commas"),
        ("CAB1:cut,nth=3", "cut has no nth"),
        ("CAB1:cut=3", "cut has no rate"),
        ("CAB1:cut,at=5", "at=5: not a time"),
        ("CAB1:cut,at=-5us", "at=-5us: not a time"),
        ("CAB1:cut,for=0us", "for is a time above 0"),
        ("CAB1:cut,for=99999999999s", "longer than can be simulated"),
        ("CAB1:delay", "say how long"),
        ("CAB1:delay=0us", "delay is a time above 0"),
        ("HUB1:reset,for=1us", "reset has no for"),
    ],
)
def test_a_wrong_fault_is_refused(text, message):
    with pytest.raises(FaultError) as caught:
        Fault.parse(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_has_the_same(tmp_path):
    path = tmp_path / "storm.toml"
    path.write_text(
        '[[faults]]\nwhere = "CAB1"\nwhat = "errors"\nrate = 1e-5\n[[faults]]\nwhere = "HUB1.P3"\nwhat = '
        '"lost-ready"\nnth = 3\nat = "10ms"\n'
        '[[faults]]\nwhere = "CAB2"\nwhat = "delay"\ndelay = "5us"\nfor = "2ms"\n'
    )
    assert load(str(path)) == [
        Fault.parse("CAB1:errors=1e-5"),
        Fault.parse("HUB1.P3:lost-ready,nth=3,at=10ms"),
        Fault.parse("CAB2:delay=5us,for=2ms"),
    ]
    assert load("CAB2:stop") == [Fault("CAB2", "stop")]


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = ", "no valid TOML"),
        ("", "must hold [[faults]]"),
        ("faults = 3", "must hold [[faults]]"),
        ("[[faults]]\n[other]", "must hold [[faults]]"),
        ("[[faults]]", "faults entry 1: give its where and what"),
        ("[[faults]]\nwhere = 1\nwhat = 'cut'", "faults entry 1: give its where and what"),
        ("[[faults]]\nwhere = 'CAB1'\nwhat = 'cut'\nwhen = 3", "faults entry 1: there is no key 'when'"),
        (
            "[[faults]]\nwhere = 'CAB1'\nwhat = 'cut'\n[[faults]]\nwhere = 'CAB1'\nwhat = 'cut'\nat = 3",
            "faults entry 2: at=3: not a time",
        ),
        ("[[faults]]\nwhere = 'CAB1'\nwhat = 'errors'\nrate = '1e-5'", "a rate is 0 to 1, not '1e-5'"),
        ("[[faults]]\nwhere = 'CAB1'\nwhat = 'errors'\nnth = true", "nth is a whole number from 1 on, not True"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(FaultError) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(FaultError, match=r"nowhere\.toml: cannot be read: No such file or directory"):
        load("nowhere.toml")


def test_where_names_directions():
    assert directions("CAB1->HUB1.P0", FIBERS) == [("CAB1", "HUB1.P0")]
    assert directions("HUB1.P0->CAB1", FIBERS) == [("HUB1.P0", "CAB1")]
    assert (
        directions("HUB1.P0-CAB1", FIBERS) == directions("CAB1", FIBERS) == directions("HUB1.P0", FIBERS) == FIBERS[:2]
    )
    assert directions("*", FIBERS) == FIBERS
    for wrong in ("CAB3", "HUB1", "CAB1-CAB2", "CAB1->HUB1.P1", "->", "-", "HUB1.P00"):
        with pytest.raises(FaultError, match="there is no fiber .*; there are CAB1-HUB1.P0, CAB2-HUB1.P1"):
            directions(wrong, FIBERS)


@pytest.mark.parametrize(
    "fault, message",
    [
        ("CAB9:cut", "there is no fiber CAB9"),
        ("HUB1.P77:disable", f"HUB1 has no port P77; its ports are P0 to P{PORTS - 1}"),
        ("HUB1.Px:disable", "HUB1 has no port Px"),
        ("HUB1:disable", "HUB1 is no port of a HUB"),
        ("HUB2.P0:disable", "HUB2.P0 is no port of a HUB"),
        ("HUB2:reset", "HUB2 is no HUB"),
        ("CAB1:reset", "CAB1 is no HUB"),
        ("HUB1.P1:reset", "HUB1.P1 is no HUB"),
        ("HUB1:stop", "there is no CAB HUB1; there are CAB1, CAB2"),
    ],
)
@pytest.mark.parametrize("boards", BOARDS)
def test_a_fault_somewhere_else_is_refused(boards, fault, message):
    with simulated(boards=boards) as system:
        with pytest.raises(FaultError) as caught:
            system.faults.add(fault)
        assert message in str(caught.value) and not system.faults.report()


@pytest.mark.parametrize("boards", BOARDS)
def test_a_fault_in_the_past_and_a_late_seed_are_refused(boards):
    with simulated(boards=boards) as system:
        system.faults.seed = 5
        with pytest.raises(FaultError, match="a seed is a whole number, not 'x'"):
            system.faults.seed = "x"
        system.spawn("CAB1", lambda cab: cab.sleep(20))
        system.go()
        with pytest.raises(FaultError, match="that time has passed"):
            system.faults.cut("CAB1", at_us=10)
        system.faults.cut("CAB1")
        with pytest.raises(FaultError, match="the seed must be set before the first fault"):
            system.faults.seed = 6


def test_a_machine_without_faults_says_so():
    from nectar.software.faultlist import FaultList

    class Plain:
        time_ps = 0
        capabilities = frozenset()

    with pytest.raises(CapabilityError, match="Plain has no faults on demand"):
        FaultList(Plain(), None, None).add("CAB1:cut")


def test_a_hub_without_free_port_cannot_be_told_to_disable_one():
    with simulated("hub:16", boards="rtl") as system:
        with pytest.raises(FaultError, match="HUB1 has a fiber at each of its ports"):
            system.faults.disable("HUB1.P3")
        system.faults.reset("HUB1")

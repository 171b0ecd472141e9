"""Errors of NX/2 programs: one clear line each (docs/nx.md, "Errors")."""

import re

import pytest

from nectar.cli import main
from nectar.software.errors import ProgramError, UnfinishedRun
from nectar.software.nx import (
    NX,
    cprobe,
    crecv,
    csend,
    gcol,
    gcolx,
    gdsum,
    gisum,
    gopf,
    gsendx,
    hrecv,
    infocount,
    infonode,
    infopid,
    infotype,
    iprobe,
    irecv,
    isend,
    masktrap,
    msgdone,
    msgwait,
    mynode,
)
from nectar.verification.software.helpers import simulated
from nectar.verification.software.nx.programs import hypercube, run


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: csend(-1, b"", 0, 0, 0), "csend: the type of a message is 0 to 2147483647, not -1"),
        (lambda: csend("a", b"", 0, 0, 0), "csend: the type of a message is 0 to 2147483647, not 'a'"),
        (lambda: isend(1, b"abc", 4, 0, 0), "isend: the length is 0 to 3, the bytes of the buffer, not 4"),
        (lambda: csend(1, b"abc", -1, 0, 0), "csend: the length is 0 to 3, the bytes of the buffer, not -1"),
        (lambda: csend(1, 7, 0, 0, 0), "csend: a buffer is a Buffer or a bytes-like object without gaps: .*"),
        (lambda: csend(1, memoryview(bytes(9))[::2], 2, 0, 0), "csend: a buffer is .* without gaps: .*"),
        (lambda: csend(1, b"", 0, 1, 0), "csend: a node is 0 to 0, or -1 for all, not 1"),
        (lambda: csend(1, b"", 0, 0, 3), "csend: node 0 has no process 3: load one before the run"),
        (lambda: crecv(1, b"abc", 3), "crecv: a message is received into a Buffer or a writable object .*"),
        (lambda: crecv(1 << 32, None, 0), "crecv: a type selector is a type, -1, or a mask .*, not 4294967296"),
        (lambda: cprobe(None), "cprobe: a type selector is a type, -1, or a mask .*, not None"),
        (lambda: iprobe(1.5), "iprobe: a type selector is .*, not 1.5"),
        (lambda: irecv(1, None, 1), "irecv: the length is 0 to 0, the bytes of the buffer, not 1"),
        (lambda: hrecv(1, None, 0, 5), "hrecv: the handler is a function of type, count, node and pid, not 5"),
        (lambda: masktrap(2), r"masktrap: the state is 1 \(no handler runs\) or 0, not 2"),
        (lambda: msgwait(1), "msgwait: there is no message id 1: isend and irecv give them"),
        (lambda: msgdone("a"), "msgdone: there is no message id 'a': isend and irecv give them"),
        (infocount, "infocount: no message has been received or probed for yet"),
        (infonode, "infonode: no message has been received or probed for yet"),
        (infopid, "infopid: no message has been received or probed for yet"),
        (infotype, "infotype: no message has been received or probed for yet"),
        (lambda: gdsum([1.0], 2, [0.0] * 2), "gdsum: x has 1 numbers and work 2; n is not 2"),
        (lambda: gdsum([1.0] * 2, 2, [0.0]), "gdsum: x has 2 numbers and work 1; n is not 2"),
        (lambda: gdsum(["a"], 1, [0.0]), "gdsum: x must hold floating-point numbers: .*"),
        (lambda: gisum([1 << 31], 1, [0]), "gisum: x must hold 32-bit integers: .*"),
        (lambda: gcol(b"abc", 3, bytearray(2), 2), "gcol: the nodes have 3 bytes, y has room for 2"),
        (lambda: gcolx(b"abc", [3, 3], bytearray(6)), "gcolx: xlens has 2 lengths for 1 nodes"),
        (lambda: gcolx(b"abc", [3], bytearray(2)), "gcolx: the length is 0 to 2, the bytes of the buffer, not 3"),
        (lambda: gopf(b"abc", 3, bytearray(3), max), "gopf: a message is received into a Buffer or a writable .*"),
        (lambda: gsendx(1, b"", 0, [0], 2), "gsendx: nodenums has 1 nodes; n is not 2"),
        (lambda: gsendx(1, b"", 0, [4], 1), "gsendx: a node is 0 to 0, or -1 for all, not 4"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(call, said):
    def program(process):
        with pytest.raises(ProgramError) as caught:
            call()
        return str(caught.value)

    assert re.fullmatch(said, run((program,))[0])


@pytest.mark.parametrize("size", [50, 500])
@pytest.mark.parametrize("how", ["crecv", "irecv", "hrecv"])
def test_a_message_that_is_longer_than_the_buffer_ends_the_process(how, size):
    def sender(process):
        process.cab.sleep(500)
        csend(7, bytes(size), size, 1, 0)

    def receiver(process):
        if how == "crecv":
            crecv(-1, bytearray(size), size - 1)
        elif how == "irecv":
            msgwait(irecv(7, bytearray(size), size - 1))
        else:
            hrecv(7, bytearray(size), size - 1, print)
            cprobe(99)

    said = (
        rf"process 1.0 on CAB2 failed at .*: {how}: the message of type 7 from node 0, process 0 has {size} "
        rf"bytes, the buffer {size - 1}: receive it with a larger buffer"
    )
    with pytest.raises(ProgramError, match=said):
        run((sender,), (receiver,), leaks=True)


def test_a_message_id_is_used_once():
    def program(process):
        ids = [isend(1, b"", 0, 0, 0) for _ in range(2)]
        msgwait(ids[0])
        assert msgdone(ids[1])
        for mid in ids:
            with pytest.raises(ProgramError, match=f"msgwait: message id {mid} is used up: its end has been told"):
                msgwait(mid)
            with pytest.raises(ProgramError, match=f"msgdone: message id {mid} is used up"):
                msgdone(mid)
            crecv(1, None, 0)

    run((program,))


def test_a_send_to_a_process_that_has_ended_tells_so():
    def sender(process):
        process.cab.sleep(1000)
        with pytest.raises(ProgramError, match="task process 1.0 has ended"):
            csend(1, bytes(500), 500, 1, 0)

    run((sender,), (lambda process: None,))


def test_lengths_that_contradict_gcolx_are_told():
    def program(process):
        with pytest.raises(ProgramError, match=f"gcolx: node {1 - mynode()} gives 2 bytes; xlens says 1"):
            gcolx(b"ab", [2 - (mynode() != node) for node in range(2)], bytearray(9))

    run((program,), (program,))


def test_a_process_that_waits_for_ever_says_for_what():
    waits = {
        "crecv of any type": lambda: crecv(-1, None, 0),
        "crecv of type 5": lambda: crecv(5, None, 0),
        "crecv of type 1 or 30": lambda: crecv(0xC0000002, None, 0),
        "cprobe of type 5": lambda: cprobe(5),
        "irecv of type 6": lambda: msgwait(irecv(6, None, 0)),
        "gdsum of a message of node 1": lambda: gdsum([1.0], 1, [0.0]),
        "csend of type 4 to process 1.0": lambda: csend(4, bytes(60_000), 60_000, 1, 0),  # node 1 cannot keep it
    }
    for words, call in waits.items():
        other = (lambda process: None) if "csend" not in words else lambda process: cprobe(9)
        with pytest.raises(UnfinishedRun, match=rf"process 0.0 on CAB1 waits in {words} \(.*{__name__.split('.')[-1]}"):
            run((lambda process, call=call: call(),), (other,), leaks=True, memory_bytes=1 << 17)


def test_calls_outside_of_a_process_say_so():
    said = "is a call for processes of NX/2: load its function with NX.load, and let that call it"
    with pytest.raises(ProgramError, match=f"mynode {said}"):
        mynode()

    def other(cab):
        with pytest.raises(ProgramError, match=f"csend {said}"):
            csend(1, b"", 0, 0, 0)
        return True

    def program(process):
        assert process.cab.spawn(other).join()
        assert mynode() == 0

    run((program,))
    with pytest.raises(ProgramError, match=f"iprobe {said}"):
        iprobe(1)


def test_what_cannot_be_loaded_is_told():
    with hypercube(2) as nx:
        for options, said in (
            ({"node": 2}, "load: a node is 0 to 1, or -1 for all, not 2"),
            ({"node": ["a"]}, "load: a node is 0 to 1, or -1 for all, not 'a'"),
            ({"pid": 20}, "load: a process id is 0 to 19, not 20"),
            ({"pid": None}, "load: a process id is 0 to 19, not None"),
        ):
            with pytest.raises(ProgramError, match=said):
                nx.load(lambda process: None, **options)
        nx.load(lambda process: None, node=1)
        with pytest.raises(ProgramError, match="load: node 1 has a process 0 already: give this one another id"):
            nx.load(lambda process: None)
        with pytest.raises(TypeError, match="a task is a function, not 5"):
            nx.load(5, node=0, pid=1)


@pytest.mark.parametrize(
    "nodes, said",
    [
        (3, "the system has 2 CABs: it cannot give 3 nodes"),
        (0, "the system has 2 CABs: it cannot give 0 nodes"),
        ([], "each node is a CAB or a workstation of its own, not as in an empty list"),
        (["CAB1", "CAB1"], "each node is a CAB or a workstation of its own, not as in CAB1, CAB1"),
        (["CAB9"], "there is no CAB 'CAB9'; there are CAB1, CAB2"),
    ],
)
def test_nodes_that_cannot_be_are_told(nodes, said):
    with simulated("hub:2") as system, pytest.raises(ProgramError, match=said):
        NX(system, nodes)


def test_nodes_may_be_chosen_and_ordered():
    def program(process):
        return process.cab.name, mynode(), process.numnodes()

    for nodes, names in ((["CAB3", "CAB1"], ["CAB3", "CAB1"]), (2, ["CAB1", "CAB2"]), (None, ["CAB1", "CAB2", "CAB3"])):
        with simulated("hub:3") as system:
            nx = NX(system, nodes)
            nx.load(program)
            system.go()
            with pytest.raises(StopIteration):
                nx.run().send(None)
            assert list(nx.results.values()) == [(name, number, len(names)) for number, name in enumerate(names)]


PROGRAM = """
from nectar.software.nx import NX, crecv, csend

TOPOLOGY = "hub:2"

def program(process):
    {}

async def main(system, arguments):
    nx = NX(system)
    nx.load(program)
    await nx.run()
"""


@pytest.mark.parametrize(
    "line, said",
    [
        ("csend(1, b'', 1, 0, 0)", r"process 0.0 on CAB1 failed at .*: csend: the length is 0 to 0, .* not 1.*"),
        ("process.load()", r"process 0.0 on CAB1 failed at .*AttributeError: .*"),
    ],
)
def test_an_error_of_a_program_is_one_line_of_the_command(line, said, tmp_path, monkeypatch, capsys):
    (tmp_path / "program.py").write_text(PROGRAM.format(line))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "program.py", "--boards", "fast"]) != 0
    error = capsys.readouterr().err
    assert re.fullmatch(f"nectar: {said}\n", error), error

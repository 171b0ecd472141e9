"""How often the bytes of a message are copied: the counters, and the table of docs/nectarine.md."""

import re
from pathlib import Path

import pytest

from nectar.software.nectarine.options import SHORT
from nectar.verification.software.helpers import pattern
from nectar.verification.software.nectarine.applications import application

PAGE = Path(__file__).resolve().parents[3] / "docs" / "nectarine.md"
ROW = re.compile(
    r"^\| (short|long) \| (another|the same) \| (buffer|Python) \| (buffer|Python) \| (\d) \| (\d) \| (\d) \|", re.M
)
ROWS = ROW.findall(PAGE.read_text())
NODE_ROW = re.compile(
    r"^\| (short|long) \| (another|the same) \| (node|CAB) \| (node|CAB) \|" + r" (\d) \|" * 5 + "$", re.M
)
NODE_ROWS = NODE_ROW.findall(PAGE.read_text())


def test_the_table_has_all_cases():
    assert len(set(row[:4] for row in ROWS)) == len(ROWS) == 16


@pytest.mark.parametrize("kind, where, source, to, sender, dma, receiver", ROWS)
def test_a_message_is_copied_as_often_as_the_table_says(kind, where, source, to, sender, dma, receiver):
    length = SHORT if kind == "short" else 3000

    async def send(task):
        data = pattern(length)
        if source == "buffer":
            buffer = await task.buffer(length)
            buffer.write(data)
            data = buffer
        await task.send("receiver", data)
        return task.copies

    async def receive(task):
        buffer = await task.buffer(length) if to == "buffer" else None
        message = await task.receive(buffer)
        assert (message.data if buffer is None else await buffer.read()) == pattern(length)
        return task.copies

    with application() as made:
        made.spawn("sender", send, on="CAB1")
        made.spawn("receiver", receive, on="CAB2" if where == "another" else "CAB1")
        made.go()
        out, into = (record.result for record in made.tasks)
        assert (out.cpu_out, into.cpu_in) == (int(sender) * length, int(receiver) * length)
        assert out.dma_out == into.dma_in == int(dma) * length
        assert not (out.cpu_in or out.dma_in or into.cpu_out or into.dma_out)


def test_the_table_of_nodes_has_all_cases():
    assert len(set(row[:4] for row in NODE_ROWS)) == len(NODE_ROWS) == 16


@pytest.mark.parametrize("kind, where, source, to, node_out, sender, dma, receiver, node_in", NODE_ROWS)
def test_a_message_between_nodes_is_copied_as_often_as_the_table_says(
    kind, where, source, to, node_out, sender, dma, receiver, node_in
):
    length = SHORT if kind == "short" else 3000

    async def send(task):
        buffer = await task.buffer(length, memory=source.lower())
        buffer.write(pattern(length))
        await task.send("receiver", buffer)
        return task.copies

    async def receive(task):
        buffer = await task.buffer(length, memory=to.lower())
        await task.receive(buffer)
        assert await buffer.read() == pattern(length)
        return task.copies

    with application(nodes=["CAB1", "CAB2"]) as made:
        made.spawn("sender", send, on="CAB1.node")
        made.spawn("receiver", receive, on="CAB2.node" if where == "another" else "CAB1.node")
        made.go()
        out, into = (record.result for record in made.tasks)
        counted = out.node_out, out.cpu_out, out.dma_out, into.dma_in, into.cpu_in, into.node_in
        assert counted == tuple(int(each) * length for each in (node_out, sender, dma, dma, receiver, node_in))
        assert not (out.cpu_in or out.dma_in or out.node_in or into.cpu_out or into.dma_out or into.node_out)

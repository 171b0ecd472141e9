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

"""Buffers in CAB memory, and numbers as different computers keep them."""

import array
import struct

import pytest

from nectar.software.errors import ProgramError
from nectar.software.nectarine import CAB, Computer
from nectar.verification.software.helpers import pattern
from nectar.verification.software.nectarine.applications import run_tasks

VAX = Computer("little", 32)
ALPHA = Computer("little", 64)


def alone(function, **options):
    """What a task returns that runs alone."""
    return run_tasks((function,), **options)[0]


def test_a_buffer_holds_bytes_and_its_parts_are_the_same_bytes():
    async def task(task):
        buffer = await task.buffer(100)
        buffer.write(pattern(100))
        part = buffer[10:50][5:]
        assert (len(part), part.address) == (35, buffer.address + 15)
        part.write(b"part", 1)
        wanted = pattern(100)[:16] + b"part" + pattern(100)[20:]
        assert await buffer.read() == wanted and await buffer.read(90, 5) == wanted[90:95]
        with pytest.raises(ValueError, match="a buffer of 35 bytes has no 4 bytes at 32"):
            part.write(bytes(4), 32)
        with pytest.raises(TypeError, match="first:last"):
            buffer[::2]
        with pytest.raises(ProgramError, match="free the whole"):
            part.free()
        buffer.free()
        with pytest.raises(ProgramError, match="has been freed"):
            await part.read()
        with pytest.raises(ProgramError, match="has been freed"):
            buffer.free()
        return True

    assert alone(task)


def test_numbers_are_converted_when_they_are_asked_for_and_only_then():
    async def task(task):
        buffer = await task.buffer(64)
        for computer, order in ((CAB, ">"), (VAX, "<"), (ALPHA, "<")):
            for type, values in (("i", [1, -2, 3]), ("d", [0.5, -1e300]), ("H", [65535, 1])):
                numbers = buffer.as_type(type, computer)
                numbers.write(values)
                assert await numbers.read(0, len(values)) == values
                size = struct.calcsize(order + type)
                assert await buffer.read(0, size) == struct.pack(order + type, values[0])
                assert await numbers.read(1, 1) == values[1:2]
        assert len(buffer.as_type("word")) == 16 and len(buffer.as_type("word", ALPHA)) == 8
        with pytest.raises(ValueError, match="a type is 'word' or one of the letters"):
            buffer.as_type("s")
        return True

    assert alone(task)
    with pytest.raises(ValueError, match="32 or 64 bits"):
        Computer("middle", 32)


def test_converting_takes_time_and_not_converting_takes_none():
    async def task(task):
        buffer = await task.buffer(4000)
        times = []
        for computer in (CAB, VAX):
            begin = await task.cab.now_us()
            await buffer.as_type("I", computer).read()
            times.append(await task.cab.now_us() - begin)
        return times

    native, swapped = alone(task)
    assert swapped - native == 1000 * 4 / 16  # four cycles of 62.5 ns for each word


def test_any_object_with_a_buffer_is_sent_and_received_into():
    """As NumPy arrays are: by the buffer protocol, whatever their element."""

    async def sender(task):
        await task.send("b", array.array("d", [1.5, 2.5]))
        await task.send("b", memoryview(array.array("I", range(500))))

    async def receiver(task):
        small, large = array.array("d", [0, 0]), array.array("I", bytes(2000))
        await task.receive(small)
        await task.receive(large)
        with pytest.raises(TypeError, match="writable"):
            await task.ireceive(b"constant")
        return small, large

    assert run_tasks((sender,), (receiver,))[1] == (array.array("d", [1.5, 2.5]), array.array("I", range(500)))


def test_a_buffer_that_is_freed_while_a_message_needs_it_is_freed_behind_it():
    async def sender(task):
        await task.send("b")
        buffer = await task.buffer(30_000)
        buffer.write(pattern(30_000))
        handle = await task.isend("b", buffer)
        buffer.free()
        used = task.cab.memory.used
        await handle.wait()
        return used - task.cab.memory.used

    async def receiver(task):
        await task.receive()
        buffer = await task.buffer(30_000)
        handle = await task.ireceive(buffer)
        buffer.free()
        await handle.wait()
        return (await task.cab.memory.read(buffer.address, 30_000)) == pattern(30_000)

    assert run_tasks((sender,), (receiver,)) == [32_768, True]

"""What a program may hand to a call as its message, and what is refused (mpi4py's buffer specifications)."""

import ctypes
import struct
from array import array

import numpy
import pytest

from nectar.software.mpi.buffers import block, blocks, typed_blocks
from nectar.software.mpi.constants import BOTTOM
from nectar.software.mpi.datatype import DATATYPE_NULL
from nectar.software.mpi.memory import buffer, from_address
from nectar.software.mpi.predefined import DATATYPES

INT, BYTE, SHORT = (DATATYPES[name] for name in ("INT", "BYTE", "SHORT"))
DATA = array("i", range(6))


def ints(found):
    """The ints of a Block."""
    return list(struct.unpack(f"{found.nbytes // 4}i", found.pack()))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (DATA, [0, 1, 2, 3, 4, 5]),
        ([DATA, 2], [0, 1]),
        ([DATA, INT], [0, 1, 2, 3, 4, 5]),
        ([DATA, "i"], [0, 1, 2, 3, 4, 5]),
        ([DATA, (2, 3)], [3, 4]),
        ([DATA, [2, 3]], [3, 4]),
        ((DATA, 3, INT), [0, 1, 2]),
        ([DATA, (None, 4), INT], [4, 5]),
        ([DATA, (1, 5), "i"], [5]),
        ([DATA, 2, 1, INT], [1, 2]),
        ([DATA, 2, INT.Create_vector(2, 1, 2).Create_resized(0, 4)], [0, 2, 1, 3]),
        ([DATA, 0], []),
        ([None, 0, INT], []),
        ([b"", 0], []),
        ([bytes(8), BYTE], [0, 0]),
        (numpy.arange(4, dtype="i"), [0, 1, 2, 3]),
        (numpy.arange(4, dtype="i").reshape(2, 2).T, [0, 1, 2, 3]),
        (numpy.zeros((0, 3), "i"), []),
    ],
)
def test_a_message_has_these_elements(message, expected):
    assert ints(block(message)) == expected


def test_the_datatype_follows_from_the_format_of_the_buffer():
    for letter, name in [("b", "SIGNED_CHAR"), ("d", "DOUBLE"), ("L", "UNSIGNED_LONG"), ("h", "SHORT")]:
        assert block(array(letter, [1])).datatype == DATATYPES[name]
    for kind, name in [
        ("?", "C_BOOL"),
        ("D", "C_DOUBLE_COMPLEX"),
        ("g", "LONG_DOUBLE"),
        ("<i4", "INT"),
        ("e", "FLOAT16_T"),
    ]:
        assert block(numpy.zeros(3, kind)).datatype == DATATYPES[name]
    assert block(b"abc").datatype == DATATYPES["UNSIGNED_CHAR"]
    with pytest.raises(KeyError, match="cannot map 'T{"):
        block(numpy.zeros(2, [("x", "i"), ("y", "d")]))
    with pytest.raises(BufferError, match="non-native byte order"):
        block(numpy.zeros(2, ">i4"))


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        (3, TypeError, "message: expecting buffer or list/tuple"),
        (None, TypeError, "message: expecting buffer or list/tuple"),
        ([DATA], ValueError, "message: expecting 2 to 4 items"),
        ([DATA, -1], ValueError, "message: negative count -1"),
        ([DATA, (1, -1)], ValueError, "message: negative displacement -1"),
        ([DATA, (1, 7)], ValueError, "message: displacement 7 out of bounds, number of datatype entries 6"),
        ([DATA, 7], ValueError, "lie at bytes 0 to 28, the buffer has 24 bytes"),
        ([None, 1, INT], ValueError, "message: buffer is None but count is 1"),
        ([bytes(7), INT], ValueError, "buffer length 7 is not a multiple of datatype extent 4"),
        ([DATA, DATATYPE_NULL], ValueError, "message: cannot infer count, datatype is null"),
        ([DATA, INT.Create_resized(0, 0)], ValueError, "cannot infer count, datatype extent 0"),
        ([DATA, 1, "zz"], KeyError, "cannot map 'zz' to MPI datatype"),
        ([DATA, 1.5, INT], TypeError, "cannot be interpreted as an integer"),
        (numpy.zeros((4, 4))[::2, ::2], BufferError, "not contiguous"),
    ],
)
def test_a_wrong_message_is_refused(message, error, text):
    with pytest.raises(error, match=text):
        block(message)


def test_what_is_to_be_written_must_be_writable():
    with pytest.raises(BufferError, match="not writable"):
        block(b"abc", writable=True)
    target = bytearray(3)
    block(target, writable=True).unpack(b"xy")
    assert target == b"xy\0"


def test_a_message_of_parts_has_as_many_elements_in_each():
    assert block(DATA, parts=3).count == 2
    with pytest.raises(ValueError, match="number of entries 6 is not a multiple of required number of blocks 4"):
        block(DATA, parts=4)
    assert ints(block(DATA, parts=3).part(4, 2)) == [4, 5]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (DATA, [[0, 1], [2, 3], [4, 5]]),
        ([array("i", range(7)), INT], [[0, 1, 2], [3, 4], [5, 6]]),
        ([DATA, 2], [[0, 1], [2, 3], [4, 5]]),
        ([DATA, [1, 0, 3]], [[0], [], [1, 2, 3]]),
        ([DATA, ([1, 1, 1], [5, 0, 2])], [[5], [0], [2]]),
        ([DATA, (1, 2), INT], [[0], [2], [4]]),
        ([DATA, [1, 2, 1], [0, 1, 3], INT], [[0], [1, 2], [3]]),
        ([DATA, ([1, 2, 1], None), "i"], [[0], [1, 2], [3]]),
    ],
)
def test_a_message_for_each_rank_has_these_elements(message, expected):
    assert [ints(each) for each in blocks(message, 3)] == expected


def test_counts_must_be_as_many_as_ranks():
    with pytest.raises(ValueError, match="expecting 3 items, got 2"):
        blocks([DATA, [1, 2]], 3)
    with pytest.raises(ValueError, match="expecting 2 items, got 1"):
        typed_blocks([DATA, ([1, 1], [0, 4]), [INT]], 2)


def test_each_rank_may_have_a_datatype_of_its_own():
    assert [each.pack() for each in typed_blocks([b"abcdefgh", ([1, 2], [6, 0]), [SHORT, BYTE]], 2)] == [b"gh", b"ab"]
    assert [each.pack() for each in typed_blocks([b"abcd", [SHORT, BYTE]], 2)] == [b"ab", b"a"]
    with pytest.raises(ValueError, match="BOTTOM requires counts"):
        typed_blocks([BOTTOM, [INT, INT]], 2)


def test_bottom_stands_for_all_memory():
    room = (ctypes.c_int * 3)(7, 8, 9)
    at = INT.Create_hindexed([2], [ctypes.addressof(room) + 4])
    found = block([BOTTOM, 1, at], writable=True)
    assert ints(found) == [8, 9]
    found.unpack(struct.pack("2i", 1, 2))
    assert list(room) == [7, 1, 2]


class Foreign:
    """An array that has no buffer protocol of Python's."""

    def __init__(self, data, **protocol):
        self.data = data
        vars(self).update(protocol)


def test_memory_of_dlpack_and_of_cudas_interface_is_taken_if_the_cpu_reaches_it():
    data = numpy.arange(4, dtype="d")
    interface = {"version": 0, "data": (data.ctypes.data, False), "typestr": "<f8", "shape": (4,)}
    found = block(Foreign(data, __cuda_array_interface__=interface), writable=True)
    assert found.datatype == DATATYPES["DOUBLE"] and found.pack() == data.tobytes()
    with pytest.raises(BufferError, match="not writable"):
        block(Foreign(data, __cuda_array_interface__=interface | {"data": (data.ctypes.data, True)}), writable=True)
    with pytest.raises(BufferError, match="not contiguous"):
        block(Foreign(data, __cuda_array_interface__=interface | {"shape": (2,), "strides": (16,)}))
    packed = Foreign(data, __dlpack__=data.__dlpack__, __dlpack_device__=data.__dlpack_device__)
    assert block(packed).pack() == data.tobytes()
    with pytest.raises(BufferError, match="not CPU-accessible"):
        block(Foreign(data, __dlpack__=data.__dlpack__, __dlpack_device__=lambda: (2, 0)))


def test_a_buffer_is_memory_of_another_object():
    source = bytearray(b"abcdef")
    view = buffer(source)
    view[1] = 0x58
    view[2:4] = array("B", b"YZ")
    assert source == b"aXYZef"
    assert (len(view), view.nbytes, view[0], bytes(view[4:])) == (6, 6, ord("a"), b"ef")
    assert view.tobytes() == numpy.frombuffer(view, "B").tobytes() == bytes(source)
    assert from_address(view.address, 3).tobytes() == b"aXY"
    fixed = buffer.frombuffer(b"abc", readonly=True)
    with pytest.raises(TypeError, match="read-only"):
        fixed[0] = 1
    assert bytes(buffer.allocate(3)) == bytes(3) and len(buffer()) == 0
    for wrong in (lambda: buffer.allocate(-1), lambda: buffer.fromaddress(0, 3)):
        with pytest.raises(ValueError, match="expecting"):
            wrong()

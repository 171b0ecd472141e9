"""The memory behind a program's buffers: Python's buffer protocol, DLPack, CUDA's array interface, addresses.

All give one thing: the bytes as a flat memoryview, and the format of the items.
"""

import ctypes

__all__ = ["address_of", "buffer", "buffer_with", "flat_memory", "from_address"]

#: Letters of ``struct`` that memoryview can cast to bytes.
_CASTABLE = frozenset("bBhHiIlLqQnNfd?c")


class _View(ctypes.Structure):
    """``Py_buffer`` of Python's C interface."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_ANY_CONTIGUOUS = 0x98
_READ, _WRITE = 0x100, 0x200
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (ctypes.py_object, ctypes.POINTER(_View), ctypes.c_int)
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = (ctypes.POINTER(_View),)
_release.restype = None
_from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_from_memory.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
_from_memory.restype = ctypes.py_object


def address_of(view):
    """Address of the first byte of a contiguous memoryview; it stays for as long as the view lives."""
    raw = _View()
    _get_buffer(view, ctypes.byref(raw), _ANY_CONTIGUOUS)
    address = raw.buf
    _release(ctypes.byref(raw))
    return address or 0


def from_address(address, nbytes, readonly=False):
    """A flat memoryview of the bytes from ``address`` on. They must live for longer than the view."""
    if not nbytes:
        return memoryview(bytearray())
    return _from_memory(address, nbytes, _READ if readonly else _WRITE)


class _Tensor(ctypes.Structure):
    """``DLTensor`` of DLPack, as of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer_of.restype = ctypes.c_void_p
#: Kinds of DLPack: integer, unsigned, real, complex, boolean.
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_DLPACK_CPU = 1


def _packed(shape, strides):
    """Whether strides in items are those of a contiguous array, in the order of C or of Fortran."""
    for order in (range(len(shape) - 1, -1, -1), range(len(shape))):
        expected = 1
        for axis in order:
            if shape[axis] != 1 and strides[axis] != expected:
                break
            expected *= shape[axis]
        else:
            return True
    return 0 in shape


def _of_dlpack(source):
    """Address, bytes, type string and what must live, of an object with DLPack's protocol."""
    if source.__dlpack_device__()[0] != _DLPACK_CPU:
        raise BufferError("buffer is not CPU-accessible")
    capsule = source.__dlpack__()
    tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    shape = tensor.shape[: tensor.ndim]
    if tensor.strides and not _packed(shape, tensor.strides[: tensor.ndim]):
        raise BufferError("dlpack: buffer is not contiguous")
    nbytes = (tensor.bits * tensor.lanes + 7) // 8
    # Two lanes of a real number are a complex one: 256 bits, of long double, do not fit into ``bits``.
    kind = f"{_DLPACK_KINDS[5 if (tensor.code, tensor.lanes) == (2, 2) else tensor.code]}{nbytes}"
    for length in shape:
        nbytes *= length
    return (tensor.data or 0) + tensor.offset, nbytes, kind, capsule, False


def _of_cuda(source):
    """As ``_of_dlpack``, of an object with CUDA's array interface whose memory the CPU can reach."""
    interface = source.__cuda_array_interface__
    address, readonly = interface["data"]
    shape, strides, kind = interface["shape"], interface.get("strides"), interface["typestr"]
    if interface.get("mask") is not None:
        raise BufferError("__cuda_array_interface__: cannot handle masked arrays")
    nbytes = item = int(kind[2:])
    if strides is not None and not _packed(shape, [stride // item for stride in strides]):
        raise BufferError("__cuda_array_interface__: buffer is not contiguous")
    for length in shape:
        nbytes *= length
    return address or 0, nbytes, kind.lstrip("<=|"), source, readonly


def has_memory(source):
    """Whether ``source`` is a buffer of any kind."""
    if hasattr(source, "__dlpack__") or hasattr(source, "__cuda_array_interface__"):
        return True
    try:
        memoryview(source)
    except BufferError:
        return True  # a buffer that is not contiguous, or cannot be had now: flat_memory says so
    except TypeError:
        return False
    return True


def flat_memory(source, writable=False):
    """The bytes of a buffer.

    Returns
    -------
    view : memoryview of bytes
    format : str
        Letter or type string of the items.
    keep : object
        Must live for as long as the view.

    Raises
    ------
    BufferError
        The buffer is not contiguous, cannot be written, or has the other byte order.
    TypeError
        It is no buffer.
    """
    try:
        view = memoryview(source)
    except TypeError:
        if hasattr(source, "__dlpack__"):
            address, nbytes, kind, keep, readonly = _of_dlpack(source)
        elif hasattr(source, "__cuda_array_interface__"):
            address, nbytes, kind, keep, readonly = _of_cuda(source)
        else:
            raise
        if writable and readonly:
            raise BufferError("Object is not writable.") from None
        return from_address(address, nbytes, readonly), kind, keep
    if not view.contiguous:
        raise BufferError("the buffer is not contiguous")
    if writable and view.readonly:
        raise BufferError("Object is not writable.")
    form = view.format
    if form in _CASTABLE and view.c_contiguous and view.nbytes:
        return view.cast("B"), form, view
    return from_address(address_of(view), view.nbytes, view.readonly), form, view


class buffer:
    """Bytes of memory: those of another object, newly allocated ones, or those at an address.

    It has Python's buffer protocol. ``buffer(source)`` has the bytes of ``source``, or none. An index gives a byte as
    int, a slice a buffer of the same memory; both may be assigned, a slice with any buffer of as many bytes.
    """

    __module__ = "mpi4py.MPI"

    def __new__(cls, source=None):
        return cls.frombuffer(bytearray() if source is None else source, readonly=None)

    def __init__(self, source=None):
        """Nothing more: an array of ctypes would take ``source`` for its first byte."""

    @staticmethod
    def _at(address, nbytes, readonly, keep, obj):
        kind = _sized.get(nbytes)
        if kind is None:
            kind = _sized[nbytes] = type("buffer", (buffer, ctypes.c_ubyte * nbytes), {})
        self = kind.from_address(address)
        self.readonly = bool(readonly)
        self.keep = keep
        self.obj = obj
        return self

    @staticmethod
    def allocate(nbytes, clear=False):
        """``nbytes`` bytes of new memory; they are 0. Raises ValueError for less than 0 bytes."""
        if nbytes < 0:
            raise ValueError("expecting non-negative size")
        return buffer_with(bytes(nbytes))

    @staticmethod
    def frombuffer(obj, readonly=False):
        """The bytes of ``obj``. Raises as ``memory.flat_memory``."""
        view, _, keep = flat_memory(obj, writable=readonly is False)
        readonly = view.readonly if readonly is None else readonly
        return buffer._at(address_of(view), len(view), readonly, (view, keep), obj)

    @staticmethod
    def fromaddress(address, nbytes, readonly=False):
        """The bytes from ``address`` on. Raises ValueError for less than 0 bytes, or some at address 0."""
        if nbytes < 0:
            raise ValueError("expecting non-negative buffer length")
        if nbytes and not address:
            raise ValueError("expecting non-NULL address")
        return buffer._at(address, nbytes, readonly, None, None)

    address = property(lambda self: address_of(memoryview(self)) if len(self) else 0)
    nbytes = property(len)
    itemsize = property(lambda self: 1)
    format = property(lambda self: "B")

    def _view(self):
        return memoryview(self).cast("B")

    def __getitem__(self, key):
        if isinstance(key, slice):
            part = self._view()[key]
            if part and not part.contiguous:
                raise IndexError("slice with step not supported")
            return buffer._at(address_of(part) if part else 0, len(part), self.readonly, (part, self), self.obj)
        return self._view()[key]

    def __setitem__(self, key, value):
        if self.readonly:
            raise TypeError("memory buffer is read-only")
        if isinstance(key, slice):
            if not isinstance(value, int):
                self._view()[key] = flat_memory(value)[0]
            else:
                part = self._view()[key]
                part[:] = bytes([value]) * len(part)
        else:
            self._view()[key] = value

    def cast(self, format, shape=None):
        """A memoryview of the bytes as items of ``format``."""
        view = self._view()
        return view.cast(format) if shape is None else view.cast(format, shape)

    def tobytes(self, order=None):
        """A copy of the bytes."""
        return bytes(memoryview(self))

    def toreadonly(self):
        """The same memory, as a buffer that cannot be written."""
        return buffer._at(self.address, len(self), True, self, self.obj)

    def release(self):
        """Lets the object go whose memory it is."""
        self.keep = self.obj = None


class _Own(buffer, bytearray):
    """A buffer with memory of its own."""

    readonly = False
    keep = obj = None


def buffer_with(data):
    """A buffer with a copy of ``data`` in memory of its own."""
    made = bytearray.__new__(_Own)
    bytearray.__init__(made, data)
    return made


#: Bytes -> class of the buffers of that many bytes: a type of ctypes, which has the buffer protocol, has one length.
_sized = {}

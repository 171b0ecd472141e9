"""Global operations of NX/2: all nodes take part, and every node has the result.

Source: the names and parameters are those of Intel's iPSC/2 library. The algorithm is recursive doubling: in each step
the nodes whose numbers differ in one bit exchange what they have. If the number of nodes is not a power of two, the
nodes above the largest power of two give their part to a lower node first, and are given the result at the end.

The nodes' processes of the same id take part, and all must make the same calls in the same order. With n nodes and p
the largest power of two that is not above n, an operation takes p log2(p) + 2 (n - p) messages, in log2(p) steps, or
log2(p) + 2 if n is not p.
"""

from enum import IntEnum, auto
from operator import add, mul
from struct import Struct, calcsize, error, pack, unpack

from ..errors import ProgramError
from ..kernel.plain import as_coroutine, blocking
from ..nectarine.buffer import Buffer
from .messages import OWN_TYPES, buffer_of, type_of

__all__ = ["GlobalCalls"]

#: Of a part of a collection: node, bytes.
_PART = Struct(">HI")


class _Kind(IntEnum):
    """What a message of a global operation belongs to; its type is ``OWN_TYPES`` plus this."""

    gsync = auto()
    gdsum = auto()
    gdprod = auto()
    gdhigh = auto()
    gdlow = auto()
    gisum = auto()
    giprod = auto()
    gihigh = auto()
    gilow = auto()
    gland = auto()
    glor = auto()
    gcol = auto()
    gcolx = auto()
    gopf = auto()


def _wrapped(function):
    """``function`` of two integers, in 32 bits of two's complement."""
    return lambda one, other: (function(one, other) + 0x80000000) % (1 << 32) - 0x80000000


def _both(one, other):
    return int(one != 0 and other != 0)


def _either(one, other):
    return int(one != 0 or other != 0)


async def _bytes(buffer):
    """The bytes of a Buffer or a memoryview."""
    return await buffer.read() if isinstance(buffer, Buffer) else bytes(buffer)


def _store(buffer, data):
    """Stores bytes at the start of a Buffer or a memoryview."""
    if isinstance(buffer, Buffer):
        buffer.write(data)
    else:
        buffer[: len(data)] = data


def _packed(parts):
    return b"".join(_PART.pack(node, len(data)) + data for node, data in parts.items())


def _unpacked(data):
    parts, at = {}, 0
    while at < len(data):
        node, length = _PART.unpack_from(data, at)
        at += _PART.size
        parts[node] = data[at : at + length]
        at += length
    return parts


class GlobalCalls:
    """The global operations of a Process."""

    __slots__ = ()

    # -- inside --------------------------------------------------------------------------------------
    async def _give(self, kind, node, data):
        """Begins to send bytes to the process of the same id on ``node``. Returns the Sending."""
        record = self.nx.record(kind.name, node, self.pid)
        return await self.send_to(kind.name, OWN_TYPES + kind, data, [record])

    async def _take(self, kind, node):
        """Receives bytes from the process of the same id on ``node``."""
        record = self.nx.record(kind.name, node, self.pid)
        return await self.receive_from(kind.name, record, f"node {node}", OWN_TYPES + kind)

    async def _doubling(self, kind, data, combine):
        """Combines the bytes of all nodes: ``await combine(of lower nodes, of upper nodes)``. Returns the result."""
        await self.enter()
        nodes, me = self.nx.numnodes, self.node
        power = 1 << nodes.bit_length() - 1
        if me >= power:
            sending = await self._give(kind, me - power, data)
            data = await self._take(kind, me - power)
            await self.finish_operation(sending)
            return data
        if me + power < nodes:
            data = await combine(data, await self._take(kind, me + power))
        bit = 1
        while bit < power:
            sending = await self._give(kind, me ^ bit, data)
            other = await self._take(kind, me ^ bit)
            await self.finish_operation(sending)
            data = await (combine(other, data) if me & bit else combine(data, other))
            bit <<= 1
        if me + power < nodes:
            await self.finish_operation(await self._give(kind, me + power, data))
        return data

    async def _reduce(self, kind, letter, function, x, n, work):
        """Combines ``n`` numbers, each with those in the same place of other nodes."""
        if not isinstance(n, int) or not 0 <= n <= min(len(x), len(work)):
            raise ProgramError(f"{kind.name}: x has {len(x)} numbers and work {len(work)}; n is not {n!r}")
        form = f">{n}{letter}"
        kernel = self.cab.kernel

        def numbers(data):
            if len(data) != calcsize(form):
                given = len(data) // calcsize(f">{letter}")
                raise ProgramError(f"{kind.name}: node {self.node} gives {n} numbers, another node {given}")
            return unpack(form, data)

        async def combine(one, other):
            values = numbers(other)
            for index, value in enumerate(values):
                work[index] = value
            kernel.door.spend(n * kernel.costs.nx_combine)
            return pack(form, *map(function, numbers(one), values))

        try:
            data = pack(form, *(x[index] for index in range(n)))
        except (error, OverflowError, TypeError) as wrong:
            what = "32-bit integers" if letter == "i" else "floating-point numbers"
            raise ProgramError(f"{kind.name}: x must hold {what}: {wrong}") from None
        for index, value in enumerate(numbers(await self._doubling(kind, data, combine))):
            x[index] = value

    async def _collect(self, kind, x, xlen):
        """The bytes of all nodes: list of bytes, by node."""
        data = await _bytes(buffer_of(kind.name, x, xlen))

        async def combine(one, other):
            return one + other

        parts = _unpacked(await self._doubling(kind, _packed({self.node: data}), combine))
        return [parts[node] for node in range(self.nx.numnodes)]

    # -- calls ---------------------------------------------------------------------------------------
    @blocking
    async def gsync(self):
        """Waits until all nodes have made this call. Messages: p log2(p) + 2 (n - p), of 0 bytes."""

        async def combine(one, other):
            return b""

        await self._doubling(_Kind.gsync, b"", combine)

    @blocking
    async def gdsum(self, x, n, work):
        """Puts the sums of all nodes' doubles x[0] to x[n-1] into x; ``work`` holds n numbers, which are overwritten.
        All nodes have the same result, bit by bit. Messages: p log2(p) + 2 (n - p), of 8 bytes a number."""
        await self._reduce(_Kind.gdsum, "d", add, x, n, work)

    @blocking
    async def gdprod(self, x, n, work):
        """As ``gdsum``, the products. Messages: p log2(p) + 2 (n - p), of 8 bytes a number."""
        await self._reduce(_Kind.gdprod, "d", mul, x, n, work)

    @blocking
    async def gdhigh(self, x, n, work):
        """As ``gdsum``, the largest. Messages: p log2(p) + 2 (n - p), of 8 bytes a number."""
        await self._reduce(_Kind.gdhigh, "d", max, x, n, work)

    @blocking
    async def gdlow(self, x, n, work):
        """As ``gdsum``, the smallest. Messages: p log2(p) + 2 (n - p), of 8 bytes a number."""
        await self._reduce(_Kind.gdlow, "d", min, x, n, work)

    @blocking
    async def gisum(self, x, n, work):
        """Puts the sums of all nodes' 32-bit integers x[0] to x[n-1] into x, without their carries beyond 32 bits;
        ``work`` holds n numbers, which are overwritten. Messages: p log2(p) + 2 (n - p), of 4 bytes a number."""
        await self._reduce(_Kind.gisum, "i", _wrapped(add), x, n, work)

    @blocking
    async def giprod(self, x, n, work):
        """As ``gisum``, the products. Messages: p log2(p) + 2 (n - p), of 4 bytes a number."""
        await self._reduce(_Kind.giprod, "i", _wrapped(mul), x, n, work)

    @blocking
    async def gihigh(self, x, n, work):
        """As ``gisum``, the largest. Messages: p log2(p) + 2 (n - p), of 4 bytes a number."""
        await self._reduce(_Kind.gihigh, "i", max, x, n, work)

    @blocking
    async def gilow(self, x, n, work):
        """As ``gisum``, the smallest. Messages: p log2(p) + 2 (n - p), of 4 bytes a number."""
        await self._reduce(_Kind.gilow, "i", min, x, n, work)

    @blocking
    async def gland(self, x, n, work):
        """As ``gisum``: 1 if the numbers of all nodes are other than 0, else 0. Messages: p log2(p) + 2 (n - p), of 4
        bytes a number."""
        await self._reduce(_Kind.gland, "i", _both, x, n, work)

    @blocking
    async def glor(self, x, n, work):
        """As ``gisum``: 1 if the number of any node is other than 0, else 0. Messages: p log2(p) + 2 (n - p), of 4
        bytes a number."""
        await self._reduce(_Kind.glor, "i", _either, x, n, work)

    @blocking
    async def gcol(self, x, xlen, y, ylen):
        """Puts the first ``xlen`` bytes of ``x`` of all nodes one behind the other into ``y``, in the order of the
        nodes; ``y`` has room for ``ylen`` bytes. Returns how many there are. ``xlen`` need not be the same on all
        nodes. Messages: p log2(p) + 2 (n - p), of what has been collected so far and 6 bytes for each part."""
        y = buffer_of("gcol", y, ylen, writable=True)
        data = b"".join(await self._collect(_Kind.gcol, x, xlen))
        if len(data) > ylen:
            raise ProgramError(f"gcol: the nodes have {len(data)} bytes, y has room for {ylen}")
        _store(y, data)
        return len(data)

    @blocking
    async def gcolx(self, x, xlens, y):
        """As ``gcol``, if all nodes know how many bytes each gives: ``xlens`` is the list of these. Messages: p log2(p)
        + 2 (n - p), of what has been collected so far and 6 bytes for each part."""
        if len(xlens) != self.nx.numnodes:
            raise ProgramError(f"gcolx: xlens has {len(xlens)} lengths for {self.nx.numnodes} nodes")
        y = buffer_of("gcolx", y, sum(xlens), writable=True)
        parts = await self._collect(_Kind.gcolx, x, xlens[self.node])
        for node, part in enumerate(parts):
            if len(part) != xlens[node]:
                raise ProgramError(f"gcolx: node {node} gives {len(part)} bytes; xlens says {xlens[node]}")
        _store(y, b"".join(parts))

    @blocking
    async def gopf(self, x, xlen, work, function):
        """Combines the first ``xlen`` bytes of ``x`` of all nodes: ``function(x, work)`` puts the combination of what
        is in ``x`` and in ``work`` into ``x``; it must be associative and commutative. Both are writable bytes-like
        objects. Messages: p log2(p) + 2 (n - p), of ``xlen`` bytes."""
        ours, scratch = (buffer_of("gopf", each, xlen, writable=True) for each in (x, work))

        def whole(data):
            if len(data) != xlen:
                raise ProgramError(f"gopf: node {self.node} gives {xlen} bytes, another node {len(data)}")
            return data

        async def combine(one, other):
            _store(ours, whole(one))
            _store(scratch, whole(other))
            await as_coroutine(function, x, work)
            return await _bytes(ours)

        _store(ours, whole(await self._doubling(_Kind.gopf, await _bytes(ours), combine)))

    @blocking
    async def gsendx(self, type, x, xlen, nodenums, n):
        """Sends the first ``xlen`` bytes of ``x`` to the processes of the caller's id on the ``n`` nodes in
        ``nodenums``, as ``csend`` does. Messages: n."""
        if not isinstance(n, int) or not 0 <= n <= len(nodenums):
            raise ProgramError(f"gsendx: nodenums has {len(nodenums)} nodes; n is not {n!r}")
        data = buffer_of("gsendx", x, xlen)
        wanted = [self.nx.record("gsendx", node, self.pid) for node in nodenums[:n]]
        await self.enter()
        await self.finish_operation(await self.send_to("gsendx", type_of("gsendx", type), data, wanted))

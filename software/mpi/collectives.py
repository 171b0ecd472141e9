"""The collective calls of a communicator: they read the program's buffers and objects, and store what comes.

Names and parameters are mpi4py's; the operations themselves are in ``collective``. Each call with buffers has three
forms (``forms.collective``). A communicator gives ``_collective(name, function, terms)``, which runs ``await
function(exchange)`` and returns its result, ``_icollective`` and ``_persistent``.
"""

from .buffers import block, blocks, in_place, same_elements, typed_blocks
from .callbook import Terms
from .collective import between, within
from .collective.sharing import allgather
from .constants import PROC_NULL, ROOT
from .exception import ErrorClass, Exception
from .forms import collective
from .op import OPERATIONS
from .pickling import pickle

__all__ = ["Collectives", "combiner", "object_combiner", "reduced_blocks", "stored"]

_SUM = OPERATIONS["SUM"]


def stored(exchange, target, data, source):
    """Stores bytes that a rank has given in a Block. Raises Exception (ERR_TRUNCATE) if they are too many or too few;
    ``source`` names the rank."""
    if len(data) != target.nbytes:
        raise Exception(
            ErrorClass.ERR_TRUNCATE,
            f"{exchange.name}: {source} gives {len(data)} bytes, the buffer has room for {target.nbytes}",
        )
    target.unpack(data)


def _row(whole, count):
    """``count`` Blocks, one behind the other, of as many elements as ``whole`` has each."""
    return [whole.part(index * whole.count, whole.count) for index in range(count)]


def _store_each(exchange, targets, parts):
    for rank, (target, data) in enumerate(zip(targets, parts, strict=True)):
        stored(exchange, target, data, f"rank {rank}")


def combiner(exchange, op, datatype):
    """``combine(lower, upper)`` of packed bytes for ``collective``; it charges its time."""
    combination = op.combination(datatype)
    work, size = op.work(datatype), datatype.size

    def combine(lower, upper):
        if len(lower) != len(upper):
            raise Exception(
                ErrorClass.ERR_TRUNCATE, f"a reduction has {len(lower)} bytes of one rank, {len(upper)} of another"
            )
        if not len(lower):
            return lower
        exchange.computed(len(lower) // size * work)
        return combination(lower, upper)

    return combine


def object_combiner(op):
    """The same of pickled objects; ``op`` is an Op or any function of two objects."""
    return lambda lower, upper: pickle.dumps(op(pickle.loads(lower), pickle.loads(upper)))


def reduced_blocks(sendbuf, recvbuf):
    """The Blocks that a reduction takes its contribution from and stores its result in."""
    result = block(recvbuf, writable=True)
    if in_place(sendbuf):
        return result, result
    given = block(sendbuf)
    same_elements(given, result)
    return given, result


class Collectives:
    """The collective calls of all communicators.

    Raises
    ------
    Exception
        ERR_ROOT for a root that there is not; ERR_OP for an operation that is not for the datatype; ERR_TRUNCATE if
        another rank gives another number of bytes than the buffer has room for; ERR_OTHER if another rank makes another
        call in this place, or gives another root, number of bytes, datatype or operation.
    TypeError, ValueError, BufferError, KeyError
        As ``buffers.block``, for buffers; ValueError for a list of objects of the wrong length.
    """

    __slots__ = ()

    # -- inside --------------------------------------------------------------------------------------
    def _operations(self):
        return between if self.Is_inter() else within

    def _carried(self, operation):
        """``operation`` as this rank does it, wherever the memory of its program is."""
        return operation

    def _parts(self):
        """Number of ranks that parts come from and go to."""
        return self.Get_remote_size() if self.Is_inter() else self.Get_size()

    def _terms(self, block=None, op=None, root=None, **given):
        """The Terms of a call; of an intercommunicator those of the ranks of one group, whose Blocks may differ."""
        if self.Is_inter():
            block = None
            root = "ROOT or PROC_NULL" if root in (ROOT, PROC_NULL) else root
        return Terms.of(block, op, **given, **({} if root is None else {"root": root}))

    def _roles(self, root):
        """Whether the caller is the root, and whether it gives to the root or gets from it."""
        if self.Is_inter():
            valid = root in (ROOT, PROC_NULL) or 0 <= root < self.Get_remote_size()
            roles = root == ROOT, root not in (ROOT, PROC_NULL)
        else:
            valid = 0 <= root < self.Get_size()
            roles = root == self.Get_rank(), True
        if not valid:
            raise Exception(ErrorClass.ERR_ROOT, f"the root is a rank, 0 to {self._parts() - 1}, not {root}")
        return roles

    # -- of buffers ----------------------------------------------------------------------------------
    @collective
    def Barrier(self):
        """Returns when all ranks have called it."""
        return self._operations().barrier, self._terms()

    @collective
    def Bcast(self, buf, root=0):
        """Sends the elements of the root's buffer to the buffers of all ranks."""
        gives, gets = self._roles(root)
        if not (gives or gets):
            return _idle, self._terms(root=root)
        target = block(buf, writable=not gives)
        operations = self._operations()

        async def run(exchange):
            data = await operations.bcast(exchange, target.pack() if gives else None, root, target.nbytes)
            if not gives:
                stored(exchange, target, data, "the root")

        return run, self._terms(target, root=root)

    def _gather(self, sendbuf, root, row, equal):
        gets, gives = self._roles(root)
        given = None
        if gives and not (gets and in_place(sendbuf)):
            given = block(sendbuf)
        targets = row() if gets else None
        if gets and gives and given is None:
            given = targets[self.Get_rank()]
        operations = self._operations()

        async def run(exchange):
            data = given.pack() if given else None
            parts = await operations.gather(exchange, data, root, equal)
            if gets:
                _store_each(exchange, targets, parts)

        return run, self._terms(given if equal else None, root=root)

    @collective
    def Gather(self, sendbuf, recvbuf, root=0):
        """Puts the elements of all ranks into the root's buffer, in the order of the ranks; each gives as many."""
        parts = self._parts()
        return self._gather(sendbuf, root, lambda: _row(block(recvbuf, True, parts), parts), True)

    @collective
    def Gatherv(self, sendbuf, recvbuf, root=0):
        """As ``Gather``; ``recvbuf`` says how many elements come from each rank, and where they are to be."""
        return self._gather(sendbuf, root, lambda: blocks(recvbuf, self._parts(), True), False)

    def _scatter(self, row, recvbuf, root, equal):
        gives, gets = self._roles(root)
        target = None
        sources = row() if gives else None
        if gets and not (gives and in_place(recvbuf)):
            target = block(recvbuf, writable=True)
        operations = self._operations()
        length = None
        if equal and gets:
            length = sources[0].nbytes if gives else target.nbytes

        async def run(exchange):
            parts = [each.pack() for each in sources] if gives else None
            data = await operations.scatter(exchange, parts, root, length)
            if target is not None:
                stored(exchange, target, data, "the root")

        return run, self._terms((sources[0] if gives else target) if equal and gets else None, root=root)

    @collective
    def Scatter(self, sendbuf, recvbuf, root=0):
        """Sends to each rank its part of the elements of the root's buffer; all parts have as many."""
        parts = self._parts()
        return self._scatter(lambda: _row(block(sendbuf, False, parts), parts), recvbuf, root, True)

    @collective
    def Scatterv(self, sendbuf, recvbuf, root=0):
        """As ``Scatter``; ``sendbuf`` says how many elements go to each rank, and where they are."""
        return self._scatter(lambda: blocks(sendbuf, self._parts()), recvbuf, root, False)

    def _allgather(self, sendbuf, targets, equal):
        same = in_place(sendbuf) and not self.Is_inter()
        given = targets[self.Get_rank()] if same else block(sendbuf)
        operations = self._operations()

        async def run(exchange):
            _store_each(exchange, targets, await operations.allgather(exchange, given.pack(), equal))

        return run, self._terms(given if equal else None)

    @collective
    def Allgather(self, sendbuf, recvbuf):
        """As ``Gather``, into the buffers of all ranks."""
        parts = self._parts()
        return self._allgather(sendbuf, _row(block(recvbuf, True, parts), parts), not self.Is_inter())

    @collective
    def Allgatherv(self, sendbuf, recvbuf):
        """As ``Gatherv``, into the buffers of all ranks."""
        return self._allgather(sendbuf, blocks(recvbuf, self._parts(), True), False)

    def _alltoall(self, sendbuf, targets, row, equal=False):
        same = in_place(sendbuf) and not self.Is_inter()
        sources = targets if same else row()
        operations = self._operations()

        async def run(exchange):
            _store_each(exchange, targets, await operations.alltoall(exchange, [each.pack() for each in sources]))

        return run, self._terms(sources[0] if equal else None)

    @collective
    def Alltoall(self, sendbuf, recvbuf):
        """Each rank sends to each rank its part of the buffer, and puts what comes in the order of the ranks."""
        parts = self._parts()
        targets = _row(block(recvbuf, True, parts), parts)
        return self._alltoall(sendbuf, targets, lambda: _row(block(sendbuf, False, parts), parts), True)

    @collective
    def Alltoallv(self, sendbuf, recvbuf):
        """As ``Alltoall``; the buffers say how many elements go to and come from each rank, and where they are."""
        parts = self._parts()
        return self._alltoall(sendbuf, blocks(recvbuf, parts, True), lambda: blocks(sendbuf, parts))

    @collective
    def Alltoallw(self, sendbuf, recvbuf):
        """As ``Alltoallv``, with a datatype for each rank."""
        parts = self._parts()
        return self._alltoall(sendbuf, typed_blocks(recvbuf, parts, True), lambda: typed_blocks(sendbuf, parts))

    @collective
    def Reduce(self, sendbuf, recvbuf, op=_SUM, root=0):
        """Combines the elements of all ranks, in their order, in the root's buffer."""
        gets, gives = self._roles(root)
        if not (gives or gets):
            return _idle, self._terms(op=op, root=root)
        given = result = None
        if gives and gets:
            given, result = reduced_blocks(sendbuf, recvbuf)
        elif gives:
            given = block(sendbuf)
        else:
            result = block(recvbuf, writable=True)
        operations, datatype = self._operations(), (given or result).datatype
        commutative = op.Is_commutative()
        op.combination(datatype)

        async def run(exchange):
            combine = combiner(exchange, op, datatype)
            data = await operations.reduce(exchange, given.pack() if given else None, combine, root, commutative)
            if gets:
                stored(exchange, result, data, "the reduction")

        return run, self._terms(given, op, root)

    @collective
    def Allreduce(self, sendbuf, recvbuf, op=_SUM):
        """As ``Reduce``, in the buffers of all ranks."""
        given, result = reduced_blocks(sendbuf, recvbuf)
        operations = self._operations()
        op.combination(result.datatype)

        async def run(exchange):
            combine = combiner(exchange, op, result.datatype)
            data = await operations.allreduce(exchange, given.pack(), combine)
            stored(exchange, result, data, "the reduction")

        return run, self._terms(given, op)

    def _reduce_scatter(self, given, result, counts, op, **told):
        """``counts``: elements for each rank; None: each rank tells how many it wants. ``told``: as ``_terms``."""
        operations, rank, size = self._operations(), self.Get_rank(), self.Get_size()
        unit = given.layout.size
        op.combination(given.datatype)

        async def run(exchange):
            wanted = counts
            if wanted is None:
                told = await allgather(exchange, result.count.to_bytes(8), True)
                wanted = [int.from_bytes(each) for each in told]
            if given is not result and not self.Is_inter():
                if given.count != sum(wanted):
                    raise ValueError(f"mismatch in send count {given.count} and sum(counts) {sum(wanted)}")
                if result.count != wanted[rank]:
                    raise ValueError(f"mismatch in receive count {result.count} and counts[{rank}] {wanted[rank]}")
            combine = combiner(exchange, op, given.datatype)
            lengths = [unit * count for count in wanted]
            data = await operations.reduce_scatter(exchange, given.pack(), lengths, combine)
            part = result.part(0, min(result.count, wanted[rank]))  # in place, there is room for all parts
            stored(exchange, part, data, "the reduction")

        if counts is not None and len(counts) != size:
            raise ValueError(f"expecting {size} items, got {len(counts)}")
        return run, self._terms(given, op, **told)

    @collective
    def Reduce_scatter_block(self, sendbuf, recvbuf, op=_SUM):
        """Combines the elements of all ranks; each gets its part of the result, all as many."""
        size = self.Get_size()
        if in_place(sendbuf) and not self.Is_inter():
            part = block(recvbuf, True, size)
            whole = part.part(0, part.count * size)
            return self._reduce_scatter(whole, whole, [part.count] * size, op)
        result, given = block(recvbuf, writable=True), block(sendbuf, False, size)
        same_elements(given, result)
        whole = given.part(0, given.count * size)
        return self._reduce_scatter(whole, result, [result.count] * size, op)

    @collective
    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts=None, op=_SUM):
        """As ``Reduce_scatter_block``, with ``recvcounts`` elements for each rank.

        Without ``recvcounts`` each rank gets as many as its buffer has; this takes an allgather more.
        """
        result = block(recvbuf, writable=True)
        same = in_place(sendbuf) and not self.Is_inter()
        given = result if same else block(sendbuf)
        if given.datatype != result.datatype:
            raise ValueError("mismatch in send and receive MPI datatypes")
        if recvcounts is None and (same or self.Is_inter()):
            raise TypeError("recvcounts must be given")
        counts = None if recvcounts is None else [int(count) for count in recvcounts]
        if same and result.count != sum(counts):
            raise ValueError(f"mismatch in receive count {result.count} and sum(counts) {sum(counts)}")
        return self._reduce_scatter(given, result, counts, op, recvcounts=counts)

    # -- of objects ----------------------------------------------------------------------------------
    def barrier(self):
        """As ``Barrier``."""
        self.Barrier()

    def bcast(self, obj, root=0):
        """The root's object, on all ranks."""
        gives, gets = self._roles(root)
        data = pickle.dumps(obj) if gives else None
        got = self._collective(
            "bcast", lambda exchange: self._operations().bcast(exchange, data, root), self._terms(root=root)
        )
        return pickle.loads(got) if gets else None

    def gather(self, sendobj, root=0):
        """On the root the list of all ranks' objects; None elsewhere."""
        gets, gives = self._roles(root)
        data = pickle.dumps(sendobj) if gives else None
        parts = self._collective(
            "gather", lambda exchange: self._operations().gather(exchange, data, root, False), self._terms(root=root)
        )
        return [pickle.loads(part) for part in parts] if gets else None

    def scatter(self, sendobj, root=0):
        """Object number ``rank`` of the root's list."""
        gives, gets = self._roles(root)
        parts = pickle.dumps_each(sendobj, self._parts()) if gives else None
        got = self._collective(
            "scatter", lambda exchange: self._operations().scatter(exchange, parts, root, None), self._terms(root=root)
        )
        return pickle.loads(got) if gets else None

    def allgather(self, sendobj):
        """The list of all ranks' objects."""
        data = pickle.dumps(sendobj)
        parts = self._collective("allgather", lambda exchange: self._operations().allgather(exchange, data, False))
        return [pickle.loads(part) for part in parts]

    def alltoall(self, sendobj):
        """The list of the objects that the ranks have for this one; ``sendobj`` is a list with one for each rank."""
        parts = pickle.dumps_each(sendobj, self._parts())
        got = self._collective("alltoall", lambda exchange: self._operations().alltoall(exchange, parts))
        return [pickle.loads(part) for part in got]

    def reduce(self, sendobj, op=_SUM, root=0):
        """On the root the combination of all ranks' objects, in their order; None elsewhere."""
        gets, gives = self._roles(root)
        data, combine = pickle.dumps(sendobj) if gives else None, object_combiner(op)
        got = self._collective(
            "reduce",
            lambda exchange: self._operations().reduce(exchange, data, combine, root, False),
            self._terms(op=op, root=root),
        )
        return pickle.loads(got) if gets else None

    def allreduce(self, sendobj, op=_SUM):
        """As ``reduce``, on all ranks."""
        data, combine = pickle.dumps(sendobj), object_combiner(op)
        got = self._collective(
            "allreduce", lambda exchange: self._operations().allreduce(exchange, data, combine), self._terms(op=op)
        )
        return pickle.loads(got)


async def _idle(exchange):
    """The part of a rank that neither gives nor gets: one of the root's group in an intercommunicator."""

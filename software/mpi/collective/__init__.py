"""The collective operations on the bytes of each rank, over an Exchange (docs/mpi-collectives.md).

An Exchange belongs to one call on one communicator. It has ``rank`` and ``size``; ``await send(data, to, phase)``,
``await isend(data, to, phase)``, ``await receive(source, phase)``; ``can_multicast(nbytes)``, ``await
multicast(data)``, ``await from_multicast(root)``; ``combined(numbers)``, which charges for a reduction. Messages
of one phase between two ranks arrive in order, and tell their length.
"""

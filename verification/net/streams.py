"""A connection of Linux's TCP over the boards, both ends in this process."""

import socket
from contextlib import suppress

from nectar.verification.software.helpers import drive

__all__ = ["push"]

_PORT = 5000


def push(place, data):
    """Sends bytes from CAB1 to CAB2 of a Place: what has come, and [(simulated time in us, bytes until then)]."""
    come, marks, sent, near = bytearray(), [], 0, None
    with (
        place.socket("CAB2", socket.AF_INET, socket.SOCK_STREAM) as listener,
        place.socket("CAB1", socket.AF_INET, socket.SOCK_STREAM) as far,
    ):
        listener.bind(("10.89.0.2", _PORT))
        listener.listen()
        with suppress(BlockingIOError):
            far.connect(("10.89.0.2", _PORT))

        def over():
            nonlocal near, sent
            with suppress(BlockingIOError):
                if near is None:
                    near, _ = listener.accept()
                    near.setblocking(False)
                while sent < len(data):
                    sent += far.send(data[sent : sent + 65536])
            with suppress(BlockingIOError):
                while near is not None and (part := near.recv(65536)):
                    come.extend(part)
                    marks.append((place.machine.time_ps / 1e6, len(come)))
            return len(come) >= len(data)

        try:
            drive(place.carrier.run(over, 0.001))
        finally:
            if near is not None:
                near.close()
    return bytes(come), marks

"""Errors of the transports as programs with sockets know them: an OSError with its errno. Specification:
docs/sockets.md."""

import errno

from ...errors import (
    CabSilent,
    ConnectionAborted,
    ConnectionClosed,
    ConnectRefused,
    ConnectTimeout,
    MessageTooLong,
    NoRoute,
    PeerAborted,
    PeerRestarted,
    PeerSilent,
    PortInUse,
    ProgramError,
)

__all__ = ["os_error", "wrong"]

#: The first that fits.
_ERRNO = (
    (ConnectRefused, errno.ECONNREFUSED),
    (ConnectTimeout, errno.ETIMEDOUT),
    (PeerSilent, errno.ETIMEDOUT),
    (PeerRestarted, errno.ECONNRESET),
    (PeerAborted, errno.ECONNRESET),
    (ConnectionAborted, errno.ECONNABORTED),
    (ConnectionClosed, errno.EPIPE),
    (PortInUse, errno.EADDRINUSE),
    (NoRoute, errno.EHOSTUNREACH),
    (MessageTooLong, errno.EMSGSIZE),
    (CabSilent, errno.ENETDOWN),
    (ProgramError, errno.ENOBUFS),
)


def os_error(error):
    """The OSError that stands for a ProgramError."""
    number = next(number for kind, number in _ERRNO if isinstance(error, kind))
    return OSError(number, str(error))


def wrong(number, text):
    """The OSError with errno ``number`` and these words."""
    return OSError(number, text)

"""What may go wrong with the network of ``nectar net``."""

from ..cli.errors import UsageError

__all__ = ["NetworkGone"]


class NetworkGone(UsageError):
    """A device, or the namespace that it was in, was taken away while packets were carried."""

"""The wires of a Direct-Connect router: a channel, the node source, the node sink.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Router Architecture" and "Channel
Description". The signals of node source and node sink are ours. ``docs/ipsc2.md`` has them with their cycles.
"""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .formats import PAIR_BITS, WORD_BITS

__all__ = ["Channel", "Lane", "Lines", "NodeSink", "NodeSource"]


class Lines(wiring.Signature):
    """One direction of a channel: the data line and the strobe line, by periods of the strobe.

    Members
    -------
    data : Out(2)
        What the data line carries at the two edges of a period; bit 0 is the earlier one.
    strobe : Out(1)
        The strobe has had a period: ``data`` holds. Where it is 0 nothing is sent.
    """

    def __init__(self):
        super().__init__({"data": Out(PAIR_BITS), "strobe": Out(1)})


class Lane(wiring.Signature):
    """From the routing element of an incoming channel, or from the origin, to whoever has been granted to it.

    Parameters
    ----------
    status : bool
        It has the member ``status``, which the node sink does not need.

    Members
    -------
    data, strobe : Out(2), Out(1)
        A pair, and whether there is one.
    status : Out(1)
        With ``strobe``: it is the pair whose bit 0 is RDY.
    last : Out(1)
        With ``strobe``: it is the last pair of the message.
    """

    def __init__(self, status=True):
        marks = {"status": Out(1)} if status else {}
        super().__init__({"data": Out(PAIR_BITS), "strobe": Out(1), **marks, "last": Out(1)})


class Channel(wiring.Signature):
    """A router's side of a channel: two data lines and two strobe lines.

    Members
    -------
    tx : Out(Lines())
        To the neighbour.
    rx : In(Lines())
        From the neighbour.
    """

    def __init__(self):
        super().__init__({"tx": Out(Lines()), "rx": In(Lines())})


class NodeSource(wiring.Signature):
    """From the serializer of a node to its router; ``Out`` is what the serializer drives.

    Members
    -------
    request : Out(1)
        The serializer asks for a circuit. It holds ``request``, ``probe`` and ``data`` until ``grant``.
    probe : Out(16)
        The routing probe of the message.
    data : Out(2)
        The next pair to send. Before the first cycle of ``grant`` it is the first pair of the probe's frame.
    grant : In(1)
        The pair is taken at the edge that ends this cycle. 1 in each cycle from the first pair of the probe to the
        last pair of the word with EOM, then 0 for at least one cycle.
    allow : In(1)
        *Allow data*: the destination is ready. 0 without ``grant``.
    refused : In(1)
        In the same cycle as ``request``: no circuit can be had for this probe; ``grant`` will not come.
    """

    def __init__(self):
        super().__init__(
            {
                "request": Out(1),
                "probe": Out(WORD_BITS),
                "data": Out(PAIR_BITS),
                "grant": In(1),
                "allow": In(1),
                "refused": In(1),
            }
        )


class NodeSink(wiring.Signature):
    """From a router to the deserializer of its node; ``Out`` is what the router drives.

    Members
    -------
    open : Out(1)
        A message is coming in: 1 from the first pair of its probe to the last pair of the word with EOM, then 0 for at
        least one cycle.
    data : Out(2)
        A pair.
    strobe : Out(1)
        ``data`` holds. 0 without ``open``; with ``open`` it may be 0 in any cycle.
    ready : In(1)
        The deserializer can take data: RDY. The router looks at it in cycles with ``open`` only.
    """

    def __init__(self):
        super().__init__({"open": Out(1), "data": Out(PAIR_BITS), "strobe": Out(1), "ready": In(1)})

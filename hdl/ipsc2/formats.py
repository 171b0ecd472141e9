"""What travels on a Direct-Connect channel: words, status nibbles, probes, and how long each takes.

Plain Python that imports nothing: gateware, software, tests and documentation read these numbers from here.
``docs/ipsc2.md`` explains them.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Channel Protocol" and "Message
Routing". The figure of 2.8 Mbyte/s a channel is from the paper on the node in the same proceedings, section 2.4.2. What
is ours is marked so in ``docs/ipsc2.md``.
"""

__all__ = [
    "CHANNELS",
    "EXTERNAL",
    "DIMENSIONS",
    "CLOCK_HZ",
    "PERIOD_PS",
    "PAIR_BITS",
    "WORD_BITS",
    "WORD_PAIRS",
    "NIBBLE_PAIRS",
    "SHORT_PROBE_PAIRS",
    "CLOSING_PAIRS",
    "NIBBLE_START",
    "DATA_START",
    "RDY_PLACE",
    "MOST_WIRE",
    "channels",
    "probe",
    "short",
    "route",
    "nibble",
    "word",
    "short_probe",
    "flight",
]

#: Channels of a router, and the number of the one to a device outside of the cube.
CHANNELS, EXTERNAL = 8, 7
#: Dimensions of a cube: least and most.
DIMENSIONS = 1, 7
#: Periods of the strobe in a second. A period has two edges, so it carries two bits.
CLOCK_HZ = 14_000_000
#: The period in picoseconds: 71.43 ns.
PERIOD_PS = round(1e12 / CLOCK_HZ)
#: Bits of a pair: one for each edge of the strobe's period.
PAIR_BITS = 2
#: Data bits of a word.
WORD_BITS = 16
#: Pairs, which is periods, of a data word or a probe of 16 bits; of a status nibble; of a probe of 8 bits.
WORD_PAIRS, NIBBLE_PAIRS, SHORT_PROBE_PAIRS = 10, 2, 6
#: Pairs that a routing element sends behind the probe of a message that ended before it: a nibble, and a word with EOM.
CLOSING_PAIRS = NIBBLE_PAIRS + WORD_PAIRS
#: The pair that begins a status nibble; the pair that begins a word or a probe.
NIBBLE_START, DATA_START = 0b11, 0b00
#: In each of the three, the pair that has RDY in bit 0, and EOM or the don't-care in bit 1.
RDY_PLACE = 1
#: A channel may delay what it carries by so many periods at most.
MOST_WIRE = 3


def channels(dimensions):
    """Numbers of the channels of a router in a cube of so many ``dimensions`` (1 to 7): one for each, and EXTERNAL."""
    return (*range(dimensions), EXTERNAL)


def users(dimensions, channel):
    """Who may use a channel outward of a router, in the order of its turns: None, the node source, and channels inward.

    ``channel``: its number; CHANNELS for the node sink.
    """
    inward = channels(dimensions)
    if channel == CHANNELS:
        return inward
    return (None, *(n for n in inward if n < channel or n == EXTERNAL))


def probe(source, destination, external=False):
    """The routing probe from node ``source`` to node ``destination``; ``external``: to the device on channel 7 there.

    Raises ValueError if one of them is no node of a cube of seven dimensions.
    """
    for node in source, destination:
        if not 0 <= node < 1 << EXTERNAL:
            raise ValueError(f"there is no node {node} in a cube of {EXTERNAL} dimensions")
    return source ^ destination | external << EXTERNAL


def short(routing_probe):
    """The short probe: the 8 low bits of ``routing_probe``."""
    return routing_probe & 0xFF


def route(routing_probe, arrived=None):
    """The channel that a message takes next, or None for the node sink.

    ``arrived``: channel on which the probe came in; None for the node source of the router.
    """
    lowest = arrived + 1 if arrived is not None and arrived != EXTERNAL else 0
    return next((n for n in range(lowest, CHANNELS) if routing_probe >> n & 1), None)


def _pairs(bits, count):
    return [bits >> place & 3 for place in range(0, count, PAIR_BITS)]


def nibble(ready):
    """The pairs of a status nibble, in the order in which they are sent; bit 0 of each is the earlier bit."""
    return [NIBBLE_START, 0b10 | bool(ready)]


def word(data, *, ready=False, end=False):
    """The pairs of a data word with 16 bits of ``data``; ``end``: its EOM bit. A probe of 16 bits looks the same."""
    return [DATA_START, end << 1 | ready, *_pairs(data, WORD_BITS)]


def short_probe(routing_probe, *, ready=False):
    """The pairs of a probe of 8 bits."""
    return [DATA_START, int(ready), *_pairs(routing_probe, 8)]


def flight(hops, wire=0):
    """How many words may still begin to arrive at a deserializer, or be arriving, when it takes RDY back.

    ``hops``: channels of the circuit. ``wire``: periods by which each of them delays (at most MOST_WIRE).
    """
    return (hops * (14 + 2 * wire) + 10) // WORD_PAIRS + 1

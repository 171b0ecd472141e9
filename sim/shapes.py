"""Built-in shapes of networks: functions that make a Topology, and the table of their names.

docs/engine.md lists the shapes with the ports of every fiber. All HUBs have 16 ports.
"""

import re
from random import Random

from .wiring import MAX_CAB_ID, MAX_HUB_ID, MAX_PORTS, Topology, TopologyError

__all__ = ["BUILT_IN"]

#: Ports of a HUB.
PORTS = 16


def hub(count=16):
    """``count`` CABs on one HUB of 16 ports: CAB1 on P0, CAB2 on P1, and so on."""
    if not 1 <= count <= 16:
        more = f"; for more write a file with ports = {count}" if 16 < count <= MAX_PORTS else ""
        raise TopologyError(f"hub:{count}: a HUB of 16 ports takes 1 to 16 CABs{more}")
    topology = Topology(f"hub:{count}").hub("HUB1")
    for i in range(count):
        topology.cab(f"CAB{i + 1}").fiber(f"CAB{i + 1}", f"HUB1.P{i}")
    return topology


def _hubs_with_cabs(shape, what, hubs, cabs, links):
    """A Topology named ``shape`` of ``hubs`` HUBs of 16 ports with ``cabs`` CABs on each, numbered from HUB to HUB.

    The first CAB of each HUB is on P0, the others are on the ports behind the ``links`` that lead to other HUBs.
    ``what``: what messages call it.
    """
    most = 16 - links
    if not 1 <= hubs <= MAX_HUB_ID:
        raise TopologyError(f"{shape}: a {what} has 1 to {MAX_HUB_ID} HUBs, not {hubs}")
    if not 1 <= cabs <= most:
        raise TopologyError(f"{shape}: a HUB of a {what} takes 1 to {most} CABs; for more write a file")
    if hubs * cabs > MAX_CAB_ID:
        raise TopologyError(f"{shape}: {hubs * cabs} CABs are more than the {MAX_CAB_ID} that a network may have")
    topology = Topology(shape)
    for i in range(1, hubs + 1):
        topology.hub(f"HUB{i}")
        for number in range(cabs):
            cab = f"CAB{(i - 1) * cabs + number + 1}"
            topology.cab(cab).fiber(cab, f"HUB{i}.P{links + number if number else 0}")
    return topology


def _times(*numbers):
    """``2x2x3``; a 1 at the end, one CAB on each HUB, is not written."""
    return "x".join(map(str, numbers[:-1] if numbers[-1] == 1 else numbers))


def chain(count=4, cabs=1):
    """``count`` HUBs in a row, ``cabs`` CABs on P0, P3, P4 and so on of each; P1 leads to P2 of the next."""
    topology = _hubs_with_cabs(f"chain:{_times(count, cabs)}", "chain", count, cabs, 2)
    for i in range(1, count):
        topology.fiber(f"HUB{i}.P1", f"HUB{i + 1}.P2")
    return topology


def mesh(rows=2, columns=2, cabs=1):
    """``rows`` x ``columns`` HUBs, ``cabs`` CABs on P0, P5, P6 and so on of each.

    P1 leads to P2 of the HUB to the right, P3 to P4 of the one below.
    """
    topology = _hubs_with_cabs(f"mesh:{_times(rows, columns, cabs)}", "mesh", rows * columns, cabs, 4)
    for row in range(rows):
        for column in range(columns):
            number = row * columns + column + 1
            if column + 1 < columns:
                topology.fiber(f"HUB{number}.P1", f"HUB{number + 1}.P2")
            if row + 1 < rows:
                topology.fiber(f"HUB{number}.P3", f"HUB{number + columns}.P4")
    return topology


def torus(rows=3, columns=3, cabs=1):
    """A mesh whose rows and columns are closed to rings: P1 of the last HUB of a row leads to P2 of the first, P3 of
    the last HUB of a column to P4 of the first."""
    shape = f"torus:{_times(rows, columns, cabs)}"
    if min(rows, columns) < 2:
        raise TopologyError(f"{shape}: a torus has at least 2 rows and 2 columns")
    topology = _hubs_with_cabs(shape, "torus", rows * columns, cabs, 4)
    for row in range(rows):
        for column in range(columns):
            number = row * columns + column + 1
            topology.fiber(f"HUB{number}.P1", f"HUB{row * columns + (column + 1) % columns + 1}.P2")
            topology.fiber(f"HUB{number}.P3", f"HUB{(row + 1) % rows * columns + column + 1}.P4")
    return topology


def hypercube(dimensions=3, cabs=1):
    """2**``dimensions`` HUBs, ``cabs`` CABs on P0 and on the ports behind P``dimensions`` of each.

    HUB1 is the HUB with the address 0. Port P1 + n leads to P1 + n of the HUB whose address differs in bit n."""
    shape = f"hypercube:{_times(dimensions, cabs)}"
    if not 1 <= dimensions <= 7:
        raise TopologyError(f"{shape}: a hypercube has 1 to 7 dimensions")
    topology = _hubs_with_cabs(shape, "hypercube", 1 << dimensions, cabs, dimensions)
    for address in range(1 << dimensions):
        for n in range(dimensions):
            if not address >> n & 1:
                topology.fiber(f"HUB{address + 1}.P{1 + n}", f"HUB{(address | 1 << n) + 1}.P{1 + n}")
    return topology


def tree(levels=3, branches=2, cabs=1):
    """``levels`` levels of HUBs, ``branches`` HUBs below each, ``cabs`` CABs on each HUB of the lowest level.

    P0 leads up, P1, P2 and so on lead down. HUBs are numbered from the root, level by level."""
    shape = f"tree:{_times(levels, branches, cabs)}"
    if not 1 <= levels <= 8 or not 1 <= branches < PORTS:
        raise TopologyError(f"{shape}: a tree has 1 to 8 levels, and 1 to {PORTS - 1} HUBs below each")
    if not 1 <= cabs < PORTS:
        raise TopologyError(f"{shape}: a HUB of a tree takes 1 to {PORTS - 1} CABs")
    first = [sum(branches**level for level in range(here)) for here in range(levels + 1)]
    leaves = branches ** (levels - 1)
    if first[levels] > MAX_HUB_ID:
        raise TopologyError(f"{shape}: {first[levels]} HUBs are more than the {MAX_HUB_ID} that a network may have")
    if leaves * cabs > MAX_CAB_ID:
        raise TopologyError(f"{shape}: {leaves * cabs} CABs are more than the {MAX_CAB_ID} that a network may have")
    topology = Topology(shape)
    for number in range(first[levels]):
        topology.hub(f"HUB{number + 1}")
        if number:
            above, place = divmod(number - 1, branches)
            topology.fiber(f"HUB{above + 1}.P{1 + place}", f"HUB{number + 1}.P0")
    for number in range(leaves * cabs):
        cab = f"CAB{number + 1}"
        topology.cab(cab).fiber(cab, f"HUB{first[levels - 1] + number // cabs + 1}.P{1 + number % cabs}")
    return topology


def random(seed=1, hubs=None, cabs=None):
    """``hubs`` HUBs and ``cabs`` CABs wired at random, by a generator that starts from ``seed``: a tree of HUBs with
    CABs on any HUB, and half as many further fibers as there are HUBs, as far as ports are free.

    Left out, there are 2 to 8 HUBs, and 2 to 4 CABs for each."""
    draw = Random(seed)
    drawn = draw.randint(2, 8), draw.randint(2, 4)
    shape = f"random:{seed}" + (f"x{hubs}" if hubs is not None else "") + (f"x{cabs}" if cabs is not None else "")
    hubs = drawn[0] if hubs is None else hubs
    cabs = min(hubs * drawn[1], MAX_CAB_ID) if cabs is None else cabs
    if not 1 <= hubs <= MAX_HUB_ID:
        raise TopologyError(f"{shape}: a network has 1 to {MAX_HUB_ID} HUBs, not {hubs}")
    most = min(MAX_CAB_ID, PORTS * hubs - 2 * (hubs - 1))
    if not 1 <= cabs <= most:
        raise TopologyError(f"{shape}: {hubs} {'HUB takes' if hubs == 1 else 'HUBs take'} 1 to {most} CABs")
    topology = Topology(shape)
    free = {}  # HUB -> its free ports

    def port(of=None):
        hub = of or draw.choice([name for name, ports in free.items() if ports])
        return f"{hub}.P{free[hub].pop(draw.randrange(len(free[hub])))}"

    for i in range(1, hubs + 1):
        topology.hub(f"HUB{i}")
        above = port() if i > 1 else None
        free[f"HUB{i}"] = list(range(PORTS))
        if above is not None:
            topology.fiber(above, port(f"HUB{i}"))
    for i in range(1, cabs + 1):
        topology.cab(f"CAB{i}").fiber(f"CAB{i}", port())
    for _ in range(hubs // 2):
        ends = [name for name, ports in free.items() if ports]
        if len(ends) >= 2:
            topology.fiber(*map(port, draw.sample(ends, 2)))
    return topology


def figure7():
    """The four HUBs and five CABs of Figure 7 in "The Design of Nectar" (1989).

    The paper's examples name all outputs; the inputs of CAB2 and of the fibers from HUB1 to HUB4 and from HUB4 to HUB3
    are ours."""
    topology = Topology("figure7")
    for i in range(1, 5):
        topology.hub(f"HUB{i}")
    for i in range(1, 6):
        topology.cab(f"CAB{i}")
    for a, b in (
        ("CAB1", "HUB1.P8"),
        ("CAB2", "HUB1.P2"),
        ("CAB3", "HUB2.P4"),
        ("CAB4", "HUB4.P5"),
        ("CAB5", "HUB3.P4"),
        ("HUB2.P8", "HUB1.P3"),
        ("HUB1.P6", "HUB4.P7"),
        ("HUB4.P3", "HUB3.P1"),
    ):
        topology.fiber(a, b)
    return topology


#: Built-in shapes: name → (maker, form of what may follow the colon).
BUILT_IN = {
    "hub": (hub, re.compile(r"([0-9]+)\Z"), "hub:N, N CABs on one HUB"),
    "chain": (
        chain,
        re.compile(r"([0-9]+)(?:x([0-9]+))?\Z"),
        "chain:N or chain:NxK, N HUBs in a row with K CABs on each",
    ),
    "mesh": (
        mesh,
        re.compile(r"([0-9]+)x([0-9]+)(?:x([0-9]+))?\Z"),
        "mesh:RxC or mesh:RxCxK, R rows of C HUBs with K CABs on each",
    ),
    "torus": (
        torus,
        re.compile(r"([0-9]+)x([0-9]+)(?:x([0-9]+))?\Z"),
        "torus:RxC or torus:RxCxK, a mesh whose rows and columns are rings",
    ),
    "hypercube": (
        hypercube,
        re.compile(r"([0-9]+)(?:x([0-9]+))?\Z"),
        "hypercube:D or hypercube:DxK, 2**D HUBs with K CABs on each",
    ),
    "tree": (
        tree,
        re.compile(r"([0-9]+)x([0-9]+)(?:x([0-9]+))?\Z"),
        "tree:LxB or tree:LxBxK, L levels of HUBs, B below each, K CABs on each of the lowest level",
    ),
    "random": (
        random,
        re.compile(r"([0-9]+)(?:x([0-9]+)(?:x([0-9]+))?)?\Z"),
        "random:SEED, random:SEEDxH or random:SEEDxHxK, H HUBs and K CABs wired at random",
    ),
    "figure7": (figure7, None, "figure7, the four HUBs of the paper's examples"),
}

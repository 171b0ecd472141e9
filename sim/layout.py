"""Where the boards of a topology stand in a drawing.

HUBs are placed so that their distances in the drawing come near the number of fibers between them: by classical scaling
(U. Brandes, C. Pich, "Eigensolver Methods for Progressive Multidimensional Scaling of Large Data", 2006) and then by
stress majorization (E. Gansner, Y. Koren, S. North, "Graph Drawing by Stress Majorization", 2004). CABs stand around
their HUB. The same topology has the same drawing every time.
"""

import math

__all__ = ["distances", "layout"]

#: Rounds of stress majorization.
_ROUNDS = 40
#: HUBs from which distances are scaled.
_PIVOTS = 30
#: Distance of a CAB from its HUB, and others that are tried where it would stand on another board.
_CAB, _FARTHER = 0.42, (0.42, 0.55, 0.7, 0.9)
#: A CAB whose place differs from another board's by less than both of these stands on it; a HUB on another HUB.
_WIDTH, _HEIGHT = 0.37, 0.21
_HUB_ROOM = 0.41, 0.22
#: Directions in which a place for a CAB is looked for.
_DIRECTIONS = 32


def distances(topology, hub):
    """The HUBs that can be reached from ``hub`` over HUBs, with the number of pairs of fibers on the way."""
    found = {hub: 0}
    for here in (wave := [hub]):
        for _, there in topology.neighbours(here):
            if there.board in topology.hubs and there.board not in found:
                found[there.board] = found[here] + 1
                wave.append(there.board)
    return found


def layout(topology):
    """Places of all boards: dict of name -> (x, y). Neighbouring HUBs are about 1 apart."""
    hubs = list(topology.hubs)
    far = [distances(topology, hub) for hub in hubs]
    apart = [[row.get(hub, len(hubs)) for hub in hubs] for row in far]
    result = _part_hubs(_turned(topology, dict(zip(hubs, _spread(_scaled(apart), apart))))) if hubs else {}
    for hub, (x, y) in list(result.items()):
        _around(topology, hub, x, y, result)
    _part_cabs(topology, result)
    for number, cab in enumerate(cab for cab in topology.cabs if cab not in result):
        result[cab] = (float(number), 0.0)  # joined to another CAB
    return result


def _scaled(apart):
    """First places: the two axes along which the squared distances from some HUBs vary most."""
    count = len(apart)
    pivots = [0]
    while len(pivots) < min(count, _PIVOTS):
        pivots.append(max(range(count), key=lambda n: min(apart[n][p] for p in pivots)))
    squares = [[-(apart[n][p] ** 2) / 2 for p in pivots] for n in range(count)]
    columns = [sum(row[p] for row in squares) / count for p in range(len(pivots))]
    mean = sum(columns) / len(pivots)
    centred = [[value - sum(row) / len(pivots) - columns[p] + mean for p, value in enumerate(row)] for row in squares]
    axes = []
    for axis in range(2):
        vector = [math.cos(1.7 * (p + 1) + axis) for p in range(len(pivots))]
        for _ in range(30):
            for other in axes:
                along = sum(a * b for a, b in zip(vector, other))
                vector = [a - along * b for a, b in zip(vector, other)]
            values = [sum(a * b for a, b in zip(row, vector)) for row in centred]
            vector = [sum(row[p] * value for row, value in zip(centred, values)) for p in range(len(pivots))]
            length = math.hypot(*vector) or 1
            vector = [value / length for value in vector]
        axes.append(vector)
    places = [[sum(a * b for a, b in zip(row, axis)) for axis in axes] for row in centred]
    # HUBs at the same distances from all others would never part.
    return [[x + 0.01 * math.cos(2.4 * n), y + 0.01 * math.sin(2.4 * n)] for n, (x, y) in enumerate(places)]


def _spread(places, apart):
    """The places moved until distances fit those of ``apart`` better."""
    count = len(places)
    for _ in range(_ROUNDS if count > 1 else 0):
        moved = []
        for i, (x, y) in enumerate(places):
            row = apart[i]
            total = sum_x = sum_y = 0.0
            for j, (other_x, other_y) in enumerate(places):
                if i != j:
                    wanted = row[j]
                    dx, dy = x - other_x, y - other_y
                    length = math.sqrt(dx * dx + dy * dy) or 1e-9
                    weight = 1 / (wanted * wanted)
                    total += weight
                    sum_x += weight * (other_x + wanted * dx / length)
                    sum_y += weight * (other_y + wanted * dy / length)
            moved.append([sum_x / total, sum_y / total])
        places = moved
    return [tuple(place) for place in places]


def _turned(topology, places):
    """The same places, turned so that lines between HUBs are level or upright where that can be; the first HUB stands
    on the upper left, the second beside it rather than below."""
    sines = cosines = 0.0
    for fiber in topology.fibers:
        if fiber.a.board in places and fiber.b.board in places:
            (x1, y1), (x2, y2) = places[fiber.a.board], places[fiber.b.board]
            angle = 4 * math.atan2(y2 - y1, x2 - x1)
            sines, cosines = sines + math.sin(angle), cosines + math.cos(angle)
    turn = -math.atan2(sines, cosines) / 4
    if len(places) == 2:
        (x1, y1), (x2, y2) = places.values()
        turn = -math.atan2(y2 - y1, x2 - x1)
    sin, cos = math.sin(turn), math.cos(turn)
    turned = {hub: (x * cos - y * sin, x * sin + y * cos) for hub, (x, y) in places.items()}
    points = list(turned.values())
    if len(points) > 1 and abs(points[1][0] - points[0][0]) < abs(points[1][1] - points[0][1]):
        turned = {hub: (y, x) for hub, (x, y) in turned.items()}
    points = list(turned.values())
    left, up = (-1 if points[0][axis] * len(points) > sum(point[axis] for point in points) else 1 for axis in (0, 1))
    return {hub: (left * x, up * y) for hub, (x, y) in turned.items()}


def _part_hubs(places):
    """The places with HUBs moved that stand on each other: each pair by what is missing, level or upright, whichever is
    less."""
    names = list(places)
    points = [list(places[name]) for name in names]
    for _ in range(_ROUNDS):
        moved = False
        for i, here in enumerate(points):
            for there in points[:i]:
                missing = [room - abs(here[axis] - there[axis]) for axis, room in enumerate(_HUB_ROOM)]
                axis = missing.index(min(missing))
                if missing[axis] > 1e-9:
                    step = (missing[axis] / 2 + 1e-3) * (1 if here[axis] >= there[axis] else -1)
                    here[axis] += step
                    there[axis] -= step
                    moved = True
        if not moved:
            break
    return dict(zip(names, map(tuple, points)))


def _around(topology, hub, x, y, places):
    """Places the CABs of a HUB: side by side in the widest gaps that the fibers to other HUBs leave."""
    cabs = [there.board for _, there in topology.neighbours(hub) if there.board in topology.cabs]
    used = []
    for _, there in topology.neighbours(hub):
        if there.board in topology.hubs and there.board != hub:
            other_x, other_y = places[there.board]
            used.append(round(math.atan2(other_y - y, other_x - x), 6))
    used = sorted(set(used))
    gaps = [[angle, (used[(n + 1) % len(used)] - angle) % math.tau or math.tau, 0] for n, angle in enumerate(used)] or [
        [-math.pi / 2, math.tau, 0]
    ]
    for _ in cabs:
        max(gaps, key=lambda gap: gap[1] / (gap[2] + 1))[2] += 1
    angles = [begin + width * (n + 1) / (taken + 1) for begin, width, taken in gaps for n in range(taken)]
    if not used:
        angles = [math.tau * n / len(cabs) - math.pi / 2 for n in range(len(cabs))]
    reach = max(_CAB, 0.07 * len(cabs))
    for cab, angle in zip(cabs, angles):
        places[cab] = (x + reach * math.cos(angle), y + reach * math.sin(angle))


def _clear(name, place, places):
    """How far a board is from standing on another one: below 1 it does."""
    x, y = place
    return min(
        (max(abs(x - a) / _WIDTH, abs(y - b) / _HEIGHT) for other, (a, b) in places.items() if other != name),
        default=1.0,
    )


def _part_cabs(topology, places):
    """Moves each CAB that stands on another board around its HUB, to the nearest free place or else the freest."""
    for cab in topology.cabs:
        if cab not in places or _clear(cab, places[cab], places) >= 1:
            continue
        x, y = places[topology.neighbours(cab)[0][1].board]
        best, free = 0.0, places[cab]
        for reach in _FARTHER:
            for n in range(_DIRECTIONS):
                angle = math.tau * n / _DIRECTIONS
                place = x + reach * math.cos(angle), y + reach * math.sin(angle)
                clear = _clear(cab, place, places)
                if clear > best:
                    best, free = clear, place
            if best >= 1:
                break
        places[cab] = free

"""Rule bases: puzzles as rules and first facts. Values are whole numbers from 0 to 127, and words."""

from itertools import product

from network import Not, Rule

__all__ = ["missionaries", "queens"]


def missionaries(pairs, seats):
    """Missionaries and cannibals cross a river: ``pairs`` of each, a boat with so many ``seats``. On neither bank and
    not in the boat may cannibals outnumber the missionaries that are there.

    Returns (rules, facts). A state is what there is on the left bank, and where the boat is. At the end the facts
    ``path`` lead from the first state to the last one."""

    def crossing(here, there):
        """From bank ``here`` to bank ``there``: the left bank has fewer people afterwards, or before."""
        before, after = (("?m", "?c"), ("?m2", "?c2"))[:: 1 if here == "left" else -1]
        return Rule(
            f"cross from {here}",
            (
                ("state", "?m", "?c", here),
                ("sum", after[0], "?dm", before[0]),
                ("load", "?dm", "?dc"),
                ("sum", after[1], "?dc", before[1]),
                ("safe", "?m2", "?c2"),
                Not(("state", "?m2", "?c2", there)),
            ),
            (
                ("make", "state", "?m2", "?c2", there),
                ("make", "step", "?m", "?c", here, "?m2", "?c2", there),
            ),
        )

    rules = [
        crossing("left", "right"),
        crossing("right", "left"),
        Rule(
            "arrived",
            (("step", "?m", "?c", "?b", 0, 0, "right"),),
            (("make", "path", "?m", "?c", "?b", 0, 0, "right"),),
        ),
        Rule(
            "trace back",
            (("path", "?m", "?c", "?b", "_", "_", "_"), ("step", "?m0", "?c0", "?b0", "?m", "?c", "?b")),
            (("make", "path", "?m0", "?c0", "?b0", "?m", "?c", "?b"),),
        ),
        Rule("done", (("path", pairs, pairs, "left", "_", "_", "_"),), (("halt",),)),
    ]
    most = range(pairs + 1)
    loads = [(m, c) for m, c in product(range(seats + 1), repeat=2) if 1 <= m + c <= seats and (not m or m >= c)]
    safe = [(m, c) for m, c in product(most, repeat=2) if m in (0, pairs) or m == c]
    facts = [("sum", a, b, a + b) for a, b in product(most, range(seats + 1)) if a + b <= pairs]
    facts += [("load", *each) for each in loads] + [("safe", *each) for each in safe]
    return rules, [*facts, ("state", pairs, pairs, "left")]


def queens(order):
    """So many queens on a board of as many rows and columns; none attacks another. Solutions of which one is the mirror
    image of the other count once: the later is removed.

    Returns (rules, facts). At the end the facts ``solution`` are the columns of the queens in the rows."""
    names = [f"?{row}" for row in range(order)]
    mirrored = [f"?m{row}" for row in range(order)]
    pairs = [(upper, lower) for lower in range(order) for upper in range(lower)]
    rules = [
        Rule(
            "found",
            tuple(("apart", names[upper], names[lower], lower - upper) for upper, lower in pairs),
            (("make", "solution", *names),),
        ),
        Rule(
            "mirrored",
            (
                ("solution", *names),
                *(("mirror", name, other) for name, other in zip(names, mirrored, strict=True)),
                ("solution", *mirrored),
            ),
            (("remove", 1),),
        ),
    ]
    columns = range(order)
    facts = [("mirror", column, order - 1 - column) for column in columns]
    facts += [
        ("apart", a, b, rows)
        for rows in range(1, order)
        for a, b in product(columns, repeat=2)
        if a != b and abs(a - b) != rows
    ]
    return rules, facts

"""examples/production: the network against a matcher that tries all facts, the same firings on any number of CABs."""

import sys

import pytest

from nectar.software import ProgramError
from nectar.verification import seeds

from .examples import as_stated, modules, rows, run

PUZZLES = [("missionaries", (2, 2)), ("missionaries", (3, 2)), ("queens", (4,)), ("queens", (5,))]


@pytest.fixture(scope="module")
def program():
    with modules("production/production") as module:
        yield module


@pytest.fixture
def network(program):
    """The module ``network`` that the program has imported."""
    return sys.modules[program.Network.__module__]


@pytest.fixture(params=PUZZLES, ids=lambda each: f"{each[0]}-{each[1][0]}")
def base(request, program):
    """Rules and first facts."""
    name, sizes = request.param
    return getattr(program, name)(*sizes)


def pattern_of(condition):
    """The pattern of a condition, and whether it is a Not."""
    return getattr(condition, "pattern", condition), hasattr(condition, "pattern")


def fits(pattern, fact, bound):
    """The variables bound, or None."""
    bound = dict(bound)
    if pattern[0] != fact[0]:
        return None
    for word, value in zip(pattern, fact, strict=True):
        if word == "_":
            continue
        if isinstance(word, str) and word.startswith("?"):
            if bound.setdefault(word, value) != value:
                return None
        elif word != value:
            return None
    return bound


def matches(conditions, facts, tags=(), bound=()):
    """(tags, variables) of all ways in which ``conditions`` hold."""
    if not conditions:
        yield tags, bound
        return
    pattern, negated = pattern_of(conditions[0])
    found = [(tag, more) for tag, fact in facts.items() if (more := fits(pattern, fact, dict(bound))) is not None]
    if negated:
        found = [] if found else [None]
    for each in found:
        yield from matches(
            conditions[1:], facts, tags if each is None else (*tags, each[0]), bound if each is None else each[1]
        )


def fired_by_trying_all(rules, first):
    """The firings of a production system that looks at all facts in each cycle."""
    facts, last, fired, halted = dict(enumerate(first, 1)), len(first), [], False
    while not halted:
        ways = []
        for number, rule in enumerate(rules):
            words = [word for each in rule.conditions for word in pattern_of(each)[0] if word != "_"]
            for tags, bound in matches(rule.conditions, facts):
                if (rule.name, tags) not in fired:
                    ways.append(((sorted(tags, reverse=True), len(words), -number, tags), rule, bound))
        if not ways:
            break
        (_, _, _, tags), rule, bound = max(ways, key=lambda way: way[0])
        fired.append((rule.name, tags))
        for action, *words in rule.actions:
            if action == "make":
                last += 1
                facts[last] = tuple(bound.get(word, word) for word in words)
            elif action == "remove":
                del facts[tags[words[0] - 1]]
            else:
                halted = True
    return fired, facts


def test_the_network_fires_as_a_matcher_that_tries_all_facts(base, program):
    agenda, tally = program.solve(program.Network(base[0]), base[1])
    assert (agenda.fired, agenda.facts) == fired_by_trying_all(*base)
    assert tally.activations > len(base[1]) and tally.tokens and tally.items > tally.tokens


def test_recency_decides_first_then_specificity_then_the_order_of_rules_and_conditions(program, network):
    rules = [
        network.Rule("plain", (("a", "_"),), ()),
        network.Rule("first", (("a", "?x"),), ()),
        network.Rule("second", (("a", "?x"),), ()),
        network.Rule("pair", (("a", "?x"), ("a", "_")), ()),
    ]
    agenda, _ = program.solve(network.Network(rules), [("a", 5), ("a", 6)])
    assert agenda.fired == [
        ("pair", (2, 2)),
        ("pair", (2, 1)),
        ("pair", (1, 2)),
        ("first", (2,)),
        ("second", (2,)),
        ("plain", (2,)),
        ("pair", (1, 1)),
        ("first", (1,)),
        ("second", (1,)),
        ("plain", (1,)),
    ]
    assert not agenda.halted


@pytest.mark.parametrize("seed", range(3))
def test_the_order_in_which_changes_arrive_does_not_matter(seed, base, program):
    """Memories count: what comes too early is there a negative number of times."""
    rules, facts = base
    network, draw = program.Network(rules), seeds.rng(seed)
    agenda, memories, tally = program.Agenda(network), program.Memories(network), program.Tally()
    changes = agenda.start(facts)
    while changes is not None:
        left = [found for change in changes for found in network.changed(*change, tally)]
        while left:
            activation = left.pop(draw.randrange(len(left)))
            if network.nodes[activation.node].rule is None:
                left += memories.activate(activation, tally)
            else:
                agenda.note(activation)
        changes = agenda.fire(tally)
    assert agenda.fired == program.solve(network, facts)[0].fired


@pytest.mark.parametrize("seed", range(10))
def test_facts_may_be_gone_before_they_are_there(seed, program, network):
    """Additions and removals of the same facts, in any order, with a Not between conditions."""
    draw, tally = seeds.rng(seed), program.Tally()
    conditions = (
        ("a", "?x", "?y"),
        network.Not(("b", "?x", "_")),
        ("a", "?y", "_"),
        network.Not(("b", "?y", "?x")),
    )
    made = program.Network([network.Rule("rule", conditions, ())])
    facts = {tag: (draw.choice("aab"), draw.randrange(3), draw.randrange(3)) for tag in range(1, 25)}
    removed = set(draw.sample(list(facts), 12))
    agenda, memories = program.Agenda(made), program.Memories(made)
    left = [each for tag, fact in facts.items() for each in made.changed(1, tag, fact, tally)]
    left += [each for tag in removed for each in made.changed(-1, tag, facts[tag], tally)]
    while left:
        activation = left.pop(draw.randrange(len(left)))
        if made.nodes[activation.node].rule is None:
            left += memories.activate(activation, tally)
        else:
            agenda.note(activation)
    while agenda.fire(tally) is not None:
        pass
    there = {tag: fact for tag, fact in facts.items() if tag not in removed}
    assert {tags for _, tags in agenda.fired} == {tags for tags, _ in matches(conditions, there)}
    assert len(agenda.fired) == len(set(agenda.fired))


def test_every_activation_travels_as_bytes(base, program):
    rules, facts = base
    network = program.Network(rules)
    wire, memories, tally = program.Wire(network, facts), program.Memories(network), program.Tally()
    left = [found for tag, fact in enumerate(facts, 1) for found in network.changed(1, tag, fact, tally)]
    sent, seen = b"", []
    while left:
        activation = left.pop()
        sent += wire.pack(activation, len(seen))
        seen.append((activation, len(seen)))
        assert 0 <= wire.owner(activation, 5) < 5
        if network.nodes[activation.node].rule is None:
            left += memories.activate(activation, tally)
    assert wire.unpack(sent + wire.returned(1 << 61)) == [*seen, (None, 1 << 61)]


def test_rules_that_begin_with_the_same_conditions_share_nodes(program):
    rule = program.missionaries(3, 2)[0][0]
    network = program.Network([rule, rule])
    assert len(network.nodes) == len(rule.conditions) + 2


@pytest.mark.parametrize("order, solutions", [(4, 1), (5, 5), (6, 2)])
def test_queens_are_placed_in_all_ways_but_mirror_images(order, solutions, program):
    """10 ways with 5 queens, 2 with 4, 4 with 6: sequence A000170."""
    rules, facts = program.queens(order)
    found = [
        fact[1:] for fact in program.solve(program.Network(rules), facts)[0].facts.values() if fact[0] == "solution"
    ]
    assert len(found) == solutions
    for columns in found:
        assert len(set(columns)) == len({c + r for r, c in enumerate(columns)}) == order
        assert len({c - r for r, c in enumerate(columns)}) == order


def test_missionaries_cross_the_river_and_are_never_outnumbered(program):
    rules, facts = program.missionaries(3, 2)
    agenda, _ = program.solve(program.Network(rules), facts)
    path = [fact[1:] for fact in agenda.facts.values() if fact[0] == "path"][::-1]
    assert agenda.halted and len(path) == 11 and path[0][:3] == (3, 3, "left") and path[-1][3:] == (0, 0, "right")
    for step, after in zip(path, [*path[1:], None], strict=True):
        assert after is None or after[:3] == step[3:]
        for m, c in (step[:2], step[3:5]):
            assert m in (0, 3) or m == c
        assert 1 <= abs(step[0] - step[3]) + abs(step[1] - step[4]) <= 2 and step[2] != step[5]


@pytest.mark.parametrize("puzzle, size", [("queens", 4), ("missionaries", 2)])
def test_the_firings_are_those_of_one_cpu_on_any_number_of_cabs(puzzle, size, program):
    """The program compares them."""
    ran = run(program, puzzle, "--size", size, "--cabs", "1,2,3,4")
    table = rows(ran.text)
    assert [row.cabs for row in table] == [1, 2, 3, 4] and f"{puzzle}.speedup.4" in ran.results
    assert all(row.speedup <= row.ideal and row.communication > 0 for row in table)
    assert ran.text.splitlines()[-1].split()[0] == {"queens": "solution", "missionaries": "path"}[puzzle]


def test_other_firings_end_the_program(program, monkeypatch):
    def backwards(*args):
        agenda, tally = solve(*args)
        agenda.fired.reverse()
        return agenda, tally

    solve = program.solve
    monkeypatch.setattr(program, "solve", backwards)
    with pytest.raises(ProgramError, match="other rules have fired than on one CPU"):
        run(program, "missionaries", "--size", 2, "--cabs", "2")


def test_credit_that_cannot_be_divided_any_more_ends_the_program(program, monkeypatch):
    monkeypatch.setattr(program, "CREDIT", 400)
    with pytest.raises(ProgramError, match="there is no credit left for them"):
        run(program, "queens", "--size", 5, "--cabs", "2")


@pytest.mark.parametrize("puzzle, size, most", [("queens", 9, 8), ("queens", 1, 8), ("missionaries", 64, 63)])
def test_sizes_that_cannot_be_are_refused(puzzle, size, most, program):
    with pytest.raises(ProgramError, match=f"--size {size}: {puzzle} may have 2 to {most}"):
        run(program, puzzle, "--size", size)


@pytest.mark.nightly
@pytest.mark.parametrize("puzzle", ["queens", "missionaries"])
def test_the_full_size_on_the_rtl(puzzle, program):
    as_stated(puzzle, rows(run(program, puzzle, topology="hub:16", boards="rtl").text))

"""A RETE network: rules, the nodes that they become, and what a change of the working memory does to them.

Knows nothing of tasks and messages. A fact (OPS5: working memory element) is a tuple: a class, then values. A rule has
conditions and actions. A condition is a pattern of a fact: words that begin with ``?`` are variables, ``_`` is
anything. Facts have tags, 1, 2, 3, … in the order in which they were made.

Tokens are kept in buckets: one for each node and each set of values of the variables that its two inputs share. All
that an activation needs is in its bucket. Changes have a sign, and memories count: what is there once too often or too
rarely, since changes overtake each other on their ways, is there a negative number of times until all of them have
come. So the result does not depend on their order."""

from dataclasses import dataclass, field
from typing import NamedTuple

from nectar.software.arithmetic import Work

__all__ = ["Activation", "Memories", "Network", "Node", "Not", "Rule", "Tally"]

#: The alpha network: a fact compared with a pattern.
ALPHA = Work(call=1, load=6, add=4, branch=4)
#: An activation of a node: its descriptor, the bucket by a hash, the entry, its count.
ACTIVATION = Work(call=2, load=14, store=6, add=20, branch=10)
#: An entry of the other memory of the bucket, looked at.
MATCH = Work(load=3, add=2, branch=2)
#: A token made: a place for it, its head.
TOKEN = Work(call=1, load=4, store=4, add=6, branch=3)
#: A tag or a value of it copied.
ITEM = Work(load=1, store=1, add=1)
#: Two instantiations compared by conflict resolution.
ORDER = Work(call=1, load=6, add=6, branch=4)


@dataclass
class Tally:
    """What was done, in numbers of the above."""

    alphas: int = 0
    activations: int = 0
    matches: int = 0
    tokens: int = 0
    items: int = 0
    orders: int = 0

    @property
    def work(self):
        """All of it as Work of a CAB's CPU."""
        done = self.alphas * ALPHA + self.activations * ACTIVATION + self.matches * MATCH
        return done + self.tokens * TOKEN + self.items * ITEM + self.orders * ORDER

    def made(self, tokens):
        """Adds these to the tokens made."""
        self.tokens += len(tokens)
        self.items += sum(len(token.tags) + len(token.values) for token in tokens)


@dataclass(frozen=True)
class Not:
    """A condition that holds if there is no such fact."""

    pattern: tuple


@dataclass(frozen=True)
class Rule:
    """``conditions``: patterns and Nots, a pattern first. ``actions``: ("make", class, values and variables…),
    ("remove", N) of the fact of the Nth condition that is no Not (1, 2, …), ("halt",)."""

    name: str
    conditions: tuple
    actions: tuple

    @property
    def tests(self):
        """Its specificity: constants and variables in its conditions."""
        return sum(len([word for word in _pattern(each) if word != "_"]) for each in self.conditions)


class Activation(NamedTuple):
    """A change for a node. ``right``: of a fact, otherwise of a token. ``sign``: how many there are more.

    ``tags``: those of the fact, or of the facts of the token. ``values``: of the variables of the condition, or of all
    those of the token."""

    node: int
    right: bool
    sign: int
    tags: tuple
    values: tuple


@dataclass
class Node:
    """A condition of a rule, and what stands before it; or a rule (then ``rule`` is its number).

    ``left``, ``right``: variables of its inputs, in the order of values. ``shared``: those of both; values of both in
    this order choose the bucket. ``after``: numbers of the nodes that get its tokens."""

    number: int
    depth: int  # conditions up to it that are no Not
    negated: bool = False
    left: tuple = ()
    right: tuple = ()
    rule: int | None = None
    after: list = field(default_factory=list)

    def __post_init__(self):
        self.shared = tuple(name for name in self.right if name in self.left)
        self._left_places = [self.left.index(name) for name in self.shared]
        self._right_places = [self.right.index(name) for name in self.shared]
        self.new_places = [place for place, name in enumerate(self.right) if name not in self.left]

    @property
    def variables(self):
        """Those of the tokens that it gives."""
        return self.left if self.negated else (*self.left, *(self.right[place] for place in self.new_places))

    @property
    def before(self):
        """Tags of the tokens that come to it."""
        return self.depth if self.negated or self.rule is not None else self.depth - 1

    @property
    def first(self):
        """Whether it is the first of a rule, so that no token comes to it."""
        return self.depth == 1 and not self.left and not self.negated

    def tokens(self, sign, tags, values):
        """A token that it gives, for each node that gets it."""
        return [Activation(number, False, sign, tags, values) for number in self.after]

    def key(self, right, values):
        """What chooses the bucket: the values of the shared variables."""
        places = self._right_places if right else self._left_places
        return tuple([values[place] for place in places])


def _pattern(condition):
    return condition.pattern if isinstance(condition, Not) else condition


def _variables(condition):
    return tuple(dict.fromkeys(word for word in _pattern(condition)[1:] if _is_variable(word)))


def _is_variable(word):
    return isinstance(word, str) and word.startswith("?")


class Network:
    """The network of some rules. Rules that begin with the same conditions share their nodes.

    Members
    -------
    rules : list of Rule
    nodes : list of Node
        By number.
    """

    def __init__(self, rules):
        self.rules = list(rules)
        self.nodes = []
        self._alphas = {}  # class -> {pattern: numbers of nodes}
        shared = {}
        for number, rule in enumerate(self.rules):
            node, before = None, ()
            for condition in rule.conditions:
                before = (*before, condition)
                if before not in shared:
                    shared[before] = self._grow(node, condition)
                node = shared[before]
            end = self._add(depth=node.depth, left=node.variables, rule=number)
            node.after.append(end.number)

    def _add(self, **members):
        self.nodes.append(Node(len(self.nodes), **members))
        return self.nodes[-1]

    def _grow(self, node, condition):
        negated = isinstance(condition, Not)
        grown = self._add(
            depth=(node.depth if node else 0) + (not negated),
            negated=negated,
            left=node.variables if node else (),
            right=_variables(condition),
        )
        if node:
            node.after.append(grown.number)
        self._alphas.setdefault(_pattern(condition)[0], {}).setdefault(_pattern(condition), []).append(grown.number)
        return grown

    def changed(self, sign, tag, fact, tally):
        """The activations that a change of the working memory begins with: a fact more (``sign`` 1) or less (-1)."""
        found = []
        for pattern, numbers in self._alphas.get(fact[0], {}).items():
            tally.alphas += 1
            values = _match(pattern, fact)
            if values is None:
                continue
            for number in numbers:
                node, given = self.nodes[number], tuple(values.values())
                if node.first:  # no token comes before its facts: they are tokens
                    tokens = node.tokens(sign, (tag,), given)
                    tally.made(tokens)
                    found += tokens
                else:
                    found.append(Activation(number, True, sign, (tag,), given))
        return found


def _match(pattern, fact):
    """The values of the variables of a pattern as a dict in their order, or None if the fact does not match."""
    values = {}
    for word, value in zip(pattern, fact, strict=True):
        if word != "_" and value != (values.setdefault(word, value) if _is_variable(word) else word):
            return None
    return values


@dataclass
class _Bucket:
    """What a node keeps for one set of values of its shared variables. ``tokens``, ``facts``: how many there are of
    (tags, values); ``number`` of all facts."""

    tokens: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    number: int = 0


class Memories:
    """The buckets of a network, or those of them that one task has."""

    def __init__(self, network):
        self._nodes = network.nodes
        self._buckets = {}

    def activate(self, activation, tally):
        """Makes the change in its bucket; returns the activations of other nodes that come of it."""
        node = self._nodes[activation.node]
        bucket = self._buckets.setdefault((node.number, node.key(activation.right, activation.values)), _Bucket())
        tally.activations += 1
        change = self._negated if node.negated else self._joined
        found = change(node, bucket, activation, tally)
        tally.made(found)
        return found

    @staticmethod
    def _count(entries, activation):
        entry = activation.tags, activation.values
        entries[entry] = entries.get(entry, 0) + activation.sign
        if not entries[entry]:
            del entries[entry]

    def _joined(self, node, bucket, activation, tally):
        right, sign = activation.right, activation.sign
        self._count(bucket.facts if right else bucket.tokens, activation)
        others = bucket.tokens if right else bucket.facts
        tally.matches += len(others)
        found = []
        for other, number in others.items():
            token, (tag, given) = (other, activation[3:]) if right else (activation[3:], other)
            made = tuple([given[place] for place in node.new_places])
            found += node.tokens(sign * number, token[0] + tag, token[1] + made)
        return found

    def _negated(self, node, bucket, activation, tally):
        if not activation.right:
            self._count(bucket.tokens, activation)
            return [] if bucket.number else node.tokens(*activation[2:])
        before = bucket.number
        bucket.number += activation.sign
        sign = (bucket.number == 0) - (before == 0)
        if not sign:
            return []
        tally.matches += len(bucket.tokens)
        return [
            made
            for (tags, values), number in bucket.tokens.items()
            for made in node.tokens(sign * number, tags, values)
        ]

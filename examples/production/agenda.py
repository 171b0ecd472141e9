"""The working memory and the conflict set of a production system, and the system on one CPU without messages.

Conflict resolution is a total order, so that the sequence of firings does not depend on who has matched what. Of the
instantiations that have not fired, the one fires that comes first by

1. recency: the tags of its facts, the highest first, compared one by one; the higher tag wins, and of two of which one
   is the beginning of the other the longer (OPS5's LEX);
2. specificity: the more constants and variables in the rule's conditions;
3. the order of the rules; then the tags in the order of the conditions, the higher first."""

from network import Memories, Tally

__all__ = ["Agenda", "solve"]


class Agenda:
    """What a production system decides by.

    Parameters
    ----------
    network : Network

    Members
    -------
    facts : dict
        Tag → fact.
    fired : list
        (name of the rule, tags) of each firing.
    halted : bool
        An action has said so.
    """

    def __init__(self, network):
        self.facts = {}
        self.fired = []
        self.halted = False
        self._network = network
        self._rules = network.rules
        self._tests = [rule.tests for rule in self._rules]
        self._last = 0  # tag
        self._there = {}  # (rule, tags, values) -> how many times
        self._done = set()  # those of them that have fired

    def start(self, facts):
        """Makes the first facts; returns the changes: (sign, tag, fact)."""
        return [self._make(fact) for fact in facts]

    def note(self, activation):
        """A change of the conflict set: an Activation of a rule's node."""
        item = self._network.nodes[activation.node].rule, activation.tags, activation.values
        self._there[item] = self._there.get(item, 0) + activation.sign
        if not self._there[item]:
            del self._there[item]
            self._done.discard(item)

    def fire(self, tally):
        """Fires a rule; returns the changes. None if there is nothing to be fired, or if an action has halted it."""
        open_items = [item for item in self._there if item not in self._done]
        tally.orders += len(open_items)
        if self.halted or not open_items:
            return None
        assert set(self._there.values()) == {1}, "changes of the conflict set are missing"
        item = number, tags, values = max(open_items, key=self._rank)
        self._done.add(item)
        rule = self._rules[number]
        self.fired.append((rule.name, tags))
        bound = dict(zip(self._variables(number), values, strict=True))
        changes = []
        for action, *words in rule.actions:
            if action == "halt":
                self.halted = True
            elif action == "make":
                changes.append(self._make(tuple(bound.get(word, word) for word in words)))
            else:
                tag = tags[words[0] - 1]
                changes.append((-1, tag, self.facts.pop(tag)))
        return changes

    def _make(self, fact):
        self._last += 1
        self.facts[self._last] = fact
        return 1, self._last, fact

    def _rank(self, item):
        number, tags, _ = item
        return sorted(tags, reverse=True), self._tests[number], -number, tags

    def _variables(self, number):
        return next(node.left for node in self._network.nodes if node.rule == number)


def solve(network, facts):
    """The whole run on one CPU: the Agenda at its end, and the Tally."""
    agenda, memories, tally = Agenda(network), Memories(network), Tally()
    changes = agenda.start(facts)
    while changes is not None:
        left = [found for change in changes for found in network.changed(*change, tally)]
        while left:
            activation = left.pop()
            if network.nodes[activation.node].rule is None:
                left += memories.activate(activation, tally)
            else:
                agenda.note(activation)
        changes = agenda.fire(tally)
    return agenda, tally

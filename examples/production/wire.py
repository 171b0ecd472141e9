"""Activations as bytes, and which task has a bucket."""

import struct

from network import Activation, Not

from nectar.software.arithmetic import Work

__all__ = ["RECORD", "RETURNED", "Wire"]

#: In place of a node: a part of the credit comes back.
RETURNED = 255
#: Credit of an activation behind the byte of its node: 64 bits.
_CREDIT = struct.Struct(">Q")
#: A record that is packed or unpacked: the head of an activation. The rest is made where it is sent from, and used
#: where it is received.
RECORD = Work(load=4, store=4, add=6, branch=3)
#: Words are kept as numbers from here on.
_WORDS = 128


class Wire:
    """How the activations of a network travel.

    A record: a byte, twice the number of the node, and 1 if a fact arrives; 8 bytes of credit; a byte with the sign;
    tags of 2 bytes, values of one byte. RETURNED is followed by the credit only."""

    def __init__(self, network, facts):
        self._network = network
        words = {word for fact in facts for word in fact[1:]}
        for rule in network.rules:
            patterns = [each.pattern if isinstance(each, Not) else each for each in rule.conditions]
            words.update(word for pattern in patterns for word in pattern[1:])
            words.update(word for action in rule.actions for word in action[2:])
        words = sorted(word for word in words if isinstance(word, str))
        self._codes = {word: _WORDS + place for place, word in enumerate(words)} | {n: n for n in range(_WORDS)}
        self._meanings = {code: word for word, code in self._codes.items()}
        self._forms = {
            (node.number, right): struct.Struct(
                f">b{1 if right else node.before}H{len(node.right if right else node.left)}B"
            )
            for node in network.nodes
            for right in (False, True)
        }

    def pack(self, activation, credit):
        """A record."""
        number, right, sign, tags, values = activation
        form = self._forms[number, right]
        coded = [self._codes[value] for value in values]
        return bytes([2 * number + right]) + _CREDIT.pack(credit) + form.pack(sign, *tags, *coded)

    @staticmethod
    def returned(credit):
        """The record that gives credit back."""
        return bytes([RETURNED]) + _CREDIT.pack(credit)

    def unpack(self, data):
        """The records in ``data``: (Activation, credit); None in place of the Activation of what is RETURNED."""
        found, at = [], 0
        while at < len(data):
            kind, (credit,) = data[at], _CREDIT.unpack_from(data, at + 1)
            at += 1 + _CREDIT.size
            if kind == RETURNED:
                found.append((None, credit))
                continue
            number, right = kind >> 1, bool(kind & 1)
            form = self._forms[number, right]
            sign, *rest = form.unpack_from(data, at)
            at += form.size
            tags = 1 if right else self._network.nodes[number].before
            values = tuple(self._meanings[code] for code in rest[tags:])
            found.append((Activation(number, right, sign, tuple(rest[:tags]), values), credit))
        return found

    def owner(self, activation, count):
        """Which of ``count`` tasks has the bucket of an activation: 0, 1, …"""
        node = self._network.nodes[activation.node]
        place = node.number
        for value in node.key(activation.right, activation.values):
            place = 7 * place + self._codes[value]
        return (place ^ place >> 4) % count

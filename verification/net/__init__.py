"""Tests of ``nectar net``: packets between descriptors and nodes, namespaces."""

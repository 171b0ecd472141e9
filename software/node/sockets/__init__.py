"""Sockets for the processes of a node, with the names of Python's own. Specification: docs/sockets.md."""

"""Benches of the iPSC/2's node."""

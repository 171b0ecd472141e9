"""Benches of what is in boards/, and tests of what builds them."""

"""Nectar: a network backplane in open hardware and software."""

__version__ = "0.1.0"

"""Structures of the hardware as dicts, for benches."""

from amaranth.hdl import Shape
from amaranth.lib import data

__all__ = ["pack", "unpack"]


def pack(layout, **values):
    """The bits (int) of a structure with those members; the others are 0."""
    return data.Layout.cast(layout).const(values).as_value().value


def unpack(layout, bits):
    """The members of a structure, name → int."""
    return {
        name: bits >> field.offset & (1 << Shape.cast(field.shape).width) - 1
        for name, field in data.Layout.cast(layout)
    }

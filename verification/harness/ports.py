"""The ports of the top as numbers: read and set by the simulator's own objects.

cocotb's handles make a ``LogicArray`` of each value that is read, and check each value that is set in several layers of
Python. In benches that look at some pins in each cycle this takes a quarter of the time.
"""

import functools

from cocotb import simulator

__all__ = ["Port", "Ports", "ports", "reader", "writer"]

#: Bits that the simulator takes and gives as a number, without a sign; wider pins go as text of binary digits.
_NUMBER = 31
#: What cocotb tells the simulator: an assignment like any other.
_DEPOSIT = 0


def _found(name):
    """The simulator's object for the top's pin ``name``, and its bits."""
    pin = simulator.get_root_handle(None).get_handle_by_name(name)
    if pin is None:
        raise AttributeError(f"the top has no pin {name}")
    return pin, pin.get_num_elems()


def reader(name):
    """What gives the value of the top's pin ``name``, an int."""
    pin, width = _found(name)
    if width <= _NUMBER:
        return pin.get_signal_val_long
    text = pin.get_signal_val_binstr
    return lambda: int(text(), 2)


def writer(name):
    """What sets the top's pin ``name`` to an int. Raises ValueError for one that the pin has no room for."""
    pin, width = _found(name)
    number, text = pin.set_signal_val_int, pin.set_signal_val_binstr

    def write(value):
        if value >> width:
            raise ValueError(f"{value:#x} does not fit into the {width} bits of {name}")
        if width <= _NUMBER:
            number(_DEPOSIT, value)
        else:
            text(_DEPOSIT, f"{value:0{width}b}")

    return write


class Port:
    """A pin of the top. ``value``: an int, to be read and to be set."""

    __slots__ = ("_read", "_write")

    def __init__(self, name):
        self._read, self._write = reader(name), writer(name)

    @property
    def value(self):
        """What the pin has now."""
        return self._read()

    @value.setter
    def value(self, value):
        self._write(value)


class Ports:
    """The pins of the top by their names, as a cocotb handle has them: ``ports(dut).count.value = 3``."""

    def __getattr__(self, name):
        found = self.__dict__[name] = Port(name)
        return found


@functools.cache
def ports(dut):
    """The ``Ports`` of the top ``dut``."""
    return Ports()

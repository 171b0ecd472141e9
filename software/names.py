"""What programs give as destinations: IDs or names of CABs, and a number there. Pure logic: takes no simulated time."""

from .errors import NoRoute

__all__ = ["destination", "number_of"]

_NUMBERS = {"mailbox": "a mailbox number", "service": "a service number", "port": "a port"}


def destination(given, what, names):
    """(CAB ID or list of IDs, number) of ``given``, as a program has written it: (CAB, number) or (CABs, number).

    ``what``: "mailbox", "service" or "port", which the number is of. ``names``: dict of name → ID of the CABs. Raises
    TypeError for another form, ValueError for a number that there cannot be, NoRoute for a name that there is not.
    """
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(f"a destination is written (CAB, {what}), as in (2, 1) or ('CAB2', 1), not {given!r}")
    cabs, number = given
    if not isinstance(number, int) or not 0 <= number <= 0xFFFF:
        raise ValueError(f"{_NUMBERS[what]} is 0 to 65535, not {number!r}")
    if isinstance(cabs, (int, str)):
        return number_of(cabs, names), number
    if what != "mailbox":
        raise TypeError(f"a {what} is on one CAB, given by its ID or its name, not by {cabs!r}")
    try:
        return [number_of(cab, names) for cab in cabs], number
    except TypeError:
        raise TypeError(f"a CAB is given by its ID or its name, several by a list of these, not by {cabs!r}") from None


def number_of(cab, names):
    """The ID of a CAB that is given by its ID or its name."""
    if isinstance(cab, str):
        if cab not in names:
            known = f"there {'is' if len(names) == 1 else 'are'} {', '.join(names) or 'none with a name'}"
            raise NoRoute(f"there is no CAB {cab!r}; {known}")
        return names[cab]
    if not isinstance(cab, int):
        raise TypeError
    return cab

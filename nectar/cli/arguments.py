"""What stands behind PROGRAM and is no option of 'nectar run': was it meant to be one, does the program look at it?"""

from difflib import SequenceMatcher

__all__ = ["Arguments", "meant"]

#: Letters of a beginning that may stand for the whole, and of a name that may be mistyped at all.
_BEGINNING = 4
#: Letters from which a name is long: it may be mistyped in several places. How alike (0 to 1) what was typed is then.
_LONG, _ALIKE = 7, 0.8


def meant(word, options):
    """The one of ``options`` that ``word`` resembles, or None."""
    name = _plain(word.partition("=")[0])
    if not word.startswith("-") or len(name) < 2:
        return None
    near = {option: _likeness(name, _plain(option)) for option in options}
    best = max(near, key=near.get)
    return best if near[best] else None


def _likeness(name, option):
    """How alike a name is to an option that may have been meant: above 1 if that is certain, 0 if it was not.

    Short options are like other words (seed, speed, send): there only a letter that is missing counts, two that have
    changed places, and a plural.
    """
    ratio = SequenceMatcher(None, name, option).ratio()
    if name == option or len(name) >= _BEGINNING and option.startswith(name):
        return 1 + ratio
    if len(option) >= _LONG:
        return ratio if ratio >= _ALIKE else 0
    slips = {option[:at] + option[at + 1 :] for at in range(len(option))} | {f"{option}s"}
    slips |= {option[:at] + option[at + 1] + option[at] + option[at + 2 :] for at in range(len(option) - 1)}
    return ratio if len(option) >= _BEGINNING and name in slips else 0


def _plain(option):
    return option.strip("-").replace("_", "-").lower()


class Arguments(list):
    """Arguments of a program. ``seen``: whether anybody has looked at them."""

    seen = False


def _looking(name):
    method = getattr(list, name)

    def look(self, *args, **options):
        self.seen = True
        return method(self, *args, **options)

    look.__name__ = name
    return look


for _name in (
    "__add__",
    "__contains__",
    "__eq__",
    "__getitem__",
    "__iter__",
    "__len__",
    "__mul__",
    "__ne__",
    "__repr__",
    "__reversed__",
    "copy",
    "count",
    "index",
    "pop",
    "remove",
):
    setattr(Arguments, _name, _looking(_name))

"""Names of sources in RTLIL: yosys' lists of mutants and smtbmc take a name for one word, so it must not have a
blank."""

import re
from urllib.parse import quote, unquote

__all__ = ["as_named", "in_words"]


def in_words(text):
    """RTLIL ``text`` in which no name of a source has a blank; other letters may be written in another way, too."""
    return re.sub(r'(?m)^( *attribute \\src) "(.*)"$', lambda match: f'{match[1]} "{quote(match[2], "/:|.")}"', text)


def as_named(word):
    """The name that stands as ``word`` in such a text."""
    return unquote(word)

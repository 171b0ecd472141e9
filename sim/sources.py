"""Source files as a build looks at them: their names and contents, and the headers that they include."""

import re

__all__ = ["texts", "with_headers"]


def with_headers(files, folder):
    """These files (Paths) and the headers beside them or in ``folder`` that they include, directly or not."""
    found, left = set(), [*files]
    while left:
        file = left.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        names = re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE)
        left += (place / name for name in names for place in (file.parent, folder))
    return sorted(found)


def texts(paths):
    """Names and contents of files."""
    return [part for path in paths for part in (path.name, path.read_bytes())]

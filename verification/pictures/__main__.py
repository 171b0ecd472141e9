"""Writes the pictures: ``python -m nectar.verification.pictures [NAME ...]``, all of them if none is named, into
``docs/pictures``."""

import sys

from ..imports import ROOT
from .catalogue import PICTURES

__all__ = ["FOLDER", "main"]

FOLDER = ROOT / "docs" / "pictures"


def main(names):
    """Writes the pictures of these names; the exit code."""
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        print(f"nectar: {unknown[0]}: no such picture; there are {', '.join(PICTURES)}", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    names = names or list(PICTURES)
    for name in names:
        (FOLDER / f"{name}.svg").write_text(PICTURES[name]().svg())
    print(f"docs/pictures: {len(names)} pictures drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The command-line program ``nectar``."""


def main():
    """Entry point."""
    raise SystemExit("nectar: no commands yet")

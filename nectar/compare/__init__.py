"""One program on several machines: what ``nectar compare`` does. docs/compare.md specifies it."""

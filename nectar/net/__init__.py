"""Linux programs over the simulated network: ``nectar net`` (docs/net.md)."""

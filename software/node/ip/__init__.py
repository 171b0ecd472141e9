"""IP between nodes: packets of the network driver, in rings that CAB and node share. Specification: docs/net.md."""

"""The node of the iPSC/2 between its processor and its router: docs/ipsc2-node.md."""

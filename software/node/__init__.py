"""Nodes: the workstations behind the CABs' VME buses, and what a CAB's kernel does for them and asks of them
(docs/nodes.md)."""

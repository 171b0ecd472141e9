"""Formal proofs: properties that hold in every reachable state, shown by induction. docs/proofs.md lists them."""

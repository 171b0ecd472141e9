"""Specifications that a proof and a bench share: one file a component."""

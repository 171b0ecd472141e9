"""Benches of hdl/host."""

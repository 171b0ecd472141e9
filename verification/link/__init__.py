"""Benches of hdl/link."""

"""Benches of hdl/hub/port."""

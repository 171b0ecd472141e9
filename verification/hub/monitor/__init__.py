"""Benches of hdl/hub/monitor."""

"""Benches of hdl/hub/control, and a model of its whole."""

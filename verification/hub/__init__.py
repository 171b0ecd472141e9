"""Benches of hdl/hub, and the reference model that decides in them."""

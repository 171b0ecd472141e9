"""Whole systems of boards: their Verilog, scenarios, and tests that all back ends agree on them."""

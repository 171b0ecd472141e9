"""Tests of the cocotb back end."""

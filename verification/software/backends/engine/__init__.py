"""Tests of the engine back end."""

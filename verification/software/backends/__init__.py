"""Tests of the back ends."""

"""Tests of Nectarine."""

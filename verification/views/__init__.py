"""Tests of what shows recordings."""

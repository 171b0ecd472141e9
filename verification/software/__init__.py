"""Tests of what runs on a CAB's CPU, and of the pure-Python back end."""

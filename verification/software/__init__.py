"""Tests of what runs on a CAB's CPU."""

"""Tests of the fast boards."""

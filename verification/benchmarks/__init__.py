"""Benchmarks: what the project measures itself against."""

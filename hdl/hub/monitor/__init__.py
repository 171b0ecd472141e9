"""Counters of a HUB and its record of events, read by commands."""

"""Tests of the cable back end."""

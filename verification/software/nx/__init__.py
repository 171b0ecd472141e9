"""Tests of NX/2 on Nectarine."""

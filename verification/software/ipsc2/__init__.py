"""Tests of NX/2's messages on the RTL of the iPSC/2."""

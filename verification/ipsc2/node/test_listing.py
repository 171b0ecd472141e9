"""Test of hdl/ipsc2/node/listing.py: the page has the table of the registers."""

from nectar.hdl.ipsc2.node.listing import table
from nectar.verification.bench import ROOT


def test_the_page_has_the_registers_as_they_are():
    """docs/ipsc2-node.md, "Registers"; to make it anew: print the lines of ``table()``."""
    assert "\n".join(table()) in (ROOT / "docs" / "ipsc2-node.md").read_text()

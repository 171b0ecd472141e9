"""The datalink: packets between CABs by HUB commands. Source: "The Design of Nectar" (1989), sections 4.2 and 6.2.1."""

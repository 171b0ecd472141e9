"""The wire: symbols, control codes, framing, and the port every board shares."""

"""Gateware: what becomes gates. Knows nothing of simulators, boards or software."""

"""Back ends of the door: engine, cocotb, model."""

"""The HUB: a crossbar switch that obeys commands from the network."""

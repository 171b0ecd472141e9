"""One port of a HUB: what happens to symbols that arrive, and to those that leave."""

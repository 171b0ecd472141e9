"""One port of a HUB: the way of symbols that arrive, and of symbols that leave."""

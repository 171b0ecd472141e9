"""The CAB: memory, DMA, checksum, timer and fiber port around one CPU bus."""

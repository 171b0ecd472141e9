"""The CAB's VME interface: slave, master with DMA, interrupter; a synchronous host port beside it."""

"""How many bytes of a task's messages were copied, and by whom. docs/nectarine.md has the table."""

from dataclasses import dataclass

__all__ = ["Copies"]


@dataclass(slots=True)
class Copies:
    """Of the bytes of a task's messages, envelopes left out."""

    cpu_out: int = 0  # copied by the CPU on their way out
    dma_out: int = 0  # read by the DMA of fiber out
    dma_in: int = 0  # stored by the DMA of fiber in
    cpu_in: int = 0  # copied by the CPU on their way in
    node_out: int = 0  # stored into CAB memory by the CPU of a node
    node_in: int = 0  # loaded from there by the CPU of a node

"""What the layers of messages are called."""

from ..hdl.host.events import Layer
from ..software.packet import Protocol

__all__ = ["layer_name"]

_LAYERS = {**{int(item): item.name.lower() for item in Protocol}, **{int(item): item.name.lower() for item in Layer}}
_LAYERS |= {Layer.NECTARINE: "Nectarine", Layer.NX: "NX", Layer.MPI: "MPI"}
_LAYERS |= {int(item): item.name.replace("NX2_", "NX/2 ") for item in Layer if item.name.startswith("NX2_")}


def layer_name(layer):
    """What the layer of a message is called."""
    return _LAYERS.get(layer, f"layer {layer}")

"""What the pins of the boards are, in a few words each, for the header of a Verilog file. Plain Python that imports
nothing.

docs/wire.md, docs/hub.md, docs/cab.md, docs/vme.md, docs/ipsc2.md and docs/ipsc2-node.md specify them.
"""

import re

__all__ = ["purpose"]

_FIBER = {
    "rx__payload": "a symbol that arrives",
    "rx__valid": "there is one, in each cycle with 1",
    "tx__payload": "a symbol to send; it stays until it is taken",
    "tx__valid": "there is one",
    "tx__ready": "it is taken at this edge",
}
#: Regular expression of a whole name → what the pin is.
_PINS = {
    r"clk": "the clock",
    r"rst": "reset, active high",
    r"idle": "nothing is under way: the clock may stop",
    r"hub_id": "ID of this HUB; constant",
    **{rf"(port_\w+|fiber)__{name}": text for name, text in _FIBER.items()},
    r"channel_\w+__rx__data": "a pair that arrives; bit 0 is the earlier bit",
    r"channel_\w+__rx__strobe": "there is one",
    r"channel_\w+__tx__data": "a pair to send",
    r"channel_\w+__tx__strobe": "there is one",
    r"source__request": "the serializer asks for a circuit",
    r"source__probe": "the routing probe of its message",
    r"source__data": "the next pair to send",
    r"source__grant": "it is taken at this edge",
    r"source__allow": "the destination is ready",
    r"source__refused": "no circuit can be had for this probe; it follows request and probe in the same cycle",
    r"sink__open": "a message is coming in",
    r"sink__data": "a pair for the deserializer",
    r"sink__strobe": "there is one",
    r"sink__ready": "the deserializer can take data",
    r"tick": "a period of the strobe: channels move in cycles with 1 only; joined boards have the same ticks",
    r"busy": "bit k: channel k outward is held by a message",
    r"held": "bit k: channel k inward has a message",
    r"violation": "bit k: in this cycle channel k inward has what the formats do not allow",
    r"bus__valid": "the CPU wants an access",
    r"bus__ready": "it is taken at this edge",
    r"bus__address": "its byte address",
    r"bus__write": "it is a write",
    r"bus__execute": "it is a read that fetches an instruction",
    r"bus__kernel": "it is made in the kernel's domain",
    r"bus__select": "its bytes; bit 3: the one at the word's own address, bits 31 to 24",
    r"bus__write_data": "the word to write",
    r"bus__done": "an access is answered, in their order",
    r"bus__read_data": "the word read; 0 for a write or an error",
    r"bus__error": "bus error: the access has had no effect",
    r"irq": "interrupt line of the CPU",
    r"wake_in": "edges of the clock that may be left out because of the timers",
    r"slept": "edges that were left out before this one; 0 if the clock never stops",
    r"vme_level": "level of the board's bus requests; a switch",
    r"vme_select__a24": "the board answers in A24; a switch",
    r"vme_select__a24_half": "there where A23 is this; a switch",
    r"vme_select__a32": "the board answers in A32; a switch",
    r"vme_select__a32_base": "there where A31 to A24 are this; a switch",
    r"vme__address": "A31 to A01",
    r"vme__data": "D31 to D00",
    r"vme__am": "AM5 to AM0",
    r"vme__ds_n": "DS1*, DS0*",
    r"vme__br_n": "BR3* to BR0*",
    r"vme__bgin_n": "BG3IN* to BG0IN*",
    r"vme__bgout_n": "BG3OUT* to BG0OUT*, always driven",
    r"vme__iackout_n": "IACKOUT*, always driven",
    r"vme__irq_pull": "1 pulls IRQ7* to IRQ1* low",
    r"vme__br_pull": "1 pulls BR3* to BR0* low",
    r"vme__data_drive": "1 puts data_out on D31 to D16, D15 to D00",
    r"vme__address_drive": "1 puts address_out, am_out, lword_n_out, iack_n_out on their lines",
    r"vme__as_drive": "1 puts as_n_out on AS*",
    r"vme__ds_drive": "1 puts ds_n_out and write_n_out on their lines",
    r"vme__(\w+)_pull": "1 pulls the open-collector line low",
    r"vme__(\w+)_out": "level for the three-state line",
    r"vme__(\w+)_n": "level of the line",
    r"host__cyc": "Wishbone: a cycle of a host in the same FPGA",
    r"host__stb": "Wishbone: it wants an access",
    r"host__lock": "Wishbone: no access of the CPU comes between",
    r"host__we": "Wishbone: a write",
    r"host__adr": "Wishbone: address of the word",
    r"host__sel": "Wishbone: bytes; bit 3: the one at the word's own address",
    r"host__dat_w": "Wishbone: the word to write",
    r"host__dat_r": "Wishbone: the word read",
    r"host__ack": "Wishbone: done",
    r"host__err": "Wishbone: bus error",
}


def purpose(name):
    """What the pin ``name`` is. Raises KeyError if nobody has said."""
    for pattern, text in _PINS.items():
        if re.fullmatch(pattern, name):
            return text
    raise KeyError(name)

"""Block diagrams of HUB, port, CAB and VME interface, checked against the elaborated RTL."""

import functools

from ...hdl.cab.cab import Cab
from ...hdl.cab.vme.vme import Vme
from ...hdl.hub.hub import Hub
from ...hdl.hub.port.input_port import InputPort
from ...hdl.hub.port.output_port import OutputPort
from .blocks import Arrow, Block, check, draw
from .netlist import open_component

__all__ = ["cab", "hub", "port", "vme"]

_PORTS = 2


@functools.cache
def _hub():
    return open_component(Hub(ports=_PORTS))


def hub():
    """docs/hub.md."""
    parts, links = _hub()
    blocks = {
        "in": Block(".port", "fiber\nin", 16, 150, 56, 64, "pin"),
        "register": Block("register", "input\nregister", 112, 150, 84, 64, "many"),
        "input": Block("input", "input side\ndecoder, queue,\nhead", 270, 146, 120, 72, "many"),
        "crossbar": Block("crossbar", "crossbar", 480, 150, 100, 64),
        "output": Block("output", "output side\nregister, ready bit,\nreplies to send", 662, 146, 130, 72, "many"),
        "out": Block(".port", "fiber\nout", 846, 150, 56, 64, "pin"),
        "reply_bus": Block("reply_bus", "reply bus", 270, 54, 522, 34),
        "central": Block("central", "central controller\nstatus table, locks,\nsupervisor", 340, 300, 250, 74),
        "watchdog": Block("watchdog", "watchdog", 96, 300, 100, 52),
        "monitor": Block("monitor", "monitor\ncounters, recorder", 96, 412, 140, 48),
        "neighbours": Block("neighbours", "neighbours", 400, 424, 130, 36),
    }
    arrows = [
        Arrow("in", "register", "h"),
        Arrow("register", "input", "h", "symbols"),
        Arrow("input", "crossbar", "h", "symbols"),
        Arrow("crossbar", "output", "h", "symbols"),
        Arrow("output", "out", "h"),
        Arrow("input", "reply_bus", "v", "replies"),
        Arrow("reply_bus", "output", "v", "replies"),
        Arrow("input", "central", "v", "commands,\nresponses", 365, both=True),
        Arrow("central", "crossbar", "v", "connections"),
        Arrow("output", "central", "vh", "ready bits, ends", 740, 337, both=True),
        Arrow("input", "watchdog", "vh", "moves", 292, 314),
        Arrow("watchdog", "central", "h", "time-outs", 340),
        Arrow("central", "monitor", "vh", "events", 365, 436, both=True),
        Arrow("neighbours", "central", "v", "IDs", both=True),
    ]
    check("hub", blocks, arrows, parts, links)
    return draw(
        "block-hub",
        "HUB",
        "A symbol goes from the fiber in through the input register, the input side and the crossbar to the output "
        "side and the fiber out. The input side hands commands to the central controller and gets responses; the "
        "controller's connections set the crossbar. Replies go from input sides to output sides by a reply bus. A "
        "watchdog observes the inputs, a monitor counts events, neighbours are remembered. Boxes with a shadow are "
        "there once for each port.",
        918,
        blocks,
        arrows,
    )


def _prefixed(name, opened):
    """Parts and links with the component's name in front, as in ``input/head`` and ``input/.control``."""
    parts, links = opened
    return {f"{name}/{part}" for part in parts}, {(f"{name}/{a}", f"{name}/{b}") for a, b in links}


def port():
    """docs/hub.md, "Input side of a port" and "Output side of a port"."""
    in_parts, in_links = _prefixed("input", open_component(InputPort(_PORTS, 0, bypass=False)))
    out_parts, out_links = _prefixed("output", open_component(OutputPort()))
    blocks = {
        "inside": Block("", "input side", 104, 50, 562, 190, "frame"),
        "outside": Block("", "output side", 104, 296, 562, 168, "frame"),
        "in": Block("input/.rx_symbol", "input\nregister", 16, 90, 62, 64, "pin"),
        "decoder": Block("input/decoder", "decoder\nkinds, framing", 130, 90, 110, 64),
        "queue": Block("input/queue", "queue\n1152 symbols", 320, 90, 110, 64),
        "head": Block("input/head", "head\ncommands,\nsymbols", 520, 82, 130, 80),
        "replies": Block("input/replies", "replies\nthat have arrived", 320, 188, 130, 40),
        "crossbar": Block("input/.crossbar", "crossbar", 756, 76, 110, 30, "pin"),
        "control": Block("input/.control", "central\ncontroller", 756, 124, 110, 42, "pin"),
        "reply_source": Block("input/.reply_source", "reply bus", 756, 192, 110, 32, "pin"),
        "tx": Block("output/.tx", "output register\nand fiber out", 16, 326, 190, 122, "pin"),
        "behind": Block("output/behind", "register behind\nthe crossbar", 520, 330, 130, 50),
        "sender": Block("output/replies", "replies\nto send", 520, 408, 130, 44),
        "beat": Block("output/.beat", "crossbar", 756, 340, 110, 30, "pin"),
        "reply_byte": Block("output/.reply_byte", "reply bus", 756, 415, 110, 30, "pin"),
        "ready": Block("output/.ready_bit", "ready bit", 300, 370, 100, 34, "pin"),
    }
    arrows = [
        Arrow("in", "decoder", "h"),
        Arrow("decoder", "queue", "h", "symbols"),
        Arrow("queue", "head", "h", "entries", both=True),
        Arrow("decoder", "replies", "vh", "replies", 185, 208),
        Arrow("head", "crossbar", "h", "symbols", 95),
        Arrow("head", "control", "h", "requests", 145, both=True),
        Arrow("replies", "reply_source", "h", "bytes of replies"),
        Arrow("inside", "outside", "v", "ready signals to send, answers of the head", 560, link=("input", "output")),
        Arrow("beat", "behind", "h", "symbols"),
        Arrow("behind", "tx", "h", "symbols", 346),
        Arrow("sender", "tx", "h", "replies"),
        Arrow("reply_byte", "sender", "h", "bytes"),
        Arrow("tx", "ready", "h", "start: 0"),
    ]
    check("port", blocks, arrows, in_parts | out_parts, in_links | out_links | _hub()[1])
    return draw(
        "block-port",
        "A port of a HUB",
        "Input side: the decoder tells symbols, commands and replies apart. Symbols and commands wait in the queue; "
        "the head passes symbols on to the crossbar and hands commands to the central controller. Replies that have "
        "arrived wait for the reply bus. Output side: symbols from the crossbar pass a register and enter the output "
        "register, as do replies from the reply bus, the head's own answers and ready signals. A start that leaves "
        "sets the ready bit to 0.",
        884,
        blocks,
        arrows,
    )


def cab():
    """docs/cab.md; figure 8 of the paper."""
    parts, links = open_component(Cab(vme=True), "board")
    blocks = {
        "cpu": Block(".bus", "CPU bus", 16, 178, 84, 44, "pin"),
        "bus": Block("bus", "address\nmap", 166, 56, 84, 322),
        "protection": Block("protection", "protection\npages,\ndomains", 16, 258, 96, 70),
        "program": Block("program", "program memory\nPROM and RAM", 330, 56, 150, 46),
        "memory": Block("memory", "data memory\nin time slots", 330, 122, 150, 140),
        "registers": Block("registers", "registers", 330, 332, 150, 46),
        "fiber_out": Block("fiber_out", "fiber out\nlist, DMA, CRC", 570, 112, 140, 46),
        "fiber_in": Block("fiber_in", "fiber in\nqueue, DMA, CRC", 570, 174, 140, 46),
        "vme": Block("vme", "VME\nslave, master, DMA", 570, 236, 140, 66),
        "interrupts": Block("interrupts", "interrupts", 570, 338, 140, 34),
        "timers": Block("timers", "timers", 540, 410, 90, 32),
        "errors": Block("errors", "errors", 650, 410, 90, 32),
        "tx": Block(".fiber", "fiber", 790, 120, 100, 30, "pin"),
        "rx": Block(".fiber", "fiber", 790, 182, 100, 30, "pin"),
        "pins": Block(".vme", "VMEbus", 790, 250, 100, 38, "pin"),
        "irq": Block(".irq", "CPU interrupt", 790, 338, 100, 34, "pin"),
    }
    arrows = [
        Arrow("cpu", "bus", "h", both=True),
        Arrow("protection", "bus", "h", "rights", 293, both=True),
        Arrow("bus", "program", "h", both=True),
        Arrow("bus", "memory", "h", "words", 190, both=True),
        Arrow("bus", "registers", "h", "words", both=True),
        Arrow("fiber_out", "memory", "h", "DMA", both=True),
        Arrow("fiber_in", "memory", "h", "DMA", both=True),
        Arrow("vme", "memory", "h", "DMA", both=True),
        Arrow("vme", "bus", "h", "accesses of the node, window of the CPU", 286, both=True),
        Arrow("fiber_out", "tx", "h"),
        Arrow("rx", "fiber_in", "h"),
        Arrow("vme", "pins", "h", both=True),
        Arrow("timers", "interrupts", "v"),
        Arrow("errors", "interrupts", "v"),
        Arrow("registers", "interrupts", "h", both=True),
        Arrow("interrupts", "irq", "h"),
    ]
    check("cab", blocks, arrows, parts, links)
    return draw(
        "block-cab",
        "CAB",
        "CPU and node reach program memory, data memory and registers by one address map; protection looks up the "
        "rights to each page. The data memory is shared in time slots by the CPU, the DMA channels of both fibers, "
        "and that of the VME interface. Timers, errors and all channels raise interrupts. The registers reach every "
        "part; only some of these lines are drawn.",
        908,
        blocks,
        arrows,
    )


def vme():
    """docs/vme.md."""
    parts, links = open_component(Vme())
    blocks = {
        "bus": Block(".pins", "VMEbus", 16, 130, 76, 334, "pin"),
        "host_pins": Block(".host", "host port", 16, 60, 76, 46, "pin"),
        "host": Block("host", "host\nsynchronous", 170, 60, 130, 46),
        "slave": Block("slave", "slave\nA24, A32", 170, 130, 130, 46),
        "interrupter": Block("interrupter", "interrupter", 170, 200, 130, 40),
        "master": Block("master", "master", 170, 264, 130, 46),
        "requester": Block("requester", "requester\nof the bus", 170, 362, 130, 46),
        "sysreset": Block("sysreset", "SYSRESET*", 170, 430, 130, 34),
        "share_access": Block("share_access", "in turns", 410, 60, 90, 116),
        "share_master": Block("share_master", "in turns", 410, 252, 90, 116),
        "dma": Block("dma", "DMA\nchannel", 586, 252, 110, 46),
        "window": Block("window", "window", 586, 326, 110, 42),
        "access": Block(".access", "address map", 770, 96, 120, 40, "pin"),
        "taken": Block(".taken", "interrupts", 770, 202, 120, 36, "pin"),
        "memory": Block(".memory", "data memory", 770, 256, 120, 38, "pin"),
        "window_port": Block(".window", "CPU", 770, 328, 120, 38, "pin"),
        "reset": Block(".sysreset", "reset", 770, 430, 120, 34, "pin"),
    }
    arrows = [
        Arrow("host_pins", "host", "h", both=True),
        Arrow("bus", "slave", "h", both=True),
        Arrow("bus", "interrupter", "h", both=True),
        Arrow("bus", "master", "h", both=True),
        Arrow("bus", "requester", "h", both=True),
        Arrow("bus", "sysreset", "h"),
        Arrow("host", "share_access", "h", "accesses", both=True),
        Arrow("slave", "share_access", "h", "accesses", both=True),
        Arrow("share_access", "access", "h", "accesses of the node", both=True),
        Arrow("interrupter", "taken", "h", "acknowledged"),
        Arrow("share_master", "master", "h", "transfers", both=True),
        Arrow("master", "requester", "v", "bus wanted, owned", both=True),
        Arrow("dma", "share_master", "h", both=True),
        Arrow("window", "share_master", "h", both=True),
        Arrow("dma", "memory", "h", both=True),
        Arrow("window", "window_port", "h", both=True),
        Arrow("sysreset", "reset", "h"),
    ]
    # What tells whether anything is under way on the bus, for stand-by, is not drawn.
    check("vme", blocks, arrows, parts, links, without=["bus_used"])
    return draw(
        "block-vme",
        "VME interface of a CAB",
        "Others' accesses arrive at the slave, or at the synchronous host port, and reach the address map in turns. "
        "The CAB's own transfers come from the DMA channel and from the CPU's window; the master carries them out "
        "while the requester owns the bus. The interrupter interrupts the node.",
        906,
        blocks,
        arrows,
    )

"""Signals of a node with its router that are recorded: where a Verilated model has them.

Which they are: docs/recording.md, "The iPSC/2". Verilator calls a signal by its name in the outermost module that it is
in, so the Verilog tells how a port of an instance is called.
"""

import re

from ..hdl.host.events import Channel
from ..hdl.ipsc2.formats import CHANNELS, users

__all__ = ["node_probes"]

_NODE, _ROUTER = "board.node", "board.router"


class _Signals:
    """Finds signals: ``verilog`` of the board, ``header`` that declares the model's state."""

    def __init__(self, verilog, header):
        self._verilog = verilog
        self._members = set(re.findall(r"^ *[CSIQ]Data/\*\S+\*/ \w+?__DOT__(\w+);", header, re.M))
        self._prefix = re.search(r"^ *[CSIQ]Data/\*\S+\*/ (\w+?__DOT__)board__DOT__", header, re.M)[1]

    def _port(self, module, instance, port):
        """What is connected to a port of an instance in a module; None if there is no such instance or port."""
        body = re.search(rf"^module \\?{re.escape(module)} ?\(.*?^endmodule", self._verilog, re.M | re.S)
        found = body and re.search(rf"^  \\?\S+ +{instance} \((.*?)^  \);", body[0], re.M | re.S)
        found = found and re.search(rf"\.\\?{re.escape(port)} ?\(\\?(\S+?) ?\)", found[1])
        return found and found[1]

    def _member(self, module, name):
        member = f"{module.replace('.', '__DOT__')}__DOT__{name.replace('__', '___05F').replace('$', '__024')}"
        return member if member in self._members else None

    def find(self, module, instance, port):
        """C++ text: the address of the signal at a port of an instance. ValueError if the model has none."""
        inner = f"{module}.{instance}"
        member, name = self._member(inner, port), port
        while not member and "." in inner:
            module, _, instance = inner.rpartition(".")
            name = self._port(module, instance, name)
            if name is None:
                break
            inner, member = module, self._member(module, name)
        if not member:
            raise ValueError(f"the model has no signal {port} of {instance} in {module} to record")
        return f"&model->rootp->{self._prefix}{member}"


def node_probes(verilog, root_header, channels):
    """Lines of C++ that fill in the signals of a node with these ``channels``. ValueError if the model lacks one."""
    find = _Signals(verilog, root_header).find
    source = sink = CHANNELS
    instances = {source: "origin", **{n: f"element_{n}" for n in channels}}
    lines = []
    for n, instance in instances.items():
        probe = find(_ROUTER, instance, "source__probe" if n == source else "address")
        lines.append(f"pins.probes.inputs.push_back({{{n}, {find(_ROUTER, instance, 'asks')}, {probe}}});")
    for k in (*channels, sink):
        who = ", ".join(str(source if n is None else n) for n in users(len(channels) - 1, k))
        instance = "sink_port" if k == sink else f"outgoing_{k}"
        signals = ", ".join(find(_ROUTER, instance, name) for name in ("owner", "ready"))
        lines.append(f"pins.probes.owned.push_back({{{k}, {{{who}}}, {signals}}});")
    out, begun, wants = find(_NODE, "fetch", "count"), find(_NODE, "store", "begun"), find(_NODE, "store", "wants")
    lines += [
        f"pins.probes.movers.push_back({{{int(Channel.NETWORK_OUT)}, {{{out}}}}});",
        f"pins.probes.movers.push_back({{{int(Channel.NETWORK_IN)}, {{{begun}, {wants}}}}});",
    ]
    marks = ", ".join(find(_NODE, "store", name) for name in ("too_long", "in_body", "bad", "cut"))
    arrived, words = (find(_NODE, "store", name) for name in ("arrived", "stored"))
    return [
        *lines,
        f"pins.probes.stored.push_back({{{arrived}, {words}, {{{marks}}}}});",
        f"pins.probes.pending.push_back({find(_NODE, 'control', 'pending')});",
    ]

"""What is mutated: each component of HUB, CAB, link and the iPSC/2 in one configuration of its bench."""

import importlib
from dataclasses import dataclass

from .transplant import first

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A component, ``name`` as its file is called in ``hdl``: "hub/control/arbiter", "cab/vme/slave". Behind a "-" is
    which variant of it, if it has several with other logic: "hub/crossbar-late".

    ``configuration``: that of its bench which is mutated. ``ports``: size of the HUB whose bench has to find what the
    component's own does not, or None: it has no such component with these parameters. ``count``: how many mutants.
    ``checks``: names of ``campaign.CHECKS``, in turn put to what the ones before did not find. ``part``: name of the
    component's class in its file, if its bench is one of a larger component that it is a part of.
    """

    name: str
    configuration: str
    ports: int | None
    count: int = 255
    checks: tuple = ("beginning", "bench", "seeds", "hub")
    part: str | None = None

    @property
    def place(self):
        """Folder and file: "hub/control", "arbiter"."""
        folder, _, file = self.name.partition("-")[0].rpartition("/")
        return folder, file

    @property
    def bench(self):
        """Module of its bench."""
        folder, file = self.place
        return f"nectar.verification.{folder.replace('/', '.')}.test_{file}"

    def whole(self):
        """A new one of what its bench is a bench of."""
        return importlib.import_module(self.bench).bench.configurations[self.configuration]()

    def component(self):
        """A new one."""
        if self.part is None:
            return self.whole()
        folder, file = self.place
        return first(
            self.whole(), getattr(importlib.import_module(f"nectar.hdl.{folder.replace('/', '.')}.{file}"), self.part)
        )


#: Checks of what has no HUB around it.
_ALONE = "beginning", "bench", "seeds"


def _cab(name, configuration, part=None, count=255, checks=_ALONE):
    """A component of the CAB: it meets its own bench, or that of what it is a part of."""
    return Target(f"cab/{name}", configuration, None, count, checks=checks, part=part)


def _link(name, configuration):
    """A component of the link: it meets its own bench."""
    return Target(f"link/{name}", configuration, None, checks=_ALONE)


def _ipsc2(name, configuration, part=None):
    """A part of the iPSC/2's router or node: it meets its own bench."""
    return Target(f"ipsc2/{name}", configuration, None, checks=_ALONE, part=part)


TARGETS = {
    target.name: target
    for target in (
        Target("hub/control/arbiter", "16", None),
        Target("hub/control/central", "3 ports", None),
        Target("hub/control/controller", "5 ports", 5),
        Target("hub/control/locks", "5 ports", 5),
        Target("hub/control/neighbours", "5 ports", 5),
        Target("hub/control/response_unit", "3 ports", 3),
        Target("hub/control/status_table", "5 ports", 5),
        Target("hub/control/supervisor", "3 ports", 3),
        Target("hub/control/watchdog", "2 ports, short", None),
        Target("hub/crossbar", "5 ports", 5),
        Target("hub/crossbar-late", "5 ports, late", 5),
        Target("hub/monitor/counters", "3 ports", 3),
        Target("hub/monitor/monitor", "3 ports", 3),
        Target("hub/monitor/recorder", "5 ports", 5),
        Target("hub/port/bypass", "bypass", 5),
        Target("hub/port/head", "port 3 of 5", 5),
        Target("hub/port/input_port", "with bypass", None),
        Target("hub/port/input_port-queued", "without bypass", None),
        Target("hub/port/input_queue", "13 symbols", None),
        Target("hub/port/input_register", "register", 5),
        Target("hub/port/output_port", "with register", 5),
        Target("hub/port/output_port-skid", "with skid buffer", 5),
        Target("hub/port/reply_buffer", "buffer", 5),
        Target("hub/port/skid_buffer", "three places, late", 5),
        Target("hub/port/reply_sender", "sender", 5),
        Target("hub/port/symbol_decoder", "decoder", 5),
        Target("hub/reply_bus", "5 ports", 5),
        _cab("bus", "with window"),
        _cab("counter", "9 bits"),
        _cab("crc32", "crc"),
        _cab("demux", "demux"),
        _cab("tx_serializer", "serializer"),
        _cab("errors", "errors"),
        _cab("fiber_in", "fiber in"),
        _cab("fiber_out", "fiber out"),
        _cab("tx_reader", "reader"),
        _cab("internet", "internet"),
        _cab("interrupts", "interrupts"),
        _cab("memory", "4 kbyte"),
        _cab("output", "output register"),
        _cab("program", "short PROM", count=60),
        _cab("protection", "4 domains, 256 pages"),
        _cab("packet_receiver", "receiver"),
        _cab("registers", "with VME"),
        _cab("scatter", "1 Mbyte"),
        _cab("slots", "slots"),
        _cab("rx_writer", "writer"),
        _cab("timers", "timers"),
        _cab("vme/align", "align"),
        _cab("vme/dma", "16 MHz", "VmeDma"),
        _cab("vme/host", "host"),
        _cab("vme/interrupter", "16 MHz", "Interrupter"),
        _cab("vme/lanes", "lanes"),
        _cab("vme/master", "16 MHz", "VmeMaster"),
        _cab("vme/requester", "16 MHz", "Requester"),
        _cab("vme/share", "both", "ShareAccess"),
        _cab("vme/slave", "16 MHz", "VmeSlave"),
        _cab("vme/sync", "parts", "StrobeWatch"),
        _cab("vme/transfer", "transfer"),
        _cab("vme/vme", "16 MHz", checks=("beginning", "bench", "parts")),
        _cab("vme/window", "16 MHz", "Window"),
        _ipsc2("board", "2 dimensions"),
        _ipsc2("element", "channel 1 of 7"),
        _ipsc2("frames", "short"),
        _ipsc2("origin", "3 dimensions"),
        _ipsc2("outgoing", "4"),
        _ipsc2("remote", "3 dimensions"),
        _ipsc2("router", "2 dimensions", "Router"),
        _ipsc2("selected", "3"),
        _ipsc2("sink_port", "4"),
        _ipsc2("node/bus", "4 kbyte"),
        _ipsc2("node/control", "4 kbyte"),
        _ipsc2("node/deserializer", "deserializer"),
        _ipsc2("node/fetch", "256 bytes"),
        _ipsc2("node/serializer", "serializer"),
        _ipsc2("node/store", "256 bytes"),
        _link("aligner", "two bits"),
        _link("bits", "4 of 4"),
        _link("decoder", "decoder"),
        _link("elastic", "buffer"),
        _link("encoder", "encoder"),
        _link("queue", "depth 13"),
        _link("serial_receiver", "4 of 4"),
        _link("serial", "4 of 4"),
        _link("transmitter", "4 of 4"),
    )
}

"""What is mutated: each component of the HUB in one configuration of its bench."""

import importlib
from dataclasses import dataclass

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A component, ``name`` as its file is called in ``hdl/hub``.

    ``configuration``: that of its bench which is mutated. ``ports``: size of the HUB whose bench has to find what the component's own does
    not, or None: it has no such component with these parameters. ``count``: how many mutants. ``checks``: names of ``campaign.CHECKS``, in turn
    put to what the ones before did not find.
    """

    name: str
    configuration: str
    ports: int | None
    count: int = 255
    checks: tuple = ("bench", "hub")

    @property
    def bench(self):
        """Module of its bench."""
        return f"nectar.verification.hub.test_{self.name}"

    def component(self):
        """A new one."""
        return importlib.import_module(self.bench).bench.configurations[self.configuration]()


TARGETS = {target.name: target for target in (
    Target("answers", "3 ports", 3),
    Target("arbiter", "16", None),
    Target("bypass", "bypass", 5),
    Target("central", "3 ports", None),
    Target("controller", "5 ports", 5),
    Target("counters", "3 ports", 3),
    Target("crossbar", "5 ports", 5),
    Target("crossbar_register", "register", 5),
    Target("head", "port 3 of 5", 5),
    Target("input_port", "with bypass", None),
    Target("input_register", "register", 5),
    Target("locks", "5 ports", 5),
    Target("monitor", "3 ports", 3),
    Target("neighbours", "5 ports", 5),
    Target("output_port", "with register", 5),
    Target("queue", "13 symbols", None),
    Target("receiver", "receiver", 5),
    Target("recorder", "5 ports", 5),
    Target("reply_buffer", "buffer", 5),
    Target("reply_bus", "5 ports", 5),
    Target("reply_sender", "sender", 5),
    Target("status_table", "5 ports", 5),
    Target("supervisor", "3 ports", 3),
    Target("watchdog", "2 ports", 2),
)}

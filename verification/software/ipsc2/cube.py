"""Nodes of a simulated cube with the software of NX/2, for tests."""

import asyncio

from nectar.hdl.ipsc2.node.registers import MEMORY_BYTES
from nectar.sim.machines import machine
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.ipsc2.node import Node

__all__ = ["Cube", "anything"]


def anything(_):
    """Takes every type."""
    return True


class Cube:
    """``nodes``: list of Node, on the RTL of a cube of ``dimensions``."""

    def __init__(self, dimensions):
        self.machine = EngineMachine(machine("ipsc2").topology(f"hypercube:{dimensions}"))
        doors = self.machine.doors
        self.nodes = [Node(name, n, len(doors), door, MEMORY_BYTES) for n, (name, door) in enumerate(doors.items())]
        self._threads = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.machine.close()

    def spawn(self, node, function, *args):
        """A thread on a node; its ``result`` is there behind ``run``."""
        thread = self.nodes[node].kernel.spawn(function, self.nodes[node], *args)
        self._threads.append(thread)
        return thread

    def run(self, until_ps=1_000_000_000_000):
        """Runs until all threads have ended; raises the first error of one. Returns why the run has ended."""
        for node in self.nodes:
            self.machine.start(node.kernel.name, node.kernel.main())
        left = set(self._threads)
        failures = []
        for node in self.nodes:
            node.kernel.on_end = left.discard
            node.kernel.on_fail = lambda kernel=node.kernel: failures.append(kernel.failed[1])
        outcome = asyncio.run(self.machine.run(lambda: failures or not left, until_ps))
        if failures:
            raise failures[0]
        return outcome

"""What the tests of the processor share: a memory behind a bus, and software that writes a log."""

from nectar.software.backends.processor import Processor
from nectar.software.door import Door

__all__ = ["Board", "processor_of", "run"]


class Board:
    """A memory behind a bus: takes a request when ``ready`` says so, answers ``delay`` edges later."""

    def __init__(self, delay=4, ready=lambda: True, bad=()):
        self.delay, self.ready, self.bad = delay, ready, set(bad)
        self.memory = bytearray(4096)
        self.taken = []  # (edge after which it was driven and taken, request)
        self.answers = []  # (edge, data, error)
        self.irq = set()  # edges at which the line is sampled as 1
        self.log = []

    def run(self, processor, edges):
        """Runs ``edges`` edges; ``drive`` collects what is driven behind each edge."""
        driven = None if not processor.edges else processor.request
        for _ in range(edges):
            at = processor.edges
            done, data, error = False, 0, False
            if self.answers and self.answers[0][0] == at:
                _, data, error = self.answers.pop(0)
                done = True
            ready = self.ready()
            if driven is not None and ready:
                self.taken.append((at, driven))
                bad = driven.address in self.bad
                word = int.from_bytes(self.memory[driven.address : driven.address + 4], "big")
                if driven.write and not bad:
                    for lane in range(4):
                        if driven.select & 8 >> lane:
                            self.memory[driven.address + lane] = driven.data >> 8 * (3 - lane) & 0xFF
                self.answers.append((at + self.delay - 1, 0 if driven.write else word, bad))
            driven = processor.edge(done, data, error, ready, at in self.irq)


def processor_of(main, handler=None):
    """A processor that runs ``main(door, log)``, and ``handler(door, log)`` for interrupts; and the log."""
    door = Door(16_000_000)
    log = []
    if handler is not None:
        door.attach(lambda: handler(door, log))
    return Processor(door, main(door, log)), log


def run(main, handler=None, edges=200, **board):
    """Runs ``main`` for so many edges; processor, board, log."""
    processor, log = processor_of(main, handler)
    board = Board(**board)
    board.run(processor, edges)
    return processor, board, log

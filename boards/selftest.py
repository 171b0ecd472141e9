"""A HUB that tests itself: traffic from all ports to all others at once, checked byte by byte, and lights that tell
what comes of it.

Source: ours. ``docs/boards.md`` tells what the lights mean.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..hdl.hub.hub import Hub
from .checker import Checker
from .generator import Generator
from .hub import check_hub_id, hub_profile
from .interface import BoardInterface

__all__ = ["SelftestTop"]


class SelftestTop(wiring.Component):
    """A HUB with a generator and a checker at each port.

    Parameters
    ----------
    interface : BoardInterface
        The board.
    ports : int
        Ports, 2 to 128.
    profile : str
        Name of the HUB's profile.
    hub_id : int
        ID of the HUB, 0 to 254.
    enough : int
        Packets that each port must have got before the test is passed, 1 to 255.
    patience : int
        A port may be silent for 2**patience cycles.
    hub : Component, optional
        What stands in the place of the HUB; a Hub if left out.

    Members
    -------
    leds : Out(leds)
        Bit 0: passed: each port has got ``enough`` packets, and nothing has been wrong. Bit 1: failed, until the reset.
        Bit 2: changes with each 128th turn of the generator of port 0 while packets go. Bit N + 3: something has been
        wrong at port N.

    Timing
    ------
    It begins behind the reset and never ends. Each port's HUB side takes a symbol in seven of eight cycles.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not one of those.
    """

    def __init__(
        self, interface=BoardInterface(), ports=4, profile="modern", hub_id=1, enough=255, patience=20, hub=None
    ):
        check_hub_id(hub_id)
        if not 1 <= enough <= 255:
            raise ValueError(f"enough is 1 to 255 packets, not {enough}")
        self.hub = Hub(ports=ports, profile=hub_profile(profile)) if hub is None else hub
        self.hub_id = hub_id
        self.enough = enough
        self.generators = [Generator(port, ports, hub_id, patience) for port in range(ports)]
        self.checkers = [Checker(port, ports, patience) for port in range(ports)]
        super().__init__({"leds": Out(interface.leds)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.hub = hub = self.hub
        m.d.comb += hub.hub_id.eq(self.hub_id)
        pace = Signal(3)
        m.d.sync += pace.eq(pace + 1)
        done, wrong = Signal(len(self.checkers)), Signal(len(self.checkers))
        for n, (generator, checker) in enumerate(zip(self.generators, self.checkers, strict=True)):
            m.submodules[f"generator_{n}"] = generator
            m.submodules[f"checker_{n}"] = checker
            pin = getattr(hub, f"port_{n}")
            m.d.comb += [
                pin.tx.ready.eq(pace != n % 8),
                checker.symbol.payload.eq(pin.tx.payload),
                checker.symbol.valid.eq(pin.tx.valid & pin.tx.ready),
                generator.answer.eq(checker.answer),
                generator.released.eq(checker.released),
            ]
            # Registered, as what comes from a fiber would be.
            m.d.sync += [pin.rx.payload.eq(generator.symbol.payload), pin.rx.valid.eq(generator.symbol.valid)]
            m.d.sync += done[n].eq(checker.good >= self.enough)
            with m.If(checker.wrong | generator.stuck):
                m.d.sync += wrong[n].eq(1)
        passed, failed = Signal(), Signal()
        m.d.sync += [passed.eq(done.all() & ~wrong.any()), failed.eq(wrong.any())]
        m.d.comb += self.leds.eq(Cat(passed, failed, self.generators[0].turns[-1], wrong))
        return m

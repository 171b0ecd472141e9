"""Bundles of wires between an input port and the rest of the HUB, seen from the port.

Source: "The Design of Nectar" (1989), section 4.1; ``docs/hub.md``, "Input side of a port".
"""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .messages import FAULTS, CrossbarBeat, Request

__all__ = ["ControlPort", "CrossbarPort"]


class ControlPort(wiring.Signature):
    """A port's side of the controller and of the status table.

    Members
    -------
    request, request_valid : Out(Request), Out(1)
        A command for the controller. ``request_valid`` lasts one cycle; ``request`` stays until the response.
    give_up : Out(1)
        The controller shall refuse the request that waits, unless it can grant the request at once.
    resume : In(1)
        The request is decided: symbols may pass from the next cycle on. Only an open or a lock gets this signal.
    response_valid, done, value : In(1), In(1), In(8)
        The controller's decision, at any time after the request. ``value`` is an error code if ``done`` is 0.
    fault, quiet : In(len(FAULTS)), In(1)
        With the decision. ``fault``: the error, if it is one of ``FAULTS``, one-hot in their order. ``quiet``: a
        command of this opcode is never answered.
    mine : In(1)
        The output that ``request``'s parameter names is connected to this input. Only the low bits of the parameter
        count, as many as a port's number has.
    close_one, close_mine : Out(1), Out(1)
        ``close_one``: the connection to the named output ends. ``close_mine``: all connections of this input end.

    Timing
    ------
    ``mine`` belongs to ``request`` in the same cycle. ``done``, ``value``, ``fault`` and ``quiet`` mean nothing without
    ``response_valid``.

    Neither a request nor a response is a ``lib.stream``, since no receiver ever makes a sender wait. A port has one
    request under way. The request holds until its response, so the centre always has room for it. The port takes the
    response at once.
    """

    def __init__(self):
        super().__init__(
            {
                "request": Out(Request),
                "request_valid": Out(1),
                "give_up": Out(1),
                "resume": In(1),
                "response_valid": In(1),
                "done": In(1),
                "value": In(8),
                "fault": In(len(FAULTS)),
                "quiet": In(1),
                "mine": In(1),
                "close_one": Out(1),
                "close_mine": Out(1),
            }
        )


class CrossbarPort(wiring.Signature):
    """A port's side of the crossbar, which brings the port's symbols to outputs.

    Members
    -------
    beat, move : Out(CrossbarBeat), Out(1)
        A symbol goes to all outputs that are connected to this input. There may be no such output.
    connected : In(1)
        There is such an output.
    blocked, clear : In(1), In(1)
        One of these outputs has no space; all have space. With the late crossbar these are two registers.

    Timing
    ------
    ``move`` obeys ``blocked`` and ``clear`` of the same cycle. ``beat`` means nothing without ``move``.

    This is no ``lib.stream``: a beat goes to all connected outputs or to none.
    """

    def __init__(self):
        super().__init__(
            {"beat": Out(CrossbarBeat), "move": Out(1), "connected": In(1), "blocked": In(1), "clear": In(1)}
        )

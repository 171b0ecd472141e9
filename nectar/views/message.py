"""A message with its times and the way that it took."""

from dataclasses import dataclass, field

__all__ = ["CIRCUIT_STAGES", "STAGES", "Message", "Trip"]

#: Names of the stages of a message, in the order in which a page shows them: of one in packets, of one by circuits.
STAGES = ("software, sending", "DMA, sending", "fibers", "HUBs", "packets", "software, receiving")
CIRCUIT_STAGES = ("software, sending", "DMA, sending", "circuits", "words", "other trips", "software, receiving")


@dataclass
class Trip:
    """A circuit that carries a message, or a part of it; times are picoseconds, None if it did not come so far."""

    queued_ps: int  # the software has given it to DMA
    asked_ps: int  # its source asks for a channel
    ready_ps: int | None = None  # the source has been told that the destination is ready
    ended_ps: int | None = None  # its last channel is released


@dataclass
class Message:
    """A message; times are picoseconds, None if it did not come so far."""

    board: str  # the CAB that sends it
    number: int  # among the messages of that CAB, from 1
    layer: int
    destination: str  # a CAB's name, or "several"
    length: int
    parent: int  # place of the message that it is sent for; -1: none
    sent_ps: int
    queued_ps: int | None = None  # its first packet is in the fiber-out list
    begun_ps: int | None = None  # the first symbol of its first packet leaves the CAB
    first_ps: int | None = None  # the same symbol has come to the last CAB that it goes to
    arrived_ps: int | None = None  # the last symbol of its last packet has come there
    delivered_ps: int | None = None
    read_ps: int | None = None
    repeated: int = 0
    hubs_ps: int = 0  # of the way of the first symbol: in HUBs
    path: list = field(default_factory=list)  # (track, slice) of each of its packets on each fiber, by time
    head: bytes | None = None  # header of its first packet
    reached: dict = field(default_factory=dict)  # board that this has come to -> (time, of that in HUBs)
    trips: list = field(default_factory=list)  # its Trips, if circuits carry it

    @property
    def done_ps(self):
        """When a task had it, or else when it was complete."""
        return self.read_ps if self.read_ps is not None else self.delivered_ps

    def stages(self):
        """{what the time was spent in: picoseconds}; {} if it has not come, or nothing of its way was seen."""
        if self.trips:
            return self._circuit_stages()
        times = (self.sent_ps, self.queued_ps, self.begun_ps, self.first_ps, self.arrived_ps, self.done_ps)
        if None in times or list(times) != sorted(times):
            return {}
        sent, queued, begun, first, arrived, done = times
        return {
            "software, sending": queued - sent,
            "DMA, sending": begun - queued,
            "fibers": first - begun - self.hubs_ps,
            "HUBs": self.hubs_ps,
            "packets": arrived - first,
            "software, receiving": done - arrived,
        }

    def _circuit_stages(self):
        times = [self.sent_ps]
        for trip in self.trips:
            times += (trip.queued_ps, trip.asked_ps, trip.ready_ps, trip.ended_ps)
        times.append(self.done_ps)
        if None in times or times != sorted(times):
            return {}
        steps = [end - begin for begin, end in zip(times, times[1:])]
        first, *between, last = (*steps[::4],)
        return dict(
            zip(CIRCUIT_STAGES, (first, *(sum(steps[n::4]) for n in (1, 2, 3)), sum(between), last), strict=True)
        )

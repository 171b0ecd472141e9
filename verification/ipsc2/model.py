"""The parts of the router in Python, cycle by cycle, from docs/ipsc2.md.

Each model has ``step(inputs)``: it takes the inputs of a cycle by their names, gives the outputs of this cycle
likewise, and moves on to the next.
"""

from collections import Counter, deque

from ...hdl.ipsc2.formats import (
    CHANNELS,
    EXTERNAL,
    NIBBLE_PAIRS,
    WORD_PAIRS,
    channels,
    nibble,
    route,
    short_probe,
    word,
)

__all__ = ["ElementModel", "FramesModel", "OriginModel", "OutgoingModel", "SelectedModel", "SinkPortModel"]


class FramesModel:
    """docs/ipsc2.md, "Formats": the frame that is under way, ``kind`` and pairs, or nothing."""

    def __init__(self, probe_pairs):
        self.lengths = {"nibble": NIBBLE_PAIRS, "probe": probe_pairs, "word": WORD_PAIRS}
        self.kind, self.pairs = None, []

    def step(self, inputs):
        data, strobe = inputs["data"], inputs["strobe"]
        shown = dict.fromkeys(("data_begins", "nibble_begins", "wrong", "status", "plain", "ends", "last"), 0)
        shown |= {"place": len(self.pairs), "eom": self.is_final()}
        if not strobe:
            return shown
        if self.kind is None:
            if data == 3:
                self.kind, shown["nibble_begins"] = "nibble", 1
            elif data:
                shown["wrong"] = 1
            elif not inputs["padding"]:
                self.kind, shown["data_begins"] = "probe" if inputs["probe"] else "word", 1
        if self.kind is not None:
            self.pairs.append(data)
            shown["status"] = len(self.pairs) == 2
            shown["eom"] = self.is_final()
            shown["plain"] = shown["status"] and self.kind == "word" and not shown["eom"]
            if len(self.pairs) == self.lengths[self.kind]:
                shown |= {"ends": 1, "last": self.is_final()}
                self.kind, self.pairs = None, []
        return shown

    def is_final(self):
        """Whether EOM of a word has been seen."""
        return self.kind == "word" and len(self.pairs) > 1 and self.pairs[1] >> 1


def _frames(*frames, last=False):
    """What is sent for these frames: (pair, whether it has RDY, whether the message ends with it)."""
    pairs = [[pair, place == 1, 0] for frame in frames for place, pair in enumerate(frame)]
    pairs[-1][2] = last
    return pairs


class ElementModel:
    """docs/ipsc2.md, "Circuits", "A routing element", "An end before the circuit stands"."""

    def __init__(self, arrived, dimensions):
        #: Channel on which messages come; CHANNELS for the other end of channel 7.
        self.arrived = arrived
        self.dimensions = dimensions
        self.frames = FramesModel(len(short_probe(0)))
        self.register = (0, 0)
        self.state, self.padding, self.joined = "idle", False, False
        self.address = []
        self.sending, self.closing = deque(), False  # the short probe, and the closing behind it
        self.seen = Counter()

    def probe(self):
        """The 8 bits that have come."""
        return sum(pair << 2 * place for place, pair in enumerate(self.address))

    def target(self):
        """Bit of ``asks``."""
        found = None if self.arrived == CHANNELS else route(self.probe(), self.arrived)
        return CHANNELS if found is None else found

    def step(self, inputs):
        data, strobe = self.register
        found = self.frames.step(
            {"data": data, "strobe": strobe, "probe": self.state == "idle", "padding": self.padding}
        )
        eom = bool(found["eom"])
        waits = self.state == "ask" and not self.sending
        asks = 1 << self.target() if waits and not eom else 0
        lost = any(asks >> n & 1 for n in range(CHANNELS) if n not in channels(self.dimensions))
        early = bool(found["plain"] and not self.joined)
        shown = {
            "asks": asks,
            "rdy": data & 1,
            "rdy_valid": found["status"],
            "ending": eom or self.closing,
            "held": self.state != "idle" or eom or self.closing,
            "violation": bool(found["wrong"] or lost or early),
        }
        self.seen.update(lost=lost, early=early, wrong=found["wrong"])
        if self.state == "pass":
            shown |= self._pass(data, strobe, found)
        else:
            if waits and inputs["granted"]:
                self.sending.extend(_frames(short_probe(self.probe())))
            shown |= self._send()
        before = self.state
        begun = shown["lane__strobe"] and not shown["lane__last"]
        self._move(data, strobe, found)
        if before in ("ask", "pass") and eom and not self.joined:
            self._give_up(before, waits and not inputs["granted"])
        elif before == "ask" and begun and not self.sending:
            self.state = "pass"
        elif found["last"] and self.joined:
            self.state, self.joined = "idle", False
            self.seen["messages"] += 1
        self.register = inputs["rx__data"], inputs["rx__strobe"]
        return shown

    def _pass(self, data, strobe, found):
        passed = strobe and (self.joined or found["nibble_begins"])
        return {
            "lane__strobe": passed,
            "lane__data": data if passed else None,
            "lane__status": found["status"] and self.joined,
            "lane__last": found["last"] and self.joined,
        }

    def _send(self):
        pair, status, last = self.sending.popleft() if self.sending else (None, None, 0)
        if last:
            self.closing = False
            self.seen["closed"] += 1
        return {"lane__strobe": pair is not None, "lane__data": pair, "lane__status": status, "lane__last": last}

    def _move(self, data, strobe, found):
        if found["nibble_begins"]:
            self.padding = False
            self.joined |= self.state == "pass"
        if self.state == "idle" and found["data_begins"]:
            self.state, self.address = "probe", []
        elif self.state == "probe" and strobe:
            if found["place"] >= 2:
                self.address.append(data)
            if found["ends"]:
                self.state, self.padding = "ask", True

    def _give_up(self, state, waited):
        """EOM has come before the message was passed on."""
        self.state = "idle"
        if not waited:
            self.closing = True
            self.sending.extend(_frames(nibble(False), word(0, end=True), last=True))
        self.seen["taken back" if waited else f"ended in {state}"] += 1


class OriginModel:
    """docs/ipsc2.md, "Node source"."""

    def __init__(self, dimensions, remote=False):
        self.dimensions, self.remote = dimensions, remote
        self.frames = FramesModel(WORD_PAIRS)
        self.sent = False

    def step(self, inputs):
        probe, granted = inputs["source__probe"], inputs["granted"]
        wrong = any(probe >> n & 1 for n in range(16) if n not in channels(self.dimensions))
        wrong |= not self.remote and probe == 0
        asks = inputs["source__request"] and not wrong and not granted
        target = EXTERNAL if self.remote else route(probe)
        found = self.frames.step(
            {"data": inputs["source__data"], "strobe": granted, "probe": not self.sent, "padding": 0}
        )
        if found["ends"]:
            self.sent = not found["last"]
        return {
            "source__grant": granted,
            "source__allow": granted and inputs["allow"],
            "source__refused": inputs["source__request"] and wrong,
            "asks": 1 << target if asks else 0,
            "lane__data": inputs["source__data"],
            "lane__strobe": granted,
            "lane__status": found["status"],
            "lane__last": found["last"],
        }


class SelectedModel:
    """docs/ipsc2.md, "Circuits", "Grants" and "Holding"."""

    def __init__(self, count, status=True):
        self.count, self.status, self.owner, self.turn = count, status, None, count - 1
        self.granted = 0

    def lane(self, inputs):
        """What the owner sends."""
        names = ("data", "strobe", *(("status",) if self.status else ()), "last")
        return {name: 0 if self.owner is None else inputs[f"lanes__{self.owner}__{name}"] for name in names}

    def step(self, inputs, open=None):
        lane = self.lane(inputs)
        shown = {"owner": 0 if self.owner is None else 1 << self.owner}
        shown |= {f"lane__{name}": value for name, value in lane.items()}
        if self.owner is not None:
            if lane["strobe"] and lane["last"]:
                self.owner = None
        elif inputs["open"] if open is None else open:
            for n in ((self.turn + distance) % self.count for distance in range(1, self.count + 1)):
                if inputs["asks"] >> n & 1:
                    self.owner = self.turn = n
                    self.granted += 1
                    break
        return shown


class OutgoingModel:
    """docs/ipsc2.md, "Circuits" and "Ready"."""

    def __init__(self, count):
        self.selected = SelectedModel(count)
        self.place, self.ready, self.tx = 0, 0, (None, 0)

    def step(self, inputs):
        idle = self.selected.owner is None
        shown = self.selected.step(inputs, open=self.place == 1)
        data, strobe = self.tx
        outputs = {
            "owner": shown["owner"],
            "ready": self.ready,
            "tx__strobe": strobe,
            "tx__data": data if strobe else None,
        }
        if idle:
            self.tx = (2 | inputs["status"] if self.place else 3), 1
            self.place ^= 1
            self.ready = 0
        else:
            data = shown["lane__data"]
            self.tx = (data & 2 | inputs["status"] if shown["lane__status"] else data), shown["lane__strobe"]
            if inputs["rdy_valid"]:
                self.ready = inputs["rdy"]
        return outputs


class SinkPortModel:
    """docs/ipsc2.md, "Node sink"."""

    def __init__(self, count):
        self.selected = SelectedModel(count, status=False)
        self.sink = {"open": 0, "data": None, "strobe": 0}

    def step(self, inputs):
        shown = self.selected.step(inputs, open=True)
        outputs = {"owner": shown["owner"], "ready": self.sink["open"] and inputs["sink__ready"]}
        outputs |= {f"sink__{name}": value for name, value in self.sink.items()}
        self.sink = {
            "open": bool(shown["owner"]),
            "data": shown["lane__data"] if shown["lane__strobe"] else None,
            "strobe": shown["lane__strobe"],
        }
        return outputs

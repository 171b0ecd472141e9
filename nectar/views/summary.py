"""What a recording says in a few lines: where the time went; who has sent how much to whom."""

from collections import Counter

from .layers import layer_name

__all__ = ["summary", "traffic"]

#: Of a machine with packets, of one with circuits.
_NOTHING_WRONG = (
    "nothing went wrong: no fault, no wrong CRC, no repetition",
    "nothing went wrong: no message has arrived damaged",
)


def summary(spans):
    """Lines of text: computing and idling, the busiest fiber, what messages waited for, the slowest message, faults."""
    lines = [_cpus(spans), _fibers(spans), _stages(spans), _slowest(spans), _faults(spans)]
    return [line for line in lines if line]


def _share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def time_text(ps):
    """A time as people write it: three digits and a unit."""
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6)):
        if ps >= size:
            return f"{ps / size:.3g} {unit}"
    return f"{ps / 1000:.3g} ns"


def _cpus(spans):
    cabs = spans.recording.cabs
    cpus = {track.board: track.busy_ps for track in spans.tracks if track.name == "CPU" and track.board in cabs}
    levels = {track.board: track.busy_ps for track in spans.tracks if track.name == "interrupt level"}
    if not cpus:
        return f"{time_text(spans.end_ps)} of simulated time; what the CPUs did was not recorded"
    whole = spans.end_ps * len(cabs)
    busiest = max(cpus, key=cpus.get)
    return (
        f"{time_text(spans.end_ps)} of simulated time: threads had the CPUs for {_share(sum(cpus.values()), whole)} of "
        f"it, interrupt handlers took {_share(sum(levels.values()), whole)}; {busiest} was the busiest, with "
        f"{_share(cpus[busiest], spans.end_ps)}"
    )


def _fibers(spans):
    if spans.circuits is not None:
        return _circuits(spans)
    if not spans.packets:
        return "no packet was sent"
    fiber, share = _fullest(spans)
    return (
        f"{spans.packets} packets, {spans.commands} commands and {spans.replies} replies on fibers; the fullest fiber "
        f"is {fiber.sender} to {fiber.receiver}, with packets for {share} of the time"
        f"{_waits(spans)}"
    )


def _circuits(spans):
    if not spans.circuits:
        return "no circuit was asked for"
    link, share = _fullest(spans)
    return (
        f"{spans.circuits} circuits; the fullest link is {link.sender} to {link.receiver}, held for {share} of the time"
        f"{_waits(spans) or '; none has waited for another one'}"
    )


def _fullest(spans):
    """The fiber or link that was busy longest, and for what share of the time."""
    loads = {number: track.busy_ps for number, track in spans.fibers.items()}
    number = max(loads, key=loads.get)
    return spans.recording.fibers[number], _share(loads[number], spans.end_ps)


def _waits(spans):
    """The output for which messages have waited longest, and the message that waited longest there."""
    if not spans.waits:
        return ""
    output = max(spans.waits, key=lambda name: spans.waits[name][0])
    total, longest, message = spans.waits[output]
    return (
        f"; messages waited longest for {output}: {time_text(total)} in all, {time_text(longest)} at most "
        f"({layer_name(message.layer)} {message.board} to {message.destination}, sent at {time_text(message.sent_ps)})"
    )


def _stages(spans):
    total = Counter()
    count = 0
    for message in spans.messages:
        stages = message.stages()
        count += bool(stages)
        total.update(stages)
    whole = sum(total.values())
    if not whole:
        return ""
    parts = ", ".join(f"{name} {_share(time, whole)}" for name, time in total.most_common())
    return f"{count} messages took {time_text(whole / count)} in the mean: {parts}"


def _slowest(spans):
    done = [message for message in spans.messages if message.done_ps is not None]
    lost = len(spans.messages) - len(done)
    if not done:
        return ""
    slowest = max(done, key=lambda message: message.done_ps - message.sent_ps)
    stages = slowest.stages()
    why = f", most of it in {max(stages, key=stages.get)}" if stages else ""
    more = f"; {lost} messages have not come, or it is not known when" if lost else ""
    return (
        f"the slowest message took {time_text(slowest.done_ps - slowest.sent_ps)}{why}: {layer_name(slowest.layer)} "
        f"{slowest.board} to {slowest.destination}, {slowest.length} bytes, at {time_text(slowest.sent_ps)}{more}"
    )


def _faults(spans):
    repeated = spans.repeated.total()
    found = [
        (len(spans.faults), "fault", "s"),
        (spans.damaged, _damage(spans), ""),
        (repeated, "retransmission", "s"),
        (spans.refused, "command refused by a HUB", ""),
    ]
    told = [f"{count} {what}{more * (count != 1)}" for count, what, more in found if count]
    return "what went wrong: " + ", ".join(told) if told else _NOTHING_WRONG[spans.circuits is not None]


def _damage(spans):
    return "packet with a wrong CRC or no end" if spans.circuits is None else "message that has arrived damaged"


def traffic(spans):
    """``matrix``: for each computer and each computer (or "several") messages and bytes of the transports;
    ``computing``: for each board and thread the time that it had the CPU."""
    count, size = Counter(), Counter()
    for message in spans.messages:
        if message.parent < 0:
            count[message.board, message.destination] += 1
            size[message.board, message.destination] += message.length
    threads = Counter()
    turns = Counter()
    for track in spans.tracks:
        if track.name in ("CPU", "interrupt level"):
            for begin, end, label in zip(track.begins, track.ends, track.labels):
                threads[track.board, spans.labels[label]] += end - begin
                turns[track.board, spans.labels[label]] += 1
    return {
        "matrix": [[*pair, count[pair], size[pair]] for pair in sorted(count)],
        "computing": [[*key, threads[key], turns[key]] for key in sorted(threads)],
    }

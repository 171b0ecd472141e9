"""Looks into a HUB: one CAB starts the HUB's recorder, the others talk, and then it tells who was connected to whom,
when, and for how long.

    nectar run examples/hub_monitor.py [--topology hub:4]

The first CAB of the system is the one that looks. Everything is read by HUB commands, over the fiber, as a program on a
real CAB would."""

from nectar.hdl.hub.monitor_map import CounterId, Event
from nectar.software import ProgramError
from nectar.software.monitor import HubMonitor, events_text, spans

TOPOLOGY = "hub:4"

MAILBOX = 1
#: Bytes of the messages that each CAB sends to each other one.
SIZES = (10, 400)


async def begin(cab, hub, ports, period_ns):
    """Clears the counters and starts the record."""
    monitor = HubMonitor(cab, hub, period_ns)
    for port in ports:
        await monitor.clear(port)
    await monitor.start()


async def talk(cab, others):
    """Sends to each of the other CABs."""
    for size in SIZES:
        for other in others:
            await cab.datagram.send((other, MAILBOX), bytes(size))


async def listen(cab, count):
    """Receives what the others send."""
    mailbox = cab.mailbox(MAILBOX)
    for _ in range(count):
        message = await mailbox.receive()
        message.free()


async def look(cab, hub, ports, period_ns):
    """Stops the record and reads it, and the counters of the ports."""
    monitor = HubMonitor(cab, hub, period_ns)
    await monitor.stop()
    return await monitor.identity(), await monitor.events(), {port: await monitor.counters(port) for port in ports}


async def main(system, arguments):
    """Records the traffic of all CABs but the first."""
    if arguments:
        raise ProgramError("examples/hub_monitor.py takes no arguments of its own")
    observer, *talkers = system.cabs
    if len(system.topology.hubs) != 1 or len(talkers) < 2:
        raise ProgramError("one HUB with three CABs or more is needed: take --topology hub:4")
    ((name, board),) = system.topology.hubs.items()
    names = {port: end.board for port, end in system.topology.neighbours(name) if end.board in system.topology.cabs}
    period_ns = system.profile.hub_period_ps / 1000
    system.spawn(observer.name, begin, board.id, sorted(names), period_ns)
    await system.run()
    for cab in talkers:
        others = [other.id for other in talkers if other is not cab]
        system.spawn(cab.name, talk, others)
        system.spawn(cab.name, listen, len(SIZES) * len(others))
    await system.run()
    reading = system.spawn(observer.name, look, board.id, sorted(names), period_ns)
    await system.run()
    report(system, name, names, *reading.result)


def report(system, hub, names, identity, events, counters):
    """Prints the events, the connections and the counters."""
    print(
        f"{hub}: {identity.ports} ports, transfer {identity.transfer} cycles, set-up and transfer "
        f"{identity.setup_and_transfer} cycles"
    )
    print(f"{len(events)} events")
    for line in events_text(events, names):
        print(line)
    connections = [span for span in spans(events) if span.what == "connection"]
    print(f"{len(connections)} connections")
    print("from        to               begin us   for us")
    for span in connections:
        begin, end = (
            f"{time / 1000:10.3f}" if time is not None else "         ?" for time in (span.begin_ns, span.end_ns)
        )
        length = (
            f"{(span.end_ns - span.begin_ns) / 1000:8.3f}"
            if span.begin_ns is not None and span.end_ns is not None
            else "       ?"
        )
        still = "" if end.strip() != "?" else "  still there"
        print(f"{names.get(span.input, '?'):12}{names.get(span.output, '?'):12}{begin}{length:>10}{still}")
    shown = [counter for counter in CounterId if any(counts[counter] for counts in counters.values())]
    print("port        " + "".join(f"{counter.name.lower():>15}" for counter in shown))
    for port, counts in counters.items():
        print(f"P{port:<3}{names[port]:8}" + "".join(f"{counts[counter]:15}" for counter in shown))
    system.report("hub_monitor.connections", len(connections))
    system.report("hub_monitor.refused", sum(event.kind == Event.REFUSED for event in events))
    system.report("hub_monitor.packets", sum(counts[CounterId.PACKETS] for counts in counters.values()))

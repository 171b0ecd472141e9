"""The HUB: a crossbar switch that obeys commands from the network. ``docs/hub.md`` is its specification.

The way of a symbol, from the fiber of one port to that of another, and the file of each stage::

    fiber in -> input register -> symbol decoder -> input queue -> head -> crossbar -> output port -> fiber out
                                        |    (bypass: past an empty queue) ^                  ^
                                        +-> reply buffer -> reply bus -> reply sender --------+

The way of a command for this HUB::

    head --request--> controller --order--> response unit --response--> head --answer--> output port
                       |    ^                  |
            status table, locks           supervisor (commands that only some ports may give)

Where to begin:

1. ``commands``: the 52 commands, in one table. ``messages`` and ``bundles``: what the parts tell each other.
   ``profile``: how many registers stand in the way.
2. ``port``: one port. ``input_register``, ``symbol_decoder``, ``input_queue``, ``bypass``, then ``head``, which passes
   symbols on and takes commands out; ``input_port`` wires them together. ``output_port`` is the other side.
3. ``crossbar`` and ``reply_bus``: between the ports; forward, and back to where a command came from.
4. ``control``: one for all ports. ``controller`` decides a request in each cycle, in turns (``arbiter``);
   ``status_table`` and ``locks`` remember; ``response_unit`` answers and looks things up; ``supervisor`` carries out
   the commands that change ports; ``watchdog`` ends what stands still; ``neighbours`` are who said hello. ``central``
   wires them together.
5. ``monitor``: counters and a record of events, which commands read (``monitor_map`` tells how).
6. ``hub``: all of it.

What happens to an *open with retry* for an output that is in use: ``head`` takes it out of the queue and asks
(``request_valid``); ``controller`` finds that it cannot be granted (``can``) but may wait (``waits``), so neither
``possible`` nor ``at_once`` is set and it stays in ``waiting``, checked again in each cycle, until the output is free
or the port says ``give_up``.
"""

"""The HUB: a crossbar switch that obeys commands from the network. ``docs/hub.md`` is its specification.

**The way of a symbol**, from the fiber of one port to the fiber of another. Each stage is the file of its name: in
``port``, except ``crossbar`` and ``reply_bus``, which stand between the ports::

    port of the input                                       port of the output

    fiber in                                                      fiber out
        |                                                             ^
        v                                                             |
    input_register                                                output_port <-- reply_sender
        |                                                             ^                ^
        v                                                             |                |
    symbol_decoder --> reply_buffer -----> reply_bus -----------------|----------------+
        |                                                             |
        v                                                             |
    input_queue (modern: and bypass)                                  |
        |                                                             |
        v                                                             |
      head ------------------------------> crossbar ------> skid_buffer

``skid_buffer`` and ``reply_sender`` are parts of ``output_port``. ``docs/hub.md``, "Timing", names the registers on the
way of a symbol.

Ready signals stay in one port: ``symbol_decoder`` tells ``output_port`` that a ready signal has arrived, and ``head``
tells ``output_port`` to send one. The ready bit is in ``output_port``, of the output whose start clears it.

**The way of a command for this HUB.** ``head`` takes it out of the queue; in the profile *modern* ``symbol_decoder``
offers it to ``head`` directly while the queue is empty. The next stages are in ``control``. The answer leaves through
the port at which the command arrived::

    head --request--> controller --order--> response_unit --response--> head --answer--> reply_sender --> output_port
                          |                     |     |
                          | enter          lock |     | command
                          v                     v     v
                     status_table            locks   supervisor --finished--> response_unit

``controller`` checks each request against ``status_table`` and ``locks``. Closing does not take this way:
``status_table`` is told directly by ``head`` (*close*, *close mine*, *close all reply*), by ``output_port`` (*close
all*), and by ``reply_bus`` (the reply to *close all reply*).

Three words are kept apart. The *response* goes from ``control`` to the port that gave the command. The *answer* is made
of it by ``head``, for the fiber. A *reply* is what is on a fiber: the answer of this HUB or another one.

**Where to begin:**

1. ``commands``: the 52 commands, in one table. ``messages`` and ``bundles``: the data and the wires between the parts.
   ``part``: what the parts have in common. ``profile``: the number of registers on the way. Control codes and IDs are
   in ``nectar.hdl.link.symbol``.
2. ``port``: one port. First ``input_register``, ``symbol_decoder``, ``entry`` (the content of the queue),
   ``input_queue`` and ``bypass``. Then ``head``, which passes symbols on and takes commands out. ``input_port`` wires
   these parts together. ``output_port`` is the other side, with ``skid_buffer`` and ``reply_sender`` inside.
   ``places`` is a FIFO of a few registers.
3. ``crossbar`` and ``reply_bus``: the ways between the ports, forward and back.
4. ``control``: one for all ports. ``controller`` decides one request in each cycle, in turns (``arbiter``).
   ``status_table`` holds the connections, ``locks`` the locks. ``response_unit`` looks up the answers. ``supervisor``
   carries out the commands that change ports. ``controller_signals`` and ``response_signals`` tell what the signals
   inside of these two mean. ``watchdog`` ends connections and commands at an input where nothing
   moves. ``neighbours`` holds the hellos. ``central`` wires the decisions and tables together.
5. ``monitor``: counters and a record of events, which commands read (``monitor_map`` has their numbers).
6. ``hub``: all parts, wired together.

**An example: an *open with retry* for an output that is in use.**

1. ``head`` takes the command out of the queue, asks (``request_valid``, in its state EXECUTE), and waits for the
   decision (state WAIT).
2. ``controller`` checks the request in ``Controller._check``, where it is decided what happens: the status table shows
   the output in use (``idle`` is 0), so the request cannot be granted (``grants`` is 0). An *open with retry* may wait
   (``waits`` is 1, from ``Controller._classify``), so it is not refused either (``now`` is 0). A request with neither
   takes no part in the pick (``Controller._decide``).
3. The request stays in ``asking`` and is checked again in each cycle.
4. When the output is free, ``grants`` becomes 1, and the request is granted in its turn. If another decision takes the
   output in the cycle of its pick (``hit``), the pick is in vain, and the request waits on. When ``head`` says
   ``give_up``, since the watchdog has expired or the queue was emptied, or when the output is disabled (``usable`` is
   0), ``now`` becomes 1, and the request is refused.
"""

"""The model back end: boards and fibers in plain Python, event by event; no RTL and no compiler.

``machine`` has the ModelMachine; ``hub`` and ``commands`` are its HUBs, ``cab`` is its CABs (with ``fiber_out``,
``fiber_in``, ``checksum``, ``timers``, ``protection``), ``node`` its nodes, ``fiber`` and ``faults`` its fibers.
"""

"""The cocotb back end: boards are simulated RTL inside a cocotb test, for verification.

``machine`` has the CocotbMachine, ``board`` what drives the pins of a board, ``fiber`` its fibers in plain Python.
"""

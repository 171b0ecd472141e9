"""The engine back end: boards are simulated RTL, run at speed by the C++ core. ``machine`` has the EngineMachine."""

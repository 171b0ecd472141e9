"""The back ends: what runs the boards under the software. No other module of ``software`` knows which one it has.

========== ===================== ============================================= =======================================
package    class                 boards                                        for
========== ===================== ============================================= =======================================
``engine`` ``EngineMachine``     simulated RTL or fast boards, run by C++      programs and tests of software
``cocotb`` ``CocotbMachine``     simulated RTL inside a cocotb test            verification of the engine
``cable``  ``CableMachine``      FPGAs at the other ends of serial lines       programs on real hardware (docs/cable.md)
========== ===================== ============================================= =======================================

A back end must offer the members of ``software.machine.Machine``: doors, ``start``, ``wake``, ``run``, the time,
``close``. What it offers besides it states as Capabilities in ``capabilities``; each has a Protocol in that module.

Each class is in the module ``machine`` of its package. ``processor`` is a CAB's processor in plain Python, which
``cocotb`` uses. No package imports another.
"""

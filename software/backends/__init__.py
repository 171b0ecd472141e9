"""The back ends: what runs the boards under the software. No other module of ``software`` knows which one it has.

========== ===================== ============================================= =======================================
package    class                 boards                                        for
========== ===================== ============================================= =======================================
``engine`` ``EngineMachine``     simulated RTL, run by the C++ core            programs: exact, and fast
``model``  ``ModelMachine``      plain Python, event by event                  tests of software; needs no compiler
``cocotb`` ``CocotbMachine``     simulated RTL inside a cocotb test            verification of the engine
``cable``  ``CableMachine``      FPGAs at the other ends of serial lines       programs on real hardware (docs/cable.md)
========== ===================== ============================================= =======================================

Each class is in the module ``machine`` of its package and is a Machine (``software.machine``): that page lists the
calls that all machines have, and the capabilities that a machine may have besides and states in ``capabilities``.
``processor`` is a CAB's processor in plain Python, which ``model`` and ``cocotb`` use. No package imports another.
"""

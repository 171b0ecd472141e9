"""The cable back end: boards are FPGAs at serial lines (docs/cable.md).

``machine`` has the CableMachine, ``board`` one board, ``line`` its serial line, ``words`` what goes over the line,
``desk`` what is done before a program on lone CABs.
"""

// The fast boards: kinds of board that are written in C++ from the pages in docs/, and show at their pins what the RTL
// shows, cycle by cycle.
#pragma once

#include "board.h"

namespace nectar {

// A CAB as docs/cab.md specifies it, with memories of full size and an empty PROM.
extern const Kind FAST_CAB;
// The same with VME, as far as a node's bus reaches it.
extern const Kind FAST_VMECAB;

}  // namespace nectar

// The fast boards: kinds of board that are written in C++ from the pages in docs/, and show at their pins what the RTL
// shows, cycle by cycle. docs/engine.md, "Fast boards".
#pragma once

#include "board.h"

namespace nectar {

// A CAB as docs/cab.md specifies it, with memories of full size and an empty PROM.
extern const Kind FAST_CAB;
// The same with VME, as far as a node's bus reaches it.
extern const Kind FAST_VMECAB;

namespace fast {

void* make_hub(unsigned ports, Pins& pins);
void edge_of_hub(void* hub);
void* state_of_hub(void* hub);
void destroy_hub(void* hub);

}  // namespace fast

// A HUB of so many ports as docs/hub.md specifies it, in the profile `prototype`.
template <unsigned PORTS>
constexpr Kind fast_hub(const char* name) {
    return {name, false, [](VerilatedContext*, const char*, Pins& pins) { return fast::make_hub(PORTS, pins); },
            fast::edge_of_hub, fast::state_of_hub, fast::edge_of_hub, fast::destroy_hub, ""};
}

}  // namespace nectar

// The kinds of fast boards. docs/engine.md, "Fast boards".
#pragma once

#include "board.h"

namespace nectar::fast {

void* make_hub(unsigned ports, Pins& pins);
void eval_hub(void* hub);
void destroy_hub(void* hub);
inline void* same(void* model) { return model; }

// A HUB with so many ports.
template <unsigned PORTS> constexpr Kind hub_kind(const char* name) {
    return {name, false, [](VerilatedContext*, const char*, Pins& pins) { return make_hub(PORTS, pins); },
            eval_hub, same, eval_hub, destroy_hub, ""};
}

}  // namespace nectar::fast

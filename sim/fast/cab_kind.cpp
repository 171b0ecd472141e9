#include "cab.h"
#include "kinds.h"

namespace nectar {

namespace {

template <bool VME>
void* make(VerilatedContext*, const char*, Pins& pins) {
    auto* board = new fast::Cab(VME);
    board->connect(pins);
    return board;
}
void edge(void* board) { static_cast<fast::Cab*>(board)->edge(); }
void* state(void* board) { return board; }
void destroy(void* board) { delete static_cast<fast::Cab*>(board); }

}  // namespace

const Kind FAST_CAB{"fastcab", true, make<false>, edge, state, edge, destroy, ""};
const Kind FAST_VMECAB{"fastvmecab", true, make<true>, edge, state, edge, destroy, ""};

}  // namespace nectar

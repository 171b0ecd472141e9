#include "cab.h"
#include "kinds.h"

namespace nectar {

namespace {

void* make(VerilatedContext*, const char*, Pins& pins) {
    auto* board = new fast::Cab;
    board->connect(pins);
    return board;
}
void edge(void* board) { static_cast<fast::Cab*>(board)->edge(); }
void* state(void* board) { return board; }
void destroy(void* board) { delete static_cast<fast::Cab*>(board); }

}  // namespace

extern const Kind FAST_CAB;
const Kind FAST_CAB{"fastcab", true, make, edge, state, edge, destroy, ""};

}  // namespace nectar

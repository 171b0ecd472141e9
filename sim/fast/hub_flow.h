// What the flow of bytes through a calm HUB is known by. docs/naps.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "mask.h"

namespace nectar::fast {

// On what the next cycle of a calm HUB depends, but for its ports and the bytes themselves.
struct FlowState {
    Mask arriving, held_valid, held_ready, queued, sending, showing, turning, full, awaiting, moved, held, still,
        pending, connected, odd_inputs;

    bool operator==(const FlowState& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
};

// The same of a port with a fiber; times count from the edge on.
struct PortFlow {
    // It repeats what it was a pattern before if these are equal,
    std::int64_t first = 0, wire_free = 0;
    std::uint32_t to_read = 0, to_settle = 0;  // entries of the queue that cannot be read yet
    std::uint8_t ready = 0, valid = 0, fresh = 0, has_beside = 0, behind = 0;
    // and these have gone on by the symbols of a pattern, or not at all.
    std::uint64_t sent = 0;
    std::uint32_t head = 0, tail = 0;
    // By how many they have; and whether all this holds.
    std::uint32_t leaves = 0, out = 0, in = 0;
    bool steady = false;
};

// A HUB at an edge, and what it has done in the pattern that ends there.
struct Flow {
    static constexpr std::int64_t NEVER = -1'000'000;

    std::int64_t edge = NEVER;
    std::uint32_t symbols = 0;  // of a pattern, at each port
    FlowState state;
    std::vector<PortFlow> ports;    // those with a fiber
    std::size_t place[128] = {};    // of a port among them
};

}  // namespace nectar::fast

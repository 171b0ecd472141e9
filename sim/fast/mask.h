// Sets of a HUB's ports.
#pragma once

#include <cstdint>

namespace nectar::fast {

// Bit n stands for port n. A HUB has 128 ports at most.
using Mask = unsigned __int128;

constexpr Mask one(unsigned port) { return Mask{1} << port; }
constexpr bool has(Mask ports, unsigned port) { return static_cast<bool>(ports >> port & 1); }

// Number of ports.
inline unsigned count(Mask ports) {
    return static_cast<unsigned>(__builtin_popcountll(static_cast<std::uint64_t>(ports)) +
                                 __builtin_popcountll(static_cast<std::uint64_t>(ports >> 64)));
}

// The lowest port; there must be one.
inline unsigned lowest(Mask ports) {
    const auto low = static_cast<std::uint64_t>(ports);
    return static_cast<unsigned>(low ? __builtin_ctzll(low)
                                     : 64 + __builtin_ctzll(static_cast<std::uint64_t>(ports >> 64)));
}

// Calls work(port) for each port, the lowest first.
template <class Work> inline void each(Mask ports, Work work) {
    for (auto part = static_cast<std::uint64_t>(ports); part; part &= part - 1) {
        work(static_cast<unsigned>(__builtin_ctzll(part)));
    }
    for (auto part = static_cast<std::uint64_t>(ports >> 64); part; part &= part - 1) {
        work(64u + static_cast<unsigned>(__builtin_ctzll(part)));
    }
}

}  // namespace nectar::fast

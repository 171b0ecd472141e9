// Sets of ports of a board.
#pragma once

#include <cstdint>

namespace nectar {

// A HUB has 128 ports at most. Words: of 128-bit numbers the compiler tests single bits in twice the time.
struct Mask {
    std::uint64_t words[2] = {0, 0};

    explicit operator bool() const { return words[0] | words[1]; }
    Mask operator~() const { return {{~words[0], ~words[1]}}; }
    Mask operator|(const Mask& other) const { return {{words[0] | other.words[0], words[1] | other.words[1]}}; }
    Mask operator&(const Mask& other) const { return {{words[0] & other.words[0], words[1] & other.words[1]}}; }
    Mask& operator|=(const Mask& other) { return *this = *this | other; }
    Mask& operator&=(const Mask& other) { return *this = *this & other; }
    bool operator!=(const Mask& other) const { return words[0] != other.words[0] || words[1] != other.words[1]; }
};

inline bool has(const Mask& ports, unsigned port) { return ports.words[port / 64] >> port % 64 & 1; }
inline void add(Mask& ports, unsigned port) { ports.words[port / 64] |= std::uint64_t{1} << port % 64; }
inline void drop(Mask& ports, unsigned port) { ports.words[port / 64] &= ~(std::uint64_t{1} << port % 64); }
inline void set(Mask& ports, unsigned port, bool is) { is ? add(ports, port) : drop(ports, port); }

inline Mask one(unsigned port) {
    Mask ports;
    add(ports, port);
    return ports;
}

// The ports from `port` on.
inline Mask from(unsigned port) {
    if (port >= 128) return {};
    if (port >= 64) return {{0, ~std::uint64_t{0} << port % 64}};
    return {{~std::uint64_t{0} << port, ~std::uint64_t{0}}};
}

// The lowest port; there must be one.
inline unsigned lowest(const Mask& ports) {
    return static_cast<unsigned>(ports.words[0] ? __builtin_ctzll(ports.words[0])
                                                : 64 + __builtin_ctzll(ports.words[1]));
}

// Calls work(port) for each port, the lowest first.
template <class Work> __attribute__((always_inline)) inline void each(const Mask& ports, Work work) {
    const Mask all = ports;
    for (std::uint64_t part = all.words[0]; part; part &= part - 1) {
        work(static_cast<unsigned>(__builtin_ctzll(part)));
    }
    for (std::uint64_t part = all.words[1]; part; part &= part - 1) {
        work(64u + static_cast<unsigned>(__builtin_ctzll(part)));
    }
}

}  // namespace nectar

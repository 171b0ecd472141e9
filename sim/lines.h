// A channel of two data lines and a strobe in each direction, with what is under way to it: what is sent takes a fixed
// number of ticks, and nothing holds it off. docs/engine.md, "Links of lines".
#pragma once

#include <cstdint>

#include "board.h"

namespace nectar {

// Of so many cycles one has no tick.
constexpr std::int64_t TICK_CYCLES = 8;

constexpr bool is_tick(std::int64_t edge) { return edge % TICK_CYCLES != TICK_CYCLES - 1; }

// How many ticks come before an edge.
constexpr std::int64_t tick_of(std::int64_t edge) { return edge - edge / TICK_CYCLES; }

class Lines {
  public:
    // A link takes 1 to this many ticks.
    static constexpr unsigned MOST_TICKS = 3;

    // At tick number `now`: takes what the board sends, and gives it what has arrived.
    void tick(unsigned now) {
        if (!peer_) return;
        peer_->under_way_[(now + ticks_) % PLACES] = static_cast<std::uint8_t>(*pins_.tx_strobe << 2 | *pins_.tx_data);
        const std::uint8_t pair = under_way_[now % PLACES];
        *pins_.rx_data = pair & 3;
        *pins_.rx_strobe = pair >> 2;
    }

    // Joins two channels by a link of so many ticks.
    static void join(Lines& a, const LinePins& pins_a, Lines& b, const LinePins& pins_b, unsigned ticks) {
        a.pins_ = pins_a;
        b.pins_ = pins_b;
        a.peer_ = &b;
        b.peer_ = &a;
        a.ticks_ = b.ticks_ = ticks;
    }

  private:
    static constexpr unsigned PLACES = 4;

    LinePins pins_;
    Lines* peer_ = nullptr;  // null without a link
    unsigned ticks_ = 1;
    std::uint8_t under_way_[PLACES] = {};  // to here, by the tick at which it arrives: the pair, and 4 with a strobe
};

}  // namespace nectar

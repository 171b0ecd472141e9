// A channel of two data lines and a strobe in each direction: what is sent takes a fixed number of ticks, and nothing
// holds it off. docs/engine.md, "Links of lines".
#pragma once

#include <cstdint>

#include "board.h"

namespace nectar {

// Of so many cycles one has no tick.
constexpr std::int64_t TICK_CYCLES = 8;

constexpr bool is_tick(std::int64_t edge) { return edge % TICK_CYCLES != TICK_CYCLES - 1; }

// How many ticks come before an edge; the edge of a tick.
constexpr std::int64_t tick_of(std::int64_t edge) { return edge - edge / TICK_CYCLES; }
constexpr std::int64_t edge_of(std::int64_t tick) { return tick + tick / (TICK_CYCLES - 1); }

struct Board;

class Lines {
  public:
    // A link takes 1 to this many ticks.
    static constexpr std::int64_t MOST_TICKS = 3;

    // The board at the other end, null without a link; ticks that the link takes.
    Board* peer() const { return peer_ ? peer_->board_ : nullptr; }
    std::int64_t ticks() const { return ticks_; }

    // What the board has sent in the ticks before `now` at which it slept: the two pairs of a nibble, again and again.
    void skip(std::int64_t now) {
        std::uint8_t pairs[PLACES];
        const std::int64_t first = now - next_ > PLACES ? now - PLACES : next_;
        for (std::int64_t tick = first; tick < now; ++tick) pairs[tick % PLACES] = at(tick);
        for (std::int64_t tick = first; tick < now; ++tick) sent_[tick % PLACES] = pairs[tick % PLACES];
        next_ = now;
    }

    // At tick `now`: takes what the board sends. Returns whether that is something else than two ticks before.
    bool take(std::int64_t now) {
        const std::uint8_t pair = shown();
        const bool other = pair != sent_[(now + PLACES - 2) % PLACES];
        sent_[now % PLACES] = pair;
        next_ = now + 1;
        return other;
    }

    // Gives the board what arrives at tick `now`.
    void give(std::int64_t now) {
        const std::uint8_t pair = peer_->at(now - ticks_);
        *pins_.rx_data = pair & 3;
        *pins_.rx_strobe = pair >> 2;
    }

    // Joins two channels by a link of so many ticks.
    static void join(Lines& a, Board& board_a, const LinePins& pins_a, Lines& b, Board& board_b,
                     const LinePins& pins_b, std::int64_t ticks) {
        a.board_ = &board_a;
        b.board_ = &board_b;
        a.pins_ = pins_a;
        b.pins_ = pins_b;
        a.peer_ = &b;
        b.peer_ = &a;
        a.ticks_ = b.ticks_ = ticks;
    }

  private:
    static constexpr std::int64_t PLACES = 8;

    // A pair, and 4 with a strobe: what is at the pins; what is sent at a tick, the sleep of the board included.
    std::uint8_t shown() const { return static_cast<std::uint8_t>(*pins_.tx_strobe << 2 | *pins_.tx_data); }
    std::uint8_t at(std::int64_t tick) const {
        if (tick < next_) return sent_[(tick + PLACES) % PLACES];
        return (tick - next_) % 2 ? sent_[(next_ + PLACES - 1) % PLACES] : shown();
    }

    LinePins pins_;
    Board* board_ = nullptr;
    Lines* peer_ = nullptr;  // null without a link
    std::int64_t ticks_ = 1;
    std::int64_t next_ = 0;  // the first tick of which it has not been taken what the board sends
    std::uint8_t sent_[PLACES] = {};  // by the tick
};

}  // namespace nectar

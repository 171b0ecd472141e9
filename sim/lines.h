// A channel of two data lines and a strobe in each direction: what is sent takes a fixed number of ticks, and nothing
// holds it off. docs/engine.md, "Links of lines".
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "board.h"
#include "faults.h"

namespace nectar {

// Of so many cycles one has no tick.
constexpr std::int64_t TICK_CYCLES = 8;

constexpr bool is_tick(std::int64_t edge) { return edge % TICK_CYCLES != TICK_CYCLES - 1; }

// How many ticks come before an edge, which is the number of the first one from there on; the edge of a tick.
constexpr std::int64_t tick_of(std::int64_t edge) { return edge - edge / TICK_CYCLES; }
constexpr std::int64_t edge_of(std::int64_t tick) { return tick + tick / (TICK_CYCLES - 1); }

struct Board;

class Lines {
  public:
    // A link takes 1 to this many ticks.
    static constexpr std::int64_t MOST_TICKS = 3;
    static constexpr std::int64_t NONE = INT64_MAX;

    // The board at the other end, null without a link; ticks that the link takes.
    Board* peer() const { return peer_ ? peer_->board_ : nullptr; }
    std::int64_t ticks() const { return ticks_; }

    // What the board has sent in the ticks before `now` at which it slept: the two pairs of a nibble, again and again.
    void skip(std::int64_t now) {
        std::uint8_t pairs[PLACES];
        const std::int64_t first = now - next_ > PLACES ? now - PLACES : next_;
        for (std::int64_t tick = first; tick < now; ++tick) pairs[tick % PLACES] = at(tick);
        for (std::int64_t tick = first; tick < now; ++tick) sent_[tick % PLACES] = pairs[tick % PLACES];
        if (faults_) {
            for (std::int64_t tick = first; tick < now; ++tick) arrives_[tick % PLACES] = pairs[tick % PLACES];
            if (now > next_) faults_->skip(now - next_, pairs[(now - 1) % PLACES]);
        }
        next_ = now;
    }

    // At tick `now`: takes what the board sends. Returns whether that is something else than two ticks before, where
    // it is sent or where it arrives.
    bool take(std::int64_t now) {
        const std::uint8_t pair = shown();
        bool other = pair != sent_[(now + PLACES - 2) % PLACES];
        sent_[now % PLACES] = pair;
        next_ = now + 1;
        if (faults_) {
            const std::uint8_t arrives =
                faults_->next(static_cast<std::uint64_t>(now), time_of(now), time_of(now + ticks_), pair);
            other |= arrives != arrives_[(now + PLACES - 2) % PLACES];
            arrives_[now % PLACES] = arrives;
        }
        return other;
    }

    // Gives the board what arrives at tick `now`. Returns whether a cut has made that something else than two ticks
    // before.
    bool give(std::int64_t now) {
        std::uint8_t pair = peer_->at(now - ticks_);
        bool other = false;
        if (peer_->faults_) {
            const bool cut = peer_->cut(now - ticks_);
            other = cut != peer_->cut(now - ticks_ - 2);
            pair = cut ? 0 : peer_->arriving(now - ticks_);
        }
        *pins_.rx_data = pair & 3;
        *pins_.rx_strobe = pair >> 2;
        return other;
    }

    // Faults of what the board sends; they are made here at their first use.
    LineFaults& faults() {
        if (!faults_) {
            faults_ = std::make_unique<LineFaults>();
            std::copy(std::begin(sent_), std::end(sent_), std::begin(arrives_));
        }
        return *faults_;
    }

    // The first edge behind `edge` at which a cut begins or ends for what arrives here; NONE if none does.
    std::int64_t change(std::int64_t edge) const {
        std::int64_t first = NONE;
        if (!peer_ || !peer_->faults_) return first;
        const auto look = [&](std::int64_t tick) {
            const std::int64_t at = edge_of(tick + ticks_);
            if (at > edge) first = std::min(first, at);
        };
        for (const Fault& fault : peer_->faults_->all) {
            if (fault.harm != FaultEffect::CUT || fault.from >= fault.until) continue;
            look(first_at(fault.from + 1) - ticks_);
            if (fault.until != NONE) look(first_at(fault.until));
        }
        return first;
    }

    // Joins two channels by a link of so many ticks.
    static void join(Lines& a, Board& board_a, const LinePins& pins_a, Lines& b, Board& board_b,
                     const LinePins& pins_b, std::int64_t ticks, std::int64_t period, std::int64_t phase) {
        a.board_ = &board_a;
        b.board_ = &board_b;
        a.pins_ = pins_a;
        b.pins_ = pins_b;
        a.peer_ = &b;
        b.peer_ = &a;
        a.ticks_ = b.ticks_ = ticks;
        a.period_ = b.period_ = period;
        a.phase_ = b.phase_ = phase;
    }

  private:
    static constexpr std::int64_t PLACES = 8;

    // A pair, and 4 with a strobe: what is at the pins; what is sent at a tick, the sleep of the board included.
    std::uint8_t shown() const { return static_cast<std::uint8_t>(*pins_.tx_strobe << 2 | *pins_.tx_data); }
    std::uint8_t at(std::int64_t tick) const {
        if (tick < next_) return sent_[(tick + PLACES) % PLACES];
        return (tick - next_) % 2 ? sent_[(next_ + PLACES - 1) % PLACES] : shown();
    }

    // What comes of it at the other board, but for cuts.
    std::uint8_t arriving(std::int64_t tick) const {
        return tick < next_ ? arrives_[(tick + PLACES) % PLACES] : at(tick);
    }
    bool cut(std::int64_t tick) const { return faults_->cut(time_of(tick), time_of(tick + ticks_)); }

    // When a tick is; the first tick that is not before a time.
    std::int64_t time_of(std::int64_t tick) const { return phase_ + edge_of(tick) * period_; }
    std::int64_t first_at(std::int64_t time) const {
        return tick_of(time <= phase_ ? 0 : (time - phase_ + period_ - 1) / period_);
    }

    LinePins pins_;
    Board* board_ = nullptr;
    Lines* peer_ = nullptr;  // null without a link
    std::int64_t ticks_ = 1;
    std::int64_t next_ = 0;  // the first tick of which it has not been taken what the board sends
    std::int64_t period_ = 0;  // of the boards' clock
    std::int64_t phase_ = 0;
    std::uint8_t sent_[PLACES] = {};     // by the tick
    std::uint8_t arrives_[PLACES] = {};  // the same as it arrives, with faults
    std::unique_ptr<LineFaults> faults_;
};

}  // namespace nectar

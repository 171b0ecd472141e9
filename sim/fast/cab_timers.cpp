#include "cab_timers.h"

namespace nectar::fast {

namespace {

// Cycles in which it is being found out which timer is the first, and more of them when edges were left out.
constexpr std::uint32_t SEARCH = 10, SEARCH_AGAIN = 9;

}  // namespace

bool Timers::look(const Write& write, std::uint32_t slept, bool clear) {
    const unsigned turn = now_ % cab::TIMERS;
    const bool writes = has(write.address);
    std::uint8_t fires = 0;
    bool changed = false;
    // Whether the one that has its turn is due.
    if (armed_ >> turn & 1 && due(turn)) {
        changed = true;
        if (turn && !writes) {
            fires = 1 << turn;
            rearm(turn);
        }
    }
    if (armed_ & 1) {
        if (!again_ && due(0)) {
            fires |= 1;
            again_ = times_[1];
            if (!again_) armed_ &= ~1;
        } else if (again_ && turn == 0 && !writes) {
            again_ = false;
            rearm(0);
        }
    }
    std::uint8_t gone = 0;
    if (writes) {
        const unsigned word = index(write.address);
        times_[word] = write.data;
        if (word % 2 == 0) {
            armed_ |= 1 << word / 2;
            if (word == 0) again_ = false;
            changed = true;
        }
    } else if (write.address == reg::TIMER_STOP) {
        armed_ &= ~write.data;
        changed = true;
    } else if (write.address == reg::TIMER_FIRED) {
        gone = static_cast<std::uint8_t>(write.data);
    }
    fired_ = (fired_ & ~gone) | fires;
    if (clear) {
        const std::uint32_t now = now_;
        reset();
        now_ = now;
        changed = true;
    }
    now_ += 1 + slept;
    if (changed || fires) {
        searching_ = SEARCH;
    } else if (searching_) {
        if (--searching_ && slept % cab::TIMERS) searching_ += SEARCH_AGAIN;
    }
    if (searching_) {
        wake_in = 0;
    } else {
        find_first();
        wake_in = armed_ ? lead() : DISARMED;
    }
    return fires;
}

// A timer has fired: its period counts.
void Timers::rearm(unsigned timer) {
    if (times_[2 * timer + 1]) {
        times_[2 * timer] += times_[2 * timer + 1];
    } else {
        armed_ &= ~(1 << timer);
    }
}

void Timers::find_first() {
    std::int32_t least = 0;
    bool found = false;
    for (unsigned timer = 0; timer < cab::TIMERS; ++timer) {
        if (!(armed_ >> timer & 1)) continue;
        const auto ahead = static_cast<std::int32_t>(times_[2 * timer] - now_);
        if (!found || ahead < least) least = ahead;
        found = true;
    }
    first_ = now_ + static_cast<std::uint32_t>(least);
}

}  // namespace nectar::fast

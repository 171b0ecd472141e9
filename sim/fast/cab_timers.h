// Timers of the fast CAB. docs/cab.md, "Timers and stand-by".
#pragma once

#include <cstdint>

#include "cab_parts.h"

namespace nectar::fast {

class Timers {
  public:
    // An edge, before which `slept` were left out. `write`: what software writes; `clear`: the board is reset by
    // software. Returns whether a timer fires in this cycle.
    bool edge(const Write& write, std::uint32_t slept, bool clear) {
        if (write.address || searching_ || again_ || wake_in == 0) return look(write, slept, clear);
        now_ += 1 + slept;
        if (armed_) wake_in = lead();
        return false;
    }
    // At an edge nothing but the time changes.
    bool rests() const { return quiet() && !(searching_ || again_); }
    // edge() so often while nothing is due and software writes nothing.
    void pass(std::uint32_t edges) {
        now_ += edges;
        if (armed_) wake_in = lead();
    }
    void reset() { *this = Timers{}; }

    // No timer can fire at the next edge.
    bool quiet() const { return wake_in != 0; }
    std::uint32_t now() const { return now_; }
    // A compare value or period, by the address of its register.
    std::uint32_t time(std::uint32_t address) const { return times_[index(address)]; }
    std::uint8_t fired() const { return fired_; }
    std::uint8_t armed() const { return armed_; }
    // Whether that register is one of them.
    static bool has(std::uint32_t address) {
        return address == reg::TIMER_COMPARE ||
               (address >= reg::TIMER0_PERIOD && address < reg::TIMER0_PERIOD + 8 * cab::TIMERS - 4);
    }

    std::uint32_t wake_in = DISARMED;

  private:
    // Of timer n the compare value is 2n, the period 2n + 1.
    static unsigned index(std::uint32_t address) {
        return address == reg::TIMER_COMPARE ? 0 : (address - reg::TIMER0_PERIOD) / 4 + 1;
    }
    bool due(unsigned timer) const { return static_cast<std::int32_t>(now_ - times_[2 * timer]) >= 0; }
    bool look(const Write& write, std::uint32_t slept, bool clear);
    void rearm(unsigned timer);
    void find_first();
    // Edges up to the one before that of the first timer; 0 if it is due.
    std::uint32_t lead() const {
        const std::uint32_t lead = first_ - now_;
        return static_cast<std::int32_t>(lead) <= 0 ? 0 : lead - 1;
    }

    std::uint32_t now_ = 0;
    std::uint32_t times_[2 * cab::TIMERS] = {};
    std::uint8_t armed_ = 0;
    std::uint8_t fired_ = 0;
    bool again_ = false;          // timer 0 has fired and waits for its turn to be armed anew
    std::uint32_t first_ = 0;     // the compare value that is reached first, once that is known
    std::uint32_t searching_ = 0; // cycles until it is known which timer is the first
};

}  // namespace nectar::fast

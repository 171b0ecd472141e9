// Timers of the fast CAB. docs/cab.md, "Timers and stand-by".
#pragma once

#include <cstdint>

#include "cab_parts.h"

namespace nectar::fast {

class Timers {
  public:
    // An edge, before which `slept` were left out. `write`: what software writes; `clear`: the board is reset by
    // software. Returns whether a timer fires in this cycle.
    bool edge(const Write& write, std::uint32_t slept, bool clear);
    void reset() { *this = Timers{}; }

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
    void rearm(unsigned timer);
    std::uint32_t until_first() const;

    std::uint32_t now_ = 0;
    std::uint32_t times_[2 * cab::TIMERS] = {};
    std::uint8_t armed_ = 0;
    std::uint8_t fired_ = 0;
    bool again_ = false;          // timer 0 has fired and waits for its turn to be armed anew
    std::uint32_t searching_ = 0; // cycles until it is known which timer is the first
};

}  // namespace nectar::fast

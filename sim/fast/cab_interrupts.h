// Interrupts of the fast CAB. docs/cab.md, "Interrupts".
#pragma once

#include <cstdint>

#include "cab_parts.h"

namespace nectar::fast {

class Interrupts {
  public:
    // An edge. `states`: those that are states, in this cycle; `events`: those that happen in it.
    void edge(const Write& write, std::uint32_t states, std::uint32_t events) {
        if (write.address || events || raised(states) != raised_before_) fresh_ = HISTORY;
        if (fresh_) change(write, states, events);
    }
    // What IRQ_VECTOR tells stays as it is unless an interrupt comes or goes.
    bool settled() const { return !fresh_; }
    void reset() { *this = Interrupts{}; }

    // What raises the line, given the states.
    std::uint32_t raised(std::uint32_t states) const { return (events_ | states) & enable & above_; }
    std::uint32_t pending(std::uint32_t states) const { return events_ | states; }
    std::uint32_t vector() const;
    std::uint32_t levels(unsigned part) const { return levels_[part]; }

    std::uint32_t enable = 0;
    std::uint32_t threshold = 0;

  private:
    void change(const Write& write, std::uint32_t states, std::uint32_t events);

    static constexpr unsigned HISTORY = 3;  // cycles until IRQ_VECTOR tells of all
    static constexpr unsigned COUNT = 16;
    static constexpr std::uint32_t STATES = irq::PACKET | irq::RECEIVED | irq::REPLY | irq::INPUT;
    static constexpr std::uint32_t ALL_ONE = 0x11111111;

    static unsigned level(const std::uint32_t (&levels)[2], unsigned number) {
        return levels[number / 8] >> 4 * (number % 8) & 0xF;
    }

    std::uint32_t events_ = 0;
    std::uint32_t above_ = (1 << COUNT) - 1;  // of those with a level above the threshold
    std::uint32_t levels_[2] = {ALL_ONE, ALL_ONE};
    unsigned fresh_ = 0;
    // As they were one and two cycles ago.
    std::uint32_t raised_before_ = 0, raised_then_ = 0;
    std::uint32_t levels_before_[2] = {ALL_ONE, ALL_ONE}, levels_then_[2] = {ALL_ONE, ALL_ONE};
};

}  // namespace nectar::fast

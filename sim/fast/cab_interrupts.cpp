#include "cab_interrupts.h"

namespace nectar::fast {

void Interrupts::change(const Write& write, std::uint32_t states, std::uint32_t events) {
    --fresh_;
    raised_then_ = raised_before_;
    raised_before_ = raised(states);
    for (unsigned part = 0; part < 2; ++part) {
        levels_then_[part] = levels_before_[part];
        levels_before_[part] = levels_[part];
    }
    switch (write.address) {
        case reg::IRQ_PENDING: events_ &= ~write.data; break;
        case reg::IRQ_ENABLE: enable = write.data & ((1 << COUNT) - 1); break;
        case reg::IRQ_LEVEL0: levels_[0] = write.data; break;
        case reg::IRQ_LEVEL1: levels_[1] = write.data; break;
        case reg::IRQ_THRESHOLD: threshold = write.data & reg::IRQ_THRESHOLD_LEVEL; break;
        default: break;
    }
    events_ |= events;
    if (write.address == reg::IRQ_LEVEL0 || write.address == reg::IRQ_LEVEL1 || write.address == reg::IRQ_THRESHOLD) {
        above_ = 0;
        for (unsigned n = 0; n < COUNT; ++n) above_ |= (level(levels_, n) > threshold) << n;
    }
}

// The first of those that raised the line two cycles ago.
std::uint32_t Interrupts::vector() const {
    if (!raised_then_) return 0;
    unsigned first = COUNT;
    for (unsigned n = 0; n < COUNT; ++n) {
        if (raised_then_ >> n & 1 && (first == COUNT || level(levels_then_, n) > level(levels_then_, first))) first = n;
    }
    return put(reg::IRQ_VECTOR_VALID, 1) | put(reg::IRQ_VECTOR_NUMBER, first) |
           put(reg::IRQ_VECTOR_LEVEL, level(levels_before_, first));
}

}  // namespace nectar::fast

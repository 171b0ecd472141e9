#include "hub_record.h"

#include <algorithm>

namespace nectar::fast {

void HubRecord::start(std::int64_t now) {
    clear();
    running_ = true;
    begin_ = now;
}

void HubRecord::clear() { *this = HubRecord(); }

void HubRecord::decision(hub::Event kind, unsigned input, unsigned output) {
    if (!running_) return;
    decisions_.push_back({kind, static_cast<std::uint8_t>(input), static_cast<std::uint8_t>(output & 0x7F)});
}

void HubRecord::ends(Mask timed_out, Mask closed, Mask unlocked) {
    if (!running_) return;
    timed_out_ |= timed_out;
    closed_ |= closed;
    unlocked_ |= unlocked;
}

void HubRecord::write(hub::Event kind, unsigned input, unsigned output) {
    constexpr std::int64_t TIMES = std::int64_t{1} << hub::TIME_BITS;
    const auto stamp = static_cast<std::uint64_t>(time_ & (TIMES - 1));
    events_.push_back(static_cast<std::uint64_t>(kind) << 36 | stamp << 18 | input << 8 | output);
}

void HubRecord::tick(std::int64_t now) {
    std::copy(shown_ + 1, shown_ + DELAY + 1, shown_);
    shown_[DELAY] = events_.size();
    if (!running_) return;
    time_ = now - begin_;
    if (decisions_.empty() && !timed_out_ && !closed_ && !unlocked_) return;
    const bool full = events_.size() - first_ >= hub::EVENT_DEPTH;
    if (!full) {
        const std::int64_t high = time_ >> hub::TIME_BITS;
        if (high != high_) {
            high_ = high;
            write(hub::Event::WRAP, static_cast<unsigned>(high >> 7 & 0x7F), static_cast<unsigned>(high & 0x7F));
            return;
        }
        if (lost_) {
            lost_ = false;
            write(hub::Event::LOST, 0, 0);
            return;
        }
    }
    lost_ |= full;
    Decision event{};
    if (!decisions_.empty()) {
        event = decisions_.front();
        decisions_.erase(decisions_.begin());
        if (event.kind == hub::Event::OPENED) drop(closed_, event.output);
        if (event.kind == hub::Event::LOCKED) drop(unlocked_, event.output);
    } else if (timed_out_) {
        event = {hub::Event::TIMED_OUT, static_cast<std::uint8_t>(lowest(timed_out_)), 0};
        drop(timed_out_, event.input);
    } else {
        Mask& ended = closed_ ? closed_ : unlocked_;
        event = {closed_ ? hub::Event::CLOSED : hub::Event::UNLOCKED, 0, static_cast<std::uint8_t>(lowest(ended))};
        drop(ended, event.output);
    }
    if (!full) write(event.kind, event.input, event.output);
}

std::uint8_t HubRecord::byte(unsigned place) const {
    if (first_ >= shown_[0] || place >= hub::EVENT_BYTES) return 0;
    return static_cast<std::uint8_t>(events_[first_] >> 8 * (hub::EVENT_BYTES - 1 - place));
}

void HubRecord::pop() {
    if (first_ < shown_[0]) ++first_;
    if (first_ == events_.size()) {
        events_.clear();
        first_ = 0;
        std::fill(shown_, shown_ + DELAY + 1, 0);
    }
}

}  // namespace nectar::fast

// Bytes of the fast CAB's VME DMA between words of one alignment and words of another.
#pragma once

#include <cstdint>
#include <cstring>

namespace nectar::fast {

class Align {
  public:
    static constexpr unsigned HELD = 12;  // bytes at most

    unsigned level() const { return level_; }
    void clear() { level_ = 0; }

    // The oldest bytes in the lanes of a word from `first` on; lane 0 is bits 31 to 24.
    std::uint32_t word(unsigned first) const {
        std::uint32_t word = 0;
        for (unsigned lane = first; lane < 4; ++lane) word |= std::uint32_t{at(lane - first)} << 8 * (3 - lane);
        return word;
    }
    void get(unsigned count) {
        level_ -= count;
        std::memmove(bytes_, bytes_ + count, level_);
    }
    void put(std::uint32_t word, unsigned first, unsigned count) {
        for (unsigned lane = first; lane < first + count; ++lane) {
            bytes_[level_++] = static_cast<std::uint8_t>(word >> 8 * (3 - lane));
        }
    }

  private:
    std::uint8_t at(unsigned n) const { return n < level_ ? bytes_[n] : 0; }

    std::uint8_t bytes_[HELD + 4] = {};
    unsigned level_ = 0;
};

}  // namespace nectar::fast

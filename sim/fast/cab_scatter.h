// Where fiber in stores: the list of areas, and the word that is put together. docs/cab.md, "Fiber in".
#pragma once

#include <cstdint>

#include "cab_parts.h"

namespace nectar::fast {

// The areas that a packet is stored in.
class Scatter {
  public:
    // RX_AREA, RX_START: the writes that are not refused.
    void add(std::uint32_t length) { areas_.push({address - region::DATA, length}); }
    void start(std::uint32_t limit) {
        final_ = {address - region::DATA, limit};
        final_waits_ = true;
        running = 1;
    }
    bool refuses_area() const { return running || emptying_ || areas_.full(); }
    unsigned free() const { return running ? 0 : cab::RX_LIST_DEPTH - areas_.level(); }

    // In a cycle: an area may be taken.
    bool valid() const { return running && !emptying_ && (areas_.level() || final_waits_); }
    Place front() const { return areas_.level() ? areas_.front() : final_; }
    bool moves() const { return emptying_; }
    // Whether an area that is to be stored in has words of `place`.
    bool stores_at(const Place& place) const {
        for (unsigned n = 0; n < areas_.level(); ++n) {
            if (areas_.at(n).meets(place)) return true;
        }
        return final_waits_ && final_.meets(place);
    }

    // An edge. `taken`: the front is; `over`: the packet is, and all areas are forgotten.
    void edge(bool taken, bool over) {
        if (emptying_) {
            areas_.level() ? areas_.pop() : void(emptying_ = false);
        } else if (taken) {
            areas_.level() ? areas_.pop() : void(final_waits_ = false);
        }
        if (over) {
            running = final_waits_ = false;
            emptying_ = true;
        }
    }
    void reset() { *this = Scatter{}; }

    std::uint32_t address = 0;  // RX_ADDRESS
    std::uint8_t running = 0;   // a packet is being stored

  private:
    List<Place, cab::RX_LIST_DEPTH> areas_;
    Place final_{};
    bool final_waits_ = false;
    bool emptying_ = false;  // the areas are taken out one by one
};

// Puts bytes together into words.
class RxWriter {
  public:
    // In a cycle: whether a byte would be taken; that there is no room for any.
    bool ready(bool given) const { return remaining_ && (!waits || given || !completes()); }
    bool exhausted(bool area) const { return !remaining_ && !area; }
    bool empty() const { return !select_ && !waits; }
    bool stores_at(const Place& place) const {
        return (waits && Place{4 * word_address, 4}.meets(place)) || Place{address_ & ~3u, remaining_ + 4}.meets(place);
    }
    bool wants_area() const { return !remaining_; }
    // Something changes in this cycle, or waits for the memory, other than a byte that completes no word.
    bool moves(bool area, bool byte, bool flush) const {
        return waits || (!remaining_ && area) || (byte && remaining_ && completes()) || (flush && select_);
    }

    // An edge. `given`: the memory takes the word that waits; `byte`: what is taken (-1: none); `area`: what is taken
    // if the one before is full, or null.
    void edge(bool given, int byte, const Place* area, bool flush, bool forget) {
        const bool free = !waits || given;
        const bool had_room = remaining_ != 0;
        bool moves_on = flush && select_ && free;
        std::uint32_t at = address_ - 1;
        if (given) waits = false;
        if (byte >= 0) {
            at = address_;
            moves_on = add(static_cast<std::uint8_t>(byte)) || moves_on;
        }
        if (moves_on) move_on(at);
        if (!had_room && area) {
            address_ = area->address;
            remaining_ = area->length;
        }
        if (forget) remaining_ = select_ = 0;
    }
    void reset() { *this = RxWriter{}; }

    // edge() for a byte or a word, when the word before is in the memory. Returns whether the byte completes a word.
    bool put(std::uint8_t byte) {
        const std::uint32_t at = address_;
        const bool whole = add(byte);
        if (whole) move_on(at);
        return whole;
    }
    void put_word(std::uint32_t word) {
        word_ = word;
        select_ = 0xF;
        move_on(address_);
        pass(1);
    }
    // So many words are in the memory.
    void pass(std::uint32_t words) {
        address_ += 4 * words;
        remaining_ -= 4 * words;
    }
    // The next four bytes are a word that does not fill the area.
    bool at_word() const { return !select_ && !(address_ & 3) && remaining_ > 4; }
    // Where that word enters the memory.
    std::uint32_t next_word() const { return address_ / 4; }
    // Bytes that the area at work has room for.
    std::uint32_t room() const { return remaining_; }

    // A word waits for the memory.
    bool waits = false;
    std::uint32_t word_address = 0;
    std::uint8_t select = 0;
    std::uint32_t data = 0;

  private:
    bool completes() const { return (address_ & 3) == 3 || remaining_ == 1; }
    bool add(std::uint8_t byte) {
        const bool whole = completes();
        const unsigned lane = 3 - (address_ & 3);
        word_ = (word_ & ~(0xFFu << 8 * lane)) | std::uint32_t{byte} << 8 * lane;
        select_ |= 1 << lane;
        ++address_;
        --remaining_;
        return whole;
    }
    // The word put together waits for the memory, which it enters at `address`.
    void move_on(std::uint32_t address) {
        waits = true;
        word_address = address >> 2;
        select = select_;
        data = word_;
        select_ = 0;
    }

    std::uint32_t address_ = 0;
    std::uint32_t remaining_ = 0;  // bytes of the area at work
    std::uint32_t word_ = 0;
    std::uint8_t select_ = 0;
};

}  // namespace nectar::fast

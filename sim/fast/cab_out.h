// Fiber out of the fast CAB: the list, what is read ahead of the fiber, the symbols. docs/cab.md, "Fiber out".
#pragma once

#include <cstdint>

#include "cab_parts.h"

namespace nectar::fast {

constexpr std::uint32_t LENGTH_MASK = (1u << cab::LENGTH_BITS) - 1;

class FiberOut {
  public:
    class Flow;

    // An edge. `write`: what software writes in this cycle; `fetched`: the memory is given in it; `fiber_ready`: the
    // fiber takes a symbol; `ready_signal`: one has arrived. Returns the interrupts that happen in this cycle.
    std::uint32_t edge(const Write& write, const std::uint32_t* memory, bool fetched, bool fiber_ready,
                       bool ready_signal) {
        if (!write.address && !ready_signal) {
            if (idle) return 0;
            if (streams_) return stream(memory, fetched, fiber_ready);
        }
        return change(write, memory, fetched, fiber_ready, ready_signal);
    }
    void reset();
    // What software writes.
    void enter(const Write& write);

    // A word of an area is wanted in this cycle.
    bool fetches() const { return state_ == State::READ && items_.level() < AHEAD; }
    bool full() const { return entries_.full(); }
    // Something waits for a ready signal.
    bool waits() const { return waiting(); }
    std::uint32_t status() const;
    std::uint32_t progress() const { return progress_; }
    std::uint32_t taken() const { return taken_count_; }

    // Symbols leave one behind the other, as fast as the fiber takes them, and nobody is told of any that leaves next.
    bool runs() const {
        const bool told = item_.notify | left_ | front_.notify | (spare_valid_ & spare_.notify);
        const bool starts = start_left_ | front_.start | (spare_valid_ & spare_.start);
        return item_valid_ && front_valid_ && !(told | starts | stops_) && !unsent_ && !waiting();
    }
    // Whether test(area) is true of the part that has not been read of an area of the list.
    template <typename Test>
    bool any_area(Test test) const {
        if (state_ != State::NEXT && test(Place{address_, remaining_})) return true;
        for (unsigned n = 0; n < entries_.level(); ++n) {
            const Entry& entry = entries_.at(n);
            if (has_bytes(entry) && test(Place{entry.address, entry.value & reg::TX_AREA_LENGTH})) return true;
        }
        return false;
    }
    bool reads(const Place& place) const {
        return any_area([&](const Place& area) { return area.meets(place); });
    }
    std::size_t ahead(const std::uint32_t* memory, std::uint16_t* symbols, std::size_t most) const;

    bool idle = true;             // nothing happens before software writes or a ready signal arrives
    std::uint32_t address = 0;    // TX_ADDRESS
    std::uint32_t threshold = 0;  // TX_THRESHOLD

    std::uint8_t working = 0;     // an area is being read

    // The pins.
    std::uint16_t payload = 0;
    std::uint8_t valid = 0;

  private:
    enum class Kind : std::uint8_t { AREA, COMMAND, SYMBOL };
    enum class State : std::uint8_t { NEXT, READ, PASS_ON };

    // An entry of the list: a command's or a symbol's value, or an area's length, with its register's flags.
    struct Entry {
        Kind kind;
        std::uint32_t value;
        std::uint32_t address;
    };
    // What one word of work puts on the fiber, in this order; each part may be missing.
    struct Item {
        std::uint32_t word;
        std::uint16_t symbol;
        std::uint8_t first, last;  // bytes of the word
        bool prefix, lanes, crc, internet, end, notify, command, wait_ready;

        // Bytes of an area and nothing else.
        bool is_plain() const { return lanes && !(prefix | command | crc | end | notify); }
        unsigned bytes() const { return last - first + 1u; }
        unsigned checksum_bytes() const { return crc ? internet ? 2 : cab::CRC_BYTES : 0; }
        unsigned symbols() const { return prefix + (lanes ? bytes() : 0) + checksum_bytes() + end; }
    };
    struct Outgoing {
        std::uint16_t symbol;
        bool notify, start;
    };
    static constexpr unsigned AHEAD = 16;
    static constexpr unsigned READY_LIMIT = 255;

    std::uint32_t change(const Write& write, const std::uint32_t* memory, bool fetched, bool fiber_ready,
                         bool ready_signal);
    std::uint32_t stream(const std::uint32_t* memory, bool fetched, bool fiber_ready);
    bool is_stream() const;
    void next_item();
    void line_up(const Item& item) {
        items_.push(item);
        special_ += !item.is_plain();
        lined_up_ += item.symbols();
    }
    static bool has_bytes(const Entry& entry) {
        return entry.kind == Kind::AREA && entry.value & reg::TX_AREA_LENGTH;
    }
    void gather(const std::uint32_t* memory, bool fetched, bool ahead);
    void begin(const Entry& entry);
    static Item item_of(const Entry& entry);
    unsigned symbols_left() const { return item_.symbols() - (item_.crc ? byte_number_ : 0); }
    template <typename OfItem, typename OfArea>
    void look_ahead(OfItem of_item, OfArea of_area) const;
    bool emit(Outgoing& pushed, std::uint32_t& raised);
    bool send(Outgoing& pushed, std::uint32_t& raised);
    void stop_item();
    void leave(const Outgoing& pushed, bool push, bool fiber_ready);
    bool rests() const;
    bool output_empty() const { return !(front_valid_ || left_ || start_left_); }
    bool waiting() const { return item_valid_ && item_.wait_ready && !may_go() && !stops_; }
    bool may_go() const {
        return ready_ && !(start_left_ || (front_valid_ && front_.start) || (spare_valid_ && spare_.start));
    }

    List<Entry, cab::TX_LIST_DEPTH> entries_;
    List<Item, AHEAD> items_;
    unsigned special_ = 0;  // those that are not plain
    unsigned lined_up_ = 0; // symbols of all

    // The area that is being read.
    State state_ = State::NEXT;
    std::uint32_t address_ = 0;    // of its next byte, in data memory
    std::uint32_t remaining_ = 0;  // bytes
    std::uint32_t flags_ = 0;      // of TX_AREA; START as long as it is to be sent
    std::uint32_t word_ = 0;       // that was read of it
    bool stops_ = false;           // TX_CONTROL.reset was written in the cycle before

    // The item at work.
    Item item_{};
    bool item_valid_ = false;
    unsigned byte_number_ = 0;  // of the checksum
    bool packet_open_ = false;
    unsigned unsent_ = 0;       // ready signals
    std::uint32_t progress_ = 0;
    std::uint32_t checksum_ = 0;
    Crc32 crc_;
    InternetSum sum_;

    // The symbols that wait for the fiber.
    Outgoing front_{}, spare_{};
    bool front_valid_ = false, spare_valid_ = false;
    bool left_ = false, start_left_ = false, taken_ = false;
    bool ready_ = true;
    bool streams_ = false;  // bytes of an area follow each other, and nothing else is to happen

    std::uint8_t sent_ = 0;
    std::uint32_t taken_count_ = 0;
};

}  // namespace nectar::fast

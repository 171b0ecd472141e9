// What a port of a fast HUB holds. docs/hub.md, "Input side of a port" and "Output side of a port".
#pragma once

#include <algorithm>
#include <cstdint>

#include "board.h"
#include "mask.h"
#include "nectar_numbers.h"
#include "port.h"

namespace nectar::fast {

constexpr unsigned QUEUE_DEPTH = hub::MAX_PACKET + 128;
// Replies that wait for the bus, and for the output register.
constexpr unsigned REPLY_ROOM = 4;
constexpr unsigned READY_LIMIT = 15;
constexpr unsigned COUNTERS = 16;

// The input queue. An entry that is put in cycle t can be read from cycle t + 2 on.
class Queue {
  public:
    static constexpr std::uint16_t OWN = 0x200;     // begins a command for this HUB; below is its opcode
    static constexpr std::uint16_t CLOSES = 0x400;  // the opcode of a close all

    bool empty() const { return head_ == tail_; }
    bool readable() const { return head_ != visible_; }
    std::uint16_t oldest() const { return entries_[head_ & MASK]; }
    // Entries but for the oldest, if it can be read.
    unsigned level() const { return tail_ - head_ - readable(); }
    unsigned room() const { return QUEUE_DEPTH - (tail_ - head_); }
    // Whether the cycle's end changes nothing.
    bool rests() const { return visible_ == tail_ && settled_ == tail_; }

    void put(std::uint16_t entry) { entries_[tail_++ & MASK] = entry; }
    void pop() { ++head_; }
    // Of a calm HUB: what will be put in behind `ahead` others; then it is.
    void preset(unsigned ahead, std::uint16_t entry) { entries_[(tail_ + ahead) & MASK] = entry; }
    // The same for so many: give(count, entries) writes them, in one or two parts.
    template <typename Give>
    void preset(unsigned ahead, std::uint32_t many, Give give) {
        const std::uint32_t at = (tail_ + ahead) & MASK, straight = std::min(many, MASK + 1 - at);
        give(straight, entries_ + at);
        give(many - straight, entries_);
    }
    std::uint16_t preset(unsigned ahead) const { return entries_[(tail_ + ahead) & MASK]; }
    void admit() { ++tail_; }
    // Where the head is, and where ends what can be read, what was put before this cycle, and all: they count entries.
    std::uint32_t head() const { return head_; }
    std::uint32_t visible() const { return visible_; }
    std::uint32_t settled() const { return settled_; }
    std::uint32_t tail() const { return tail_; }
    std::uint16_t entry(std::uint32_t number) const { return entries_[number & MASK]; }
    // Copies entries from number `from` on, up to `end`, the first that is no byte, and `most` of them; how many.
    std::uint32_t copy_bytes(std::uint32_t from, std::uint32_t end, std::uint32_t most, std::uint16_t* to) const {
        std::uint32_t count = 0, part, bytes;
        do {
            const std::uint32_t at = (from + count) & MASK;
            part = std::min({end - from - count, most - count, MASK + 1 - at});
            bytes = first_control(entries_ + at, part);
            std::copy_n(entries_ + at, bytes, to + count);
            count += bytes;
        } while (part && bytes == part);
        return count;
    }
    // So many entries have come in, and gone, one by one; those that have come in are preset.
    void pass(std::uint32_t in, std::uint32_t out) {
        head_ += out;
        visible_ += in;
        settled_ += in;
        tail_ += in;
    }
    // Throws away what was put before this cycle.
    void clear() { head_ = visible_ = settled_; }
    // The cycle ends.
    void tick() {
        visible_ = settled_;
        settled_ = tail_;
    }

  private:
    static constexpr unsigned MASK = 2047;
    std::uint32_t head_ = 0;
    std::uint32_t visible_ = 0;  // end of what can be read
    std::uint32_t settled_ = 0;  // end of what was put before this cycle
    std::uint32_t tail_ = 0;
    std::uint16_t entries_[MASK + 1];
};

// A reply: opcode, HUB ID, value.
struct Reply {
    std::uint8_t bytes[COMMAND_LENGTH - 1];
};

// Up to four replies in order.
class Replies {
  public:
    bool empty() const { return count_ == 0; }
    bool full() const { return count_ == REPLY_ROOM; }
    const Reply& front() const { return replies_[head_]; }
    void push(const Reply& reply) { replies_[(head_ + count_++) % (REPLY_ROOM + 1)] = reply; }
    void pop() {
        head_ = (head_ + 1) % (REPLY_ROOM + 1);
        --count_;
    }

  private:
    Reply replies_[REPLY_ROOM + 1];
    unsigned head_ = 0;
    unsigned count_ = 0;
};

// A symbol behind the crossbar; `closes`: the last one of a close all.
struct Beat {
    std::uint16_t symbol = 0;
    bool closes = false;
};

// What there is in the input register.
enum class Arrival : std::uint8_t { NOTHING, BYTE, FRAME, COMMAND, REPLY, READY, RESERVED, REFUSED };

// Of a symbol at a port that is `enabled` or not.
Arrival kind_of(std::uint16_t symbol, bool enabled);

// Why a command that arrives is dropped.
enum class Fate : std::uint8_t { GOOD, SPOILED, VOID, SPOILED_VOID };

// CLOSING: as PASS, but symbols wait until connections have ended.
enum class Head : std::uint8_t { PASS, PARAMETER, EXECUTE, END, WAIT, CLOSING };

struct HubPort {
    // Input register and decoder.
    Arrival kind = Arrival::NOTHING;
    std::uint16_t symbol = 0;
    std::uint8_t arrived = 0;        // symbols of a command that have arrived
    Fate fate = Fate::GOOD;
    std::uint8_t frame[COMMAND_LENGTH] = {};
    std::uint8_t reply_place = 0;    // byte of a reply that is to come; 0: none
    bool reply_refused = false;
    Reply reply_arriving{};
    Replies replies_arrived;

    Queue queue;

    // Head.
    Head state = Head::PASS;
    std::uint8_t op = 0;
    std::uint8_t param = 0;
    std::uint8_t error = 0;          // of a command that closes
    bool asked = false;              // the controller's response is to come
    bool ends = false;               // connections had still to end behind a close all in the cycle before
    bool in_run = false;             // of symbols that are dropped
    std::uint8_t closing = 0;        // symbols of a close all that have left
    bool answers = false;            // an answer waits
    Reply answer{};
    std::int64_t answered = -1;      // cycle in which the last answer was taken

    // Output side.
    bool valid = false;              // of the output register
    bool fresh = false;              // it was loaded in the cycle before
    bool has_beside = false;
    std::uint8_t behind = 0;         // symbols behind the crossbar
    std::uint16_t out = 0;
    std::uint16_t looped = 0;        // what was in the output register when the cycle began
    Beat beside;
    Beat waiting[2];
    std::uint8_t readies = 0;
    std::uint8_t sending = 0;        // byte of the reply under way that is next; 0: none is under way
    bool sends_own = false;          // the reply under way is the port's own answer
    bool own_last = false;           // so was the last one
    Replies replies;

    // Tables.
    std::uint16_t counters[COUNTERS] = {};
    std::uint16_t errors = 0;
    std::uint8_t neighbour_id = 0;
    std::uint8_t neighbour_kind = hub::KIND_UNKNOWN;
    Mask targets;                // outputs connected to the input
};

}  // namespace nectar::fast

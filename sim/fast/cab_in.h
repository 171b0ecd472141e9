// Fiber in of the fast CAB: who gets a symbol, the input queue, packets. docs/cab.md, "Fiber in".
#pragma once

#include <array>
#include <cstdint>

#include "cab_parts.h"
#include "cab_scatter.h"

namespace nectar::fast {

// Errors of a cycle, as the fields of ERRORS count them.
struct Errors {
    std::uint8_t overrun = 0, stray = 0, framing = 0, reply_lost = 0;
    bool any() const { return overrun | stray | framing | reply_lost; }
};

class FiberIn {
  public:
    class Flow;

    // An edge. `write`, `read`: what software writes, and the register that it reads, in this cycle; `stored`: the
    // memory is given for the word that waits; `symbol`: what arrives (-1: nothing). Adds to `errors`; returns the
    // interrupts that happen in this cycle.
    std::uint32_t edge(const Write& write, std::uint32_t read, bool stored, int symbol, Errors& errors) {
        if (!write.address && !read) {
            if (rests_ && symbol < 0) return 0;
            if (is_stream()) return stream(stored, symbol);
        }
        return change(write, read, stored, symbol, errors);
    }
    void reset();
    // What software writes.
    void enter(const Write& write);
    // What arrives while nothing else happens.
    void arrive(int symbol) {
        symbol_ = symbol;
        idle = rests_ = symbol < 0;
    }

    // A ready signal has arrived in this cycle.
    bool ready_signal() const { return symbol_ == static_cast<int>(Control::READY); }
    // The interrupts that are states.
    std::uint32_t states() const {
        return put(irq::PACKET, state_ == State::WAIT) | put(irq::RECEIVED, received_) |
               put(irq::REPLY, replies_.level() != 0) | put(irq::INPUT, input());
    }

    // What registers read as.
    std::uint32_t result() const;
    std::uint32_t header(unsigned number) const { return header_[number]; }
    std::uint32_t reply() const { return replies_.level() ? put(reg::REPLY_VALID, 1) | replies_.front() : 0; }
    std::uint32_t status() const;
    std::uint32_t progress() const { return stored_; }
    std::uint32_t oldest() const;
    std::uint32_t count() const { return count_; }
    std::uint32_t sum() const { return sum_.value(); }
    bool waits() const { return state_ == State::WAIT; }

    // Nothing changes at an edge, even on the way to the queue's head, unless a symbol arrives or software comes.
    bool rests() const { return rests_; }

    std::uint32_t calm(bool& bytes) const;
    bool stores_at(const Place& place) const;

    bool idle = true;            // nothing happens before a symbol arrives or software writes
    std::uint16_t level = 0;     // of the input queue
    std::uint32_t threshold = 0; // RX_THRESHOLD
    std::uint32_t mode = 0;      // RX_MODE
    Scatter scatter;
    RxWriter writer;

  private:
    // Where the receiver is: no packet; gathers the header; waits for a place; stores or drops the rest; the last words
    // are being written.
    enum class State : std::uint8_t { CLOSED, HEADER, WAIT, BODY, FINISH };

    static constexpr unsigned QUEUE_SYMBOLS = 1024 + 128;
    static constexpr unsigned RING = 2048;
    static constexpr int CHECK_BYTES[] = {cab::CRC_BYTES, 2, 0};  // by Check
    static constexpr std::uint16_t LOST = 0x200;  // beside a symbol in the queue: others were lost just before it

    std::uint32_t change(const Write& write, std::uint32_t read, bool stored, int symbol, Errors& errors);
    bool is_stream() const;
    bool can_flow() const;
    bool next_waits() const;
    std::uint32_t stream(bool stored, int symbol);
    int emerge(int symbol);
    std::uint32_t emerge_word(std::uint32_t word);
    void pass_on(int emerged, bool leaves);
    void look_ahead(int symbol);
    bool input() const { return state_ == State::CLOSED && mode & reg::RX_MODE_DIRECT && head_ != visible_; }
    void sort(bool replies_full, Errors& errors, std::uint32_t& raised);
    void push(std::uint16_t symbol, Errors& errors);
    void leave();
    void receive(const Write& write, std::uint32_t read, bool stored, Errors& errors, std::uint32_t& raised);
    void closed(std::uint32_t read, Errors& errors);
    void open();
    int take(Errors& errors);
    void end();
    bool moves() const;
    bool writer_moves() const;

    // The input register, and what is under way in what arrives.
    bool rests_ = true;  // as idle, and nothing is on its way to the queue's head
    int symbol_ = -1;
    unsigned reply_left_ = 0, command_left_ = 0;
    std::uint32_t reply_word_ = 0;
    List<std::uint32_t, 8> replies_;
    std::uint32_t count_ = 0;

    // The input queue: what was put in shows at the head in the third cycle.
    std::array<std::uint16_t, RING> ring_{};
    std::uint32_t head_ = 0, visible_ = 0, almost_ = 0, tail_ = 0;  // these count symbols
    std::uint32_t marks_ = 0;      // symbols in it that are no bytes, or stand behind lost ones
    bool lost_ = false;

    // The packet.
    State state_ = State::CLOSED;
    bool received_ = false, ended_ = false, in_run_ = false;
    bool crc_bad_ = false, too_long_ = false, framing_ = false, discarded_ = false;
    std::uint8_t check_ = 0;       // the kind of its checksum
    std::uint32_t skip_ = 0;
    std::uint32_t header_[cab::HEADER_BYTES / 4] = {};
    unsigned header_count_ = 0;
    std::uint32_t held_ = 0;       // the last bytes
    int held_count_ = 0;
    std::uint32_t stored_ = 0;
    Crc32 crc_;
    InternetSum sum_;
    std::uint8_t front_ = 0, spare_ = 0;  // bytes on the way to the areas
    bool front_valid_ = false, spare_valid_ = false;
};

// Whether nothing but bytes of a packet, and no command or reply, is at the input, and at the head of the queue while a
// packet is stored.
inline bool FiberIn::is_stream() const {
    if (symbol_ >= CONTROL_BIT || (reply_left_ | command_left_) || lost_ || level == QUEUE_SYMBOLS) return false;
    if (state_ == State::WAIT) return !scatter.running && !scatter.moves();
    if (state_ != State::BODY || ended_ || discarded_ || writer.wants_area() || scatter.moves()) return false;
    return head_ == visible_ || ring_[head_ % RING] < CONTROL_BIT;
}

}  // namespace nectar::fast

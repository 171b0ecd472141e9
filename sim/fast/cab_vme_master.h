// The VME master of the fast CAB on the engine's bus, which nobody grants it: its DMA channel, and the way of the CPU's
// window to the bus. docs/vme.md, "Master and requester", "DMA channel".
#pragma once

#include <cstdint>

#include "cab_parts.h"

namespace nectar::fast {

class VmeMaster {
  public:
    // An edge. `fetched`: the memory is given for the word that is wanted. Returns the interrupts that happen in it.
    std::uint32_t edge(const Write& write, bool fetched);
    void reset() { *this = VmeMaster{}; }

    // In a cycle: a word of an area is wanted.
    bool fetches() const { return busy_ && job_.sends && !ends_ && near_left_ && !read_bytes_ && held_ <= HELD - WORD; }

    // From this cycle on an access of the CPU with these bytes of a word waits for the bus.
    void park(std::uint8_t select);
    bool parks() const { return parked_; }
    // In the cycle that was: the access has been given up.
    bool gave_up() const { return gave_up_; }

    bool idle() const { return !busy_ && !entries_.level() && !parked_; }
    // An entry is being worked on: 1, else 0.
    const std::uint8_t* working() const { return &busy_; }

    // Its registers: whether there is one that can be read, or written; whether an entry is refused; what it holds.
    static bool has(std::uint32_t address, bool to_write);
    bool refuses() const { return entries_.full() || result_; }
    std::uint32_t load(std::uint32_t address) const;

    std::uint32_t address = 0;  // VD_ADDRESS

  private:
    static constexpr unsigned WORD = 4, HELD = 3 * WORD;  // bytes: of a word, on their way from memory to the bus
    static constexpr auto GRANT = static_cast<unsigned>(vme::GRANT_PS / prototype::CAB_PERIOD_PS);

    // An entry of the list; of its addresses what alignment needs.
    struct Job {
        std::uint32_t near, far, length;
        bool half, sends, notifies;
    };
    enum class Asker : std::uint8_t { DMA, WINDOW };

    unsigned far_bytes() const;
    bool asks() const;
    void enter(const Write& write);

    // The bus: cycles that are left for a grant; a transfer was given up in the cycle before; whose it was.
    unsigned left_ = GRANT - 1;
    bool given_up_ = false;
    Asker turn_ = Asker::DMA;

    // The window.
    bool parked_ = false, whole_ = false, taken_ = false, gave_up_ = false;
    std::uint32_t window_ = 0;  // VME_WINDOW

    // The list, and the entry at work.
    List<Job, cab::VME_LIST_DEPTH> entries_;
    Job job_{};
    std::uint8_t busy_ = 0;
    bool ends_ = false, timeout_ = false, stopped_ = false, flying_ = false;
    std::uint32_t near_ = 0, near_left_ = 0, far_ = 0, far_left_ = 0;
    unsigned held_ = 0;        // bytes that have been read
    unsigned read_bytes_ = 0;  // that come from memory in this cycle
    std::uint8_t done_ = 0;
    std::uint32_t result_ = 0, remote_ = 0, threshold_ = 0;
};

}  // namespace nectar::fast

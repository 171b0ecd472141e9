// A node's own memory: a slave on its VME bus, which the CAB's DMA reaches. docs/nodes.md, "The node's memory".
#pragma once

#include <cstdint>
#include <vector>

#include "nectar_numbers.h"

namespace nectar {

// The node's bus timer.
constexpr std::int64_t NODE_TIMEOUT_PS = 50'000'000;

// Edges of a clock until a time is over.
constexpr int edges(std::int64_t time_ps, std::int64_t period_ps) {
    return static_cast<int>((time_ps + period_ps - 1) / period_ps);
}

// Lines of the bus while the CAB is master of it.
struct VmeCycle {
    bool as = false;       // AS* is low
    std::uint8_t ds = 0;   // strobes that are low: DS1*, DS0*
    bool write = false;
    bool wide = false;     // LWORD* is low
    std::uint8_t am = 0;
    std::uint32_t address = 0;  // A31 to A01, and 0
    std::uint32_t data = 0;
};

class NodeMemory {
  public:
    // What the slave, or the node's bus timer, answers with.
    enum class Answer : std::uint8_t { NONE, DTACK, BERR };

    explicit NodeMemory(std::int64_t period_ps);

    // The node's CPU: a word of the memory, or of what opens its pages. False if there is neither.
    bool access(std::uint32_t address, bool write, unsigned select, std::uint32_t& word);

    // An edge. Returns the answer that is on the lines from it on; `data` is what is read.
    Answer edge(const VmeCycle& cycle, std::uint32_t& data);

    // The node has no power any more: nobody answers, and what was in memory is lost.
    void fail();

    bool failed() const { return failed_; }
    bool idle() const { return state_ == State::IDLE; }

    // Of the transfer that is answered: address of its first byte, bytes, whether it is of a block.
    std::uint32_t where() const { return where_; }
    unsigned bytes() const { return bytes_; }
    bool block() const { return block_; }

  private:
    enum class State : std::uint8_t { IDLE, LOOKS, HOLDS };

    bool inside(std::uint32_t address) const { return address - vme::NODE_MEMORY < vme::NODE_MEMORY_BYTES; }
    void begin(const VmeCycle& cycle);
    Answer transfer(const VmeCycle& cycle, std::uint32_t& data);

    std::int64_t first_;     // edges from the strobes to the answer: of a cycle's first transfer,
    std::int64_t patience_;  // of nobody
    State state_ = State::IDLE;
    Answer answer_ = Answer::NONE;
    bool block_ = false;
    bool later_ = false;     // a transfer of the cycle has been made
    bool ours_ = false;
    bool failed_ = false;
    std::int64_t left_ = 0;
    std::uint32_t where_ = 0;
    unsigned bytes_ = 0;
    std::vector<std::uint32_t> words_;  // none before the first access
    std::vector<std::uint8_t> open_;  // pages
};

}  // namespace nectar

#include "node_memory.h"

#include <algorithm>

namespace nectar {

namespace {

// Of the first transfer of a cycle, from the strobes to the answer: translation of the address, access.
constexpr std::int64_t ACCESS_PS = 250'000;
constexpr std::uint32_t PAGES = vme::NODE_MEMORY_BYTES / vme::NODE_PAGE_BYTES;

// Of an address modifier: A32, and of that the blocks.
constexpr unsigned A32_MASK = 0x38, A32 = 0x08, KIND = 3, BLOCK = 3;

}  // namespace

NodeMemory::NodeMemory(std::int64_t period_ps)
    : first_(edges(ACCESS_PS, period_ps)), patience_(edges(NODE_TIMEOUT_PS, period_ps)),
      open_(PAGES) {}

bool NodeMemory::access(std::uint32_t address, bool write, unsigned select, std::uint32_t& word) {
    if (words_.empty()) words_.resize(vme::NODE_MEMORY_BYTES / 4);
    if (const std::uint32_t page = (address - vme::NODE_PAGES) / 4; page < PAGES) {
        if (write) open_[page] = word & 1;
        word = open_[page];
        return true;
    }
    if (!inside(address)) return false;
    std::uint32_t& at = words_[(address - vme::NODE_MEMORY) / 4];
    for (int byte = 0; write && byte < 4; ++byte) {
        const std::uint32_t lane = 0xFFu << 8 * byte;
        if (select >> byte & 1) at = (at & ~lane) | (word & lane);
    }
    word = at;
    return true;
}

void NodeMemory::fail() {
    failed_ = true;
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(open_.begin(), open_.end(), std::uint8_t{0});
}

// The strobes of a transfer are there.
void NodeMemory::begin(const VmeCycle& cycle) {
    if (!later_) {
        ours_ = (cycle.am & A32_MASK) == A32 && (cycle.am & KIND) && inside(cycle.address);
        block_ = (cycle.am & KIND) == BLOCK;
        where_ = cycle.address;
    } else {
        where_ += cycle.wide ? 4 : 2;
    }
    // DS1* is for the byte at the even address.
    bytes_ = cycle.wide ? 4 : cycle.ds == 3 ? 2 : 1;
    if (bytes_ == 1) where_ = (where_ & ~1u) | (cycle.ds & 1);
    state_ = State::LOOKS;
    left_ = !ours_ ? patience_ : later_ ? 1 : first_;
}

NodeMemory::Answer NodeMemory::transfer(const VmeCycle& cycle, std::uint32_t& data) {
    const bool aligned = !cycle.wide || where_ % 4 == 0;
    if (failed_) return Answer::NONE;
    if (!ours_ || !aligned || !inside(where_) || !open_[(where_ - vme::NODE_MEMORY) / vme::NODE_PAGE_BYTES]) {
        return Answer::BERR;
    }
    std::uint32_t& word = words_[(where_ - vme::NODE_MEMORY) / 4];
    const unsigned shift = cycle.wide || where_ & 2 ? 0 : 16;
    std::uint32_t lanes = 0xFFFFFFFF;
    if (!cycle.wide) lanes = ((cycle.ds & 2 ? 0xFF00u : 0) | (cycle.ds & 1 ? 0xFFu : 0)) << shift;
    if (cycle.write) {
        word = (word & ~lanes) | (cycle.data << shift & lanes);
    } else {
        data = cycle.wide ? word : word >> shift & 0xFFFF;
    }
    return Answer::DTACK;
}

NodeMemory::Answer NodeMemory::edge(const VmeCycle& cycle, std::uint32_t& data) {
    if (!cycle.as) {
        state_ = State::IDLE;
        later_ = false;
        return answer_ = Answer::NONE;
    }
    if (state_ == State::IDLE && cycle.ds) begin(cycle);
    if (state_ == State::LOOKS) {
        if (!cycle.ds) {
            state_ = State::IDLE;  // the master has given up
        } else if (--left_ <= 0) {
            answer_ = transfer(cycle, data);
            state_ = State::HOLDS;
        }
    } else if (state_ == State::HOLDS && !cycle.ds) {
        answer_ = Answer::NONE;
        later_ = true;
        state_ = State::IDLE;
    }
    return answer_;
}

}  // namespace nectar

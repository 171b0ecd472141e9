#include "vme.h"

#include <algorithm>

namespace nectar {

namespace {

constexpr std::int64_t SETUP_PS = std::max(vme::ADDRESS_SETUP_PS, vme::DATA_SETUP_PS);
// The bus is taken back from a CAB that has not used it for so long.
constexpr std::int64_t PARK_PS = 1'000'000;
// An access of the node's CPU to the node's memory.
constexpr std::int64_t NEAR_PS = 125'000;
// Edges after which a grant that nobody takes is withdrawn.
constexpr int UNTAKEN = 16;
// Levels of bus requests: the CAB's, and the node's, at which the CAB gives the bus up.
constexpr std::uint8_t CAB_LEVEL = 1, NODE_LEVEL = 8, LINES = 0xF;

}  // namespace

VmeBus::VmeBus(const VmePins& pins, std::int64_t period_ps)
    : pins_(pins), memory_(period_ps), setup_(edges(SETUP_PS, period_ps)), skew_(edges(vme::SKEW_PS, period_ps)),
      high_(edges(vme::STROBE_HIGH_PS, period_ps)), patience_(edges(NODE_TIMEOUT_PS, period_ps)),
      park_(edges(PARK_PS, period_ps)), near_(edges(NEAR_PS, period_ps)) {}

CpuPins VmeBus::cpu() {
    return {&valid_, &ready_, &address_, &write_, &kernel_, &select_, &write_data_, &done_, &read_data_, &error_, &irq_,
            nullptr, nullptr, &words_, ~0u};
}

void VmeBus::edge() {
    const bool answered = *pins_.dtack_pull || *pins_.berr_pull;
    ready_ = done_ = 0;
    irq_ = *pins_.irq_pull != 0;
    arbitrate();
    if (owner_ == Owner::CAB) serve();
    switch (state_) {
        case State::SETUP:
            if (--left_ == 0) strobe();
            break;
        case State::ANSWER:
            if (!answered) {
                if (--left_ == 0) end(true);
            } else if (*pins_.berr_pull) {
                end(true);
            } else if (store_ || skewed_++ == skew_) {
                end(false);
            }
            break;
        case State::RELEASE:
            if (left_ > 0) --left_;
            if (left_ > 0 || answered) break;
            if (wanted_) {
                begin();
                break;
            }
            if (block_) {
                take();
                // A load of a block has nothing to set up.
                if (!store_) strobe();
                break;
            }
            state_ = State::IDLE;
            [[fallthrough]];
        case State::IDLE:
            if (valid_ && !take_near() && has_bus()) take();
            break;
        case State::NEAR:
            if (--left_ > 0) break;
            done_ = 1;
            state_ = State::IDLE;
            break;
        case State::NOBODY:
            error_ = 0;
            done_ = 1;
            state_ = State::IDLE;
            break;
    }
}

// Who has the bus at this edge, and who is told. The node has it while nobody asks for it.
void VmeBus::arbitrate() {
    const bool cab_has = *pins_.bbsy_pull;
    const bool cab_asks = *pins_.br_pull & CAB_LEVEL;
    const bool node_has = state_ != State::IDLE && state_ != State::NEAR;
    const bool node_asks = node_has || (valid_ && address_ < vme::NODE_MEMORY);
    if (granted_) {
        if (cab_has) {
            owner_ = Owner::CAB;
            unused_ = 0;
        }
        ungranted_ = cab_asks ? 0 : ungranted_ + 1;
        granted_ = !cab_has && ungranted_ < UNTAKEN;
    } else if (owner_ == Owner::CAB) {
        // The lines of its last cycle are the slave's concern until they are high.
        if (!cab_has && memory_.idle()) owner_ = Owner::NODE;
    } else if (cab_asks && !memory_.failed() && !node_has && !(node_asks && last_ == Owner::CAB)) {
        granted_ = true;
        ungranted_ = 0;
    }
    const bool cycles = *pins_.as_drive && !*pins_.as_n_out;
    unused_ = owner_ == Owner::CAB && !cycles ? unused_ + 1 : 0;
    if (cycles) last_ = Owner::CAB;
    const bool wants = owner_ == Owner::CAB && (node_asks || unused_ > park_);
    *pins_.br_n = LINES & static_cast<std::uint8_t>(~(wants ? NODE_LEVEL : 0));
    *pins_.bgin_n = LINES & static_cast<std::uint8_t>(~(granted_ ? CAB_LEVEL : 0));
}

// Whether the node's CPU may begin a cycle. It and a CAB that asks have the bus in turn.
bool VmeBus::has_bus() const {
    const bool cab_asks = *pins_.br_pull & CAB_LEVEL && !memory_.failed();
    return owner_ == Owner::NODE && !granted_ && !(cab_asks && last_ == Owner::NODE);
}

// The CAB is master: its lines come to everybody, and the node's memory answers it.
void VmeBus::serve() {
    VmeCycle cycle;
    if (*pins_.as_drive) {
        *pins_.address = *pins_.address_out;
        *pins_.am = *pins_.am_out;
        *pins_.lword_n = *pins_.lword_n_out;
        *pins_.write_n = *pins_.write_n_out;
        *pins_.iack_n = 1;
        if (!*pins_.write_n_out) *pins_.data = *pins_.data_out;
        cycle.as = !*pins_.as_n_out;
        cycle.ds = static_cast<std::uint8_t>(3 & ~*pins_.ds_n_out);
        cycle.write = !*pins_.write_n_out;
        cycle.wide = !*pins_.lword_n_out;
        cycle.am = *pins_.am_out;
        cycle.address = *pins_.address_out << 1;
        cycle.data = *pins_.data_out;
    }
    const NodeMemory::Answer before = answer_;
    const bool began = memory_.idle();
    std::uint32_t data = *pins_.data;
    answer_ = memory_.edge(cycle, data);
    if (!cycle.write && cycle.as) *pins_.data = data;
    *pins_.dtack_n = answer_ != NodeMemory::Answer::DTACK;
    *pins_.berr_n = answer_ != NodeMemory::Answer::BERR;
    if (!recorder_) return;
    if (began && !memory_.idle()) cab_begun_ = recorder_->now;
    if (before != NodeMemory::Answer::NONE && answer_ == NodeMemory::Answer::NONE) record_cab(before, cycle.write);
}

// A request to the node's own memory needs no bus. Returns whether it is one, and is taken.
bool VmeBus::take_near() {
    if (address_ < vme::NODE_MEMORY) return false;
    ready_ = 1;
    read_data_ = write_data_;
    error_ = !memory_.access(address_ & ~3u, write_, select_, read_data_);
    state_ = State::NEAR;
    left_ = near_ - 1;
    return true;
}

// The CPU's request is taken; begin() makes its first transfer.
void VmeBus::take() {
    last_ = Owner::NODE;
    ready_ = 1;
    store_ = write_;
    where_ = address_ & ~3u;
    word_ = write_data_;
    wanted_ = select_;
    read_data_ = 0;
    acknowledge_ = where_ >= ACKNOWLEDGE;
    if (acknowledge_) {
        level_ = 0;
        for (unsigned level = 1; level <= vme::LEVELS; ++level) {
            if (*pins_.irq_pull >> (level - 1) & 1) level_ = level;
        }
        if (!level_) {
            state_ = State::NOBODY;
            return;
        }
        wanted_ = 1;
    }
    begin();
}

// Whether the CPU's next request goes on with the block.
bool VmeBus::follows() const {
    return block_ && valid_ && select_ == 0xF && address_ == where_ + 4 && address_ % vme::BLOCK_BYTES != 0;
}

// Puts out the address of the next transfer: a word, or what a halfword has of what is wanted.
void VmeBus::begin() {
    const unsigned high = wanted_ >> 2, low = wanted_ & 3;
    moved_ = wanted_ == 0xF ? 0xF : high ? high << 2 : low;
    const std::uint32_t address = acknowledge_ ? level_ << 1 : where_ + (high ? 0 : 2);
    *pins_.address = address >> 1;
    // Words that follow each other are a block.
    block_ = block_ || (wanted_ == 0xF && words_ > 1 && !acknowledge_ && (where_ + 4) % vme::BLOCK_BYTES != 0);
    *pins_.am = block_ ? vme::A24_USER_BLOCK : vme::A24_USER_DATA;
    *pins_.lword_n = moved_ != 0xF;
    *pins_.iack_n = !acknowledge_;
    *pins_.write_n = !store_;
    *pins_.data = !store_ ? 0xFFFFFFFF : moved_ == 0xF ? word_ : high ? word_ >> 16 : word_ & 0xFFFF;
    state_ = State::SETUP;
    left_ = setup_;
    if (recorder_) begun_ = recorder_->now;
}

void VmeBus::strobe() {
    // DS1* is for the byte at the even address.
    const unsigned half = moved_ > 3 ? moved_ >> 2 : moved_;
    *pins_.as_n = 0;
    *pins_.ds_n = static_cast<std::uint8_t>(3 & ~(moved_ == 0xF ? 3u : half));
    *pins_.iackin_n = !acknowledge_;
    state_ = State::ANSWER;
    left_ = patience_;
    skewed_ = 0;
}

// The transfer under way has ended.
void VmeBus::end(bool error) {
    if (recorder_) record(error);
    const std::uint32_t lines = *pins_.data_out;
    if (!store_ && !error) {
        if (acknowledge_) {
            read_data_ = level_ << 8 | (lines & 0xFF);
        } else {
            const std::uint32_t word = moved_ == 0xF ? lines : moved_ > 3 ? lines << 16 : lines & 0xFFFF;
            for (int byte = 0; byte < 4; ++byte) {
                if (moved_ >> byte & 1) read_data_ |= word & 0xFFu << 8 * byte;
            }
        }
    }
    wanted_ = error ? 0 : wanted_ & ~moved_;
    if (!wanted_) {
        error_ = error;
        done_ = 1;
    }
    block_ = !error && follows();
    *pins_.as_n = !block_;
    *pins_.ds_n = 3;
    *pins_.iackin_n = 1;
    state_ = State::RELEASE;
    left_ = high_;
}

void VmeBus::record(bool error) {
    unsigned mark = 0, first = 0, bytes = 0;
    for (unsigned byte = 4; byte-- > 0;) {
        if (!(moved_ >> byte & 1)) continue;
        if (!bytes++) first = 3 - byte;
    }
    if (store_) mark |= static_cast<unsigned>(VmeMark::STORE);
    if (block_) mark |= static_cast<unsigned>(VmeMark::BLOCK);
    if (acknowledge_) mark |= static_cast<unsigned>(VmeMark::ACKNOWLEDGE);
    if (error) mark |= static_cast<unsigned>(VmeMark::ERROR);
    recorder_->add(recorder_->now, EventKind::VME, mark, static_cast<unsigned>(place_),
                   acknowledge_ ? level_ : where_ + first, begun_, bytes);
}

void VmeBus::record_cab(NodeMemory::Answer answer, bool write) {
    unsigned mark = 0;
    if (write) mark |= static_cast<unsigned>(VmeMark::STORE);
    if (memory_.block()) mark |= static_cast<unsigned>(VmeMark::BLOCK);
    if (answer == NodeMemory::Answer::BERR) mark |= static_cast<unsigned>(VmeMark::ERROR);
    recorder_->add(recorder_->now, EventKind::VME, mark, static_cast<unsigned>(cab_), memory_.where(), cab_begun_,
                   memory_.bytes());
}

}  // namespace nectar

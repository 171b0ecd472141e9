#include "vme.h"

#include <algorithm>

namespace nectar {

namespace {

constexpr std::int64_t SETUP_PS = std::max(vme::ADDRESS_SETUP_PS, vme::DATA_SETUP_PS);
// The node's bus timer.
constexpr std::int64_t TIMEOUT_PS = 50'000'000;

int edges(std::int64_t time, std::int64_t period) { return static_cast<int>((time + period - 1) / period); }

}  // namespace

VmeBus::VmeBus(const VmePins& pins, std::int64_t period_ps)
    : pins_(pins), setup_(edges(SETUP_PS, period_ps)), skew_(edges(vme::SKEW_PS, period_ps)),
      high_(edges(vme::STROBE_HIGH_PS, period_ps)), patience_(edges(TIMEOUT_PS, period_ps)) {}

CpuPins VmeBus::cpu() {
    return {&valid_, &ready_, &address_, &write_, &kernel_, &select_, &write_data_, &done_, &read_data_, &error_, &irq_,
            nullptr, nullptr, &words_};
}

void VmeBus::edge() {
    const bool answered = *pins_.dtack_pull || *pins_.berr_pull;
    ready_ = done_ = 0;
    irq_ = *pins_.irq_pull != 0;
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
            if (valid_) take();
            break;
        case State::NOBODY:
            error_ = 0;
            done_ = 1;
            state_ = State::IDLE;
            break;
    }
}

// The CPU's request is taken; begin() makes its first transfer.
void VmeBus::take() {
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

}  // namespace nectar

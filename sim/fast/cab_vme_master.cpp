#include "cab_vme_master.h"

#include <algorithm>

namespace nectar::fast {

namespace {

constexpr std::uint32_t ADDRESS_MASK = (1u << cab::ADDRESS_BITS) - 1;
// Of an address modifier: blocks.
constexpr std::uint32_t BLOCK = 3;

}  // namespace

// Bytes of the next transfer.
unsigned VmeMaster::far_bytes() const {
    if (far_ % 4 == 0 && far_left_ >= 4 && !job_.half) return 4;
    return far_ % 2 == 0 && far_left_ >= 2 ? 2 : 1;
}

// Whether the DMA channel has a transfer for the bus.
bool VmeMaster::asks() const {
    if (!busy_ || ends_ || !far_left_) return false;
    return job_.sends ? held_ >= far_bytes() : !flying_;
}

void VmeMaster::park(std::uint8_t select) {
    const bool is_bytes = select && !(select & (select - 1));
    parked_ = true;
    whole_ = is_bytes || select == 0xF || select == 0xC || select == 0x3;
}

std::uint32_t VmeMaster::edge(const Write& write, bool fetched) {
    std::uint32_t raised = 0;
    const bool over = given_up_;
    const bool dma_asks = asks();
    const bool possible = whole_ && (window_ & BLOCK) != BLOCK;
    const bool window_asks = parked_ && possible && !taken_;
    const bool to_window = turn_ == Asker::DMA ? window_asks : !dma_asks;
    const bool asked = !over && (to_window ? window_asks : dma_asks);
    const bool gives_up = asked && left_ == 0;
    left_ = asked && !gives_up ? left_ - 1 : GRANT - 1;
    given_up_ = gives_up;

    const bool window_over = over && turn_ == Asker::WINDOW;
    const bool dma_over = over && turn_ == Asker::DMA;
    gave_up_ = parked_ && (!possible || (taken_ && window_over));
    if (gave_up_) parked_ = false;
    if (window_over) taken_ = false;
    const bool dma_gives_up = gives_up && !to_window;
    if (gives_up) {
        turn_ = to_window ? Asker::WINDOW : Asker::DMA;
        taken_ = taken_ || to_window;
    }

    const bool stop = write.address == reg::VD_CONTROL && write.data & reg::VD_CONTROL_STOP;
    const bool ended = busy_ && !flying_ && (ends_ || (job_.sends ? !far_left_ : !near_left_));
    const bool cut = ended && (timeout_ || stopped_);
    const bool starts = entries_.level() && !busy_ && !stop;
    const bool failed = cut || (stop && (!busy_ || ended) && entries_.level());
    if (ended && !cut && job_.notifies) {
        ++done_;
        raised |= irq::VME_DONE;
    }
    if (failed) {
        raised |= irq::VME_ERROR;
        result_ = put(reg::VD_RESULT_TIMEOUT, ended && timeout_) | put(reg::VD_RESULT_STOPPED, !cut || stopped_);
    } else if (write.address == reg::VD_RESULT) {
        result_ = 0;
    }

    // Words from memory, and to the bus what is given up.
    held_ += read_bytes_;
    const unsigned count = std::min(near_left_, WORD - near_ % WORD);
    read_bytes_ = fetched ? count : 0;
    near_ += read_bytes_;
    near_left_ -= read_bytes_;
    if (dma_over) flying_ = false;
    const bool stops = busy_ && stop && !ends_;
    if (dma_gives_up) {
        const unsigned bytes = far_bytes();
        if (job_.sends) held_ -= bytes;
        far_ += bytes;
        far_left_ -= bytes;
        flying_ = true;
    }
    if (stops) ends_ = stopped_ = true;
    if (dma_over) ends_ = timeout_ = true;
    if (ended) busy_ = 0;
    if (starts) {
        job_ = entries_.front();
        entries_.pop();
        near_ = job_.near;
        far_ = job_.far;
        near_left_ = far_left_ = job_.length;
        busy_ = 1;
        ends_ = timeout_ = stopped_ = false;
        held_ = 0;
    }
    enter(write);
    if (stop || cut) entries_.clear();
    return raised;
}

// What software writes.
void VmeMaster::enter(const Write& write) {
    switch (write.address) {
        case reg::VD_ADDRESS: address = write.data & ADDRESS_MASK; break;
        case reg::VD_REMOTE: remote_ = write.data; break;
        case reg::VD_THRESHOLD: threshold_ = write.data & reg::VD_THRESHOLD_BYTES; break;
        case reg::VME_WINDOW: window_ = write.data & (reg::VME_WINDOW_MODIFIER | reg::VME_WINDOW_PAGE); break;
        case reg::VD_SEND:
        case reg::VD_FETCH:
            entries_.push({address, remote_, write.data & reg::VD_SEND_LENGTH, (write.data & reg::VD_SEND_HALF) != 0,
                           write.address == reg::VD_SEND, (write.data & reg::VD_SEND_NOTIFY) != 0});
            break;
        default: break;
    }
}

bool VmeMaster::has(std::uint32_t address, bool to_write) {
    switch (address) {
        case reg::VD_ADDRESS:
        case reg::VD_REMOTE:
        case reg::VD_THRESHOLD:
        case reg::VD_RESULT:
        case reg::VME_WINDOW: return true;
        case reg::VD_STATUS:
        case reg::VD_PROGRESS: return !to_write;
        case reg::VD_SEND:
        case reg::VD_FETCH:
        case reg::VD_CONTROL: return to_write;
        default: return false;
    }
}

std::uint32_t VmeMaster::load(std::uint32_t from) const {
    switch (from) {
        case reg::VD_ADDRESS: return address;
        case reg::VD_REMOTE: return remote_;
        case reg::VD_THRESHOLD: return threshold_;
        case reg::VD_RESULT: return result_;
        case reg::VME_WINDOW: return window_;
        case reg::VD_STATUS:
            return put(reg::VD_STATUS_FREE, cab::VME_LIST_DEPTH - entries_.level()) |
                   put(reg::VD_STATUS_BUSY, busy_) | put(reg::VD_STATUS_DONE, done_);
        default: return 0;  // of VD_PROGRESS: nothing arrives
    }
}

}  // namespace nectar::fast

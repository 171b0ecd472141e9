#include "cab_vme_master.h"

#include <algorithm>

namespace nectar::fast {

namespace {

// Cycles from the lines to the strobes.
constexpr unsigned BEFORE = 1;
// Cycles in which a grant that goes on is not seen yet, as bits.
constexpr unsigned SEEN_AFTER = 3;

// A halfword lies on the lower lines.
constexpr std::uint32_t twice(std::uint32_t half) { return (half & 0xFFFF) * 0x10001; }

}  // namespace

void VmeRequester::edge(const VmeLines& seen, std::uint8_t bgin_n, bool wanted, VmeDriven& driven) {
    const bool granted = !(seen.bgin_n & OURS);
    const bool passes = state_ == State::IDLE && !(unseen_ & 1) && !onward_seen_;
    onward_seen_ = onward_first_;
    onward_first_ = onward_;
    onward_ = (onward_ || (passes && granted)) && !(bgin_n & OURS);
    switch (state_) {
        case State::IDLE:
            unseen_ >>= 1;
            if (!passes) break;
            if (granted) {
                unseen_ = SEEN_AFTER;
            } else if (wanted) {
                driven.br = OURS;
                state_ = State::REQUEST;
            }
            break;
        case State::REQUEST:
            if (!granted) break;
            driven.bbsy = 1;
            state_ = State::TAKE;
            break;
        case State::TAKE:
            driven.br = 0;
            if (granted) break;
            owner_ = true;
            state_ = State::OWN;
            break;
        case State::OWN:
            if (wanted || seen.br_n == 0xF) break;
            owner_ = false;
            driven.bbsy = 0;
            state_ = State::IDLE;
            break;
    }
}

void VmeMaster::reset() { *this = VmeMaster{}; }

// Bytes of the next access to data memory. What an entry that was cut short has fetched is stored.
unsigned VmeMaster::near_count() const {
    const std::uint32_t most = ends_ && !job_.sends ? align_.level() : near_left_;
    return std::min(most, WORD - near_ % WORD);
}

// Bytes of the next transfer.
unsigned VmeMaster::far_bytes() const {
    if (far_ % 4 == 0 && far_left_ >= 4 && !job_.half) return 4;
    return far_ % 2 == 0 && far_left_ >= 2 ? 2 : 1;
}

// What the DMA channel asks of the bus.
VmeMaster::Ask VmeMaster::dma_ask() const {
    const unsigned bytes = far_bytes(), largest = job_.half ? 2 : 4;
    const bool is_block = (job_.modifier & AM_KIND) == AM_BLOCK;
    const bool blocks = is_block && bytes == largest;
    const unsigned room = align_.level() + (flying_ ? flying_bytes_ : 0) + bytes;
    Ask ask{};
    ask.valid = busy_ && !ends_ && far_left_ && (job_.sends ? align_.level() >= bytes : room <= Align::HELD);
    ask.first = !inside_;
    ask.last = !blocks || far_left_ < bytes + largest || (far_ + bytes) % vme::BLOCK_BYTES == 0;
    ask.write = job_.sends;
    ask.finish = ends_;
    ask.modifier = is_block && !blocks ? (job_.modifier & ~AM_KIND) | AM_DATA : job_.modifier;
    ask.bytes = bytes;
    ask.address = far_;
    ask.data = align_.word(far_ % WORD);
    return ask;
}

// Whether the access of the CPU that waits can be a transfer: a byte, an aligned halfword, a word.
bool VmeMaster::window_possible() const {
    const std::uint8_t select = parked_request_.select;
    const bool is_byte = select && !(select & (select - 1));
    return (is_byte || select == 0xF || select == 0xC || select == 0x3) && (window_ & AM_KIND) != AM_BLOCK;
}

VmeMaster::Ask VmeMaster::window_ask() const {
    const std::uint8_t select = parked_request_.select;
    unsigned lane = 0, bytes = 0;
    for (unsigned n = 0; n < WORD; ++n) {
        if (!(select >> n & 1)) continue;
        lane = WORD - 1 - n;  // of the highest bit that is set
        ++bytes;
    }
    Ask ask{};
    ask.valid = parked_ && window_possible() && !taken_;
    ask.first = ask.last = true;
    ask.write = parked_request_.write;
    ask.modifier = get(reg::VME_WINDOW_MODIFIER, window_);
    ask.bytes = bytes;
    ask.address = (window_ & reg::VME_WINDOW_PAGE) | (parked_request_.address & ~reg::VME_WINDOW_PAGE & ~3u) | lane;
    ask.data = parked_request_.data;
    return ask;
}

void VmeMaster::park(const BusRequest& request) {
    parked_ = true;
    parked_request_ = request;
}

// Who has, or gets, the bus: each in turn, cycle by cycle.
VmeMaster::Asker VmeMaster::chosen(const Ask& dma, const Ask& window) const {
    if (held_) return turn_;
    return (turn_ == Asker::DMA ? window.valid : !dma.valid) ? Asker::WINDOW : Asker::DMA;
}

void VmeMaster::share(const Ask& ask, Asker who, bool over, bool ready) {
    if ((over && (last_asked_ || berr_ || timeout_)) || (held_ && !flies_ && ask.finish && !ask.valid)) held_ = false;
    if (over) flies_ = false;
    if (!ready) return;
    held_ = flies_ = true;
    turn_ = who;
    last_asked_ = ask.last;
}

// The last transfer of a cycle is over.
void VmeMaster::end() {
    driven_.as_n = 1;
    state_ = State::END;
}

// Whether the lines are free for the first transfer of a cycle.
bool VmeMaster::may_begin(const VmeLines& seen) const { return requester_.owns() && seen.as_n && seen.free(); }

// Whether the transfer that is asked for is taken in this cycle. One that has waited too long is taken, too, and fails.
bool VmeMaster::takes(const Ask& ask, const VmeLines& seen) const {
    if (!ask.valid) return false;
    return state_ == State::BETWEEN || (state_ == State::IDLE && ask.first && (may_begin(seen) || left_ == 0));
}

// A cycle of the clock for the transfer that is asked for, or under way.
void VmeMaster::transfer(const Ask& ask, const VmeLines& seen, std::uint32_t data) {
    const State state = state_;
    const bool strobed = state == State::TRANSFER;
    bool waits = false, done = false;
    switch (state) {
        case State::IDLE:
            if (!ask.valid || !ask.first) break;
            if (may_begin(seen)) {
                driven_.drive = 1;
                state_ = State::ADDRESS;
            } else if (left_ == 0) {
                done = true;
                state_ = State::GIVE;
            } else {
                waits = true;
            }
            break;
        case State::ADDRESS:
            if (setup_) break;
            driven_.as_n = 0;
            state_ = State::STROBE;
            break;
        case State::STROBE:
            if (!setup_ && seen.free()) {
                driven_.ds_n = 3 & ~strobe_;
                state_ = State::TRANSFER;
            } else if (left_ == 0) {
                done = true;
                end();
            } else {
                waits = true;
            }
            break;
        case State::TRANSFER:
            if (!seen.free() || left_ == 0) {
                driven_.ds_n = 3;
                done = true;
                if (last_ || seen.free() || !seen.berr_n) {
                    end();
                } else {
                    state_ = State::BETWEEN;
                }
            } else {
                waits = true;
            }
            break;
        case State::BETWEEN:
            if (ask.valid) {
                state_ = State::STROBE;
            } else if (ask.finish) {
                end();
            }
            break;
        case State::END:
            // The lines hold for a cycle after the strobes.
            waits = true;
            driven_.drive = 0;
            if (seen.free() || left_ == 0) state_ = State::GIVE;
            break;
        case State::GIVE: state_ = State::IDLE; break;
    }
    const bool rests = state == State::IDLE || state == State::GIVE;
    left_ = waits ? left_ - 1 : (rests ? GRANT : TIMEOUT) - 1;
    done_ = done;
    berr_ = strobed && !seen.berr_n;
    timeout_ = !(strobed && !seen.free());
    read_data_ = wide_ ? data : twice(data);
    if (state == State::IDLE) {
        driven_.address = ask.address >> 1;
        driven_.am = ask.modifier;
        driven_.lword_n = ask.bytes != 4;
        driven_.write_n = !ask.write;
    }
    if (state == State::IDLE || state == State::BETWEEN) {
        strobe_ = ask.bytes != 1 ? 3 : ask.address & 1 ? 1 : 2;
        wide_ = ask.bytes == 4;
        last_ = ask.last;
        driven_.data = wide_ ? ask.data : ask.address & 2 ? ask.data & 0xFFFF : ask.data >> 16;
        setup_ = BEFORE;
    } else if (setup_) {
        --setup_;
    }
}

// What has come of the CPU's access. `over`: its transfer has ended.
void VmeMaster::answer_window(bool over, bool ready) {
    const bool possible = window_possible();
    answers_ = parked_ && (!possible || (taken_ && over));
    window_failed_ = !possible || berr_ || timeout_;
    window_data_ = window_failed_ || parked_request_.write ? 0 : read_data_;
    if (answers_) parked_ = false;
    taken_ = ready || (taken_ && !over);
}

// The DMA channel. `over`: its transfer has ended; `ready`: what it asks for is taken.
std::uint32_t VmeMaster::work(const Write& write, bool over, const Ask& ask, bool ready, bool given,
                              std::uint32_t word) {
    std::uint32_t raised = 0;
    const bool stop = write.address == reg::VD_CONTROL && write.data & reg::VD_CONTROL_STOP;
    const bool all = job_.sends ? !far_left_ || ends_ : !align_.level() && (!near_left_ || ends_);
    const bool ended = busy_ && !flying_ && all;
    const bool cut = ended && (cut_berr_ || cut_timeout_ || stopped_);
    const bool starts = entries_.level() && !busy_ && !stop;
    const bool failed = cut || (stop && (!busy_ || ended) && entries_.level());
    if (ended && !cut && job_.notifies) {
        ++counted_;
        raised |= irq::VME_DONE;
    }
    if (arrived_before_ < threshold_ && arrived_ >= threshold_) raised |= irq::VME_THRESHOLD;
    arrived_before_ = arrived_;
    if (failed) {
        raised |= irq::VME_ERROR;
        result_ = put(reg::VD_RESULT_BERR, ended && cut_berr_) | put(reg::VD_RESULT_TIMEOUT, ended && cut_timeout_) |
                  put(reg::VD_RESULT_STOPPED, !cut || stopped_);
    } else if (write.address == reg::VD_RESULT) {
        result_ = 0;
    }
    const bool stops = busy_ && stop && !ends_;
    const bool bad = berr_ || timeout_;
    move(over && !bad, ask, ready, given, word);
    if (stops) ends_ = stopped_ = true;
    if (over && bad) {
        ends_ = true;
        cut_berr_ = berr_;
        cut_timeout_ = timeout_;
    }
    if (over && !ready) flying_ = false;
    if (ended) busy_ = 0;
    if (starts) start();
    enter(write);
    if (stop || cut) entries_.clear();
    return raised;
}

// Bytes of the entry at work. `good`: a transfer has ended well.
void VmeMaster::move(bool good, const Ask& ask, bool ready, bool given, std::uint32_t word) {
    const unsigned count = near_count();
    const bool read = given && job_.sends, written = given && !job_.sends;
    const unsigned first = near_ % WORD;
    if (job_.sends) {
        if (ready) align_.get(ask.bytes);
        if (reading_) align_.put(read_word_, read_first_, read_count_);
        if (good) arrived_ += flying_bytes_;
    } else {
        if (written) align_.get(count);
        if (good) align_.put(read_data_, flying_first_, flying_bytes_);
        if (written) arrived_ += count;
    }
    reading_ = read;
    read_word_ = word;
    read_first_ = first;
    read_count_ = count;
    if (given) {
        near_ = (near_ + count) % region::DATA_BYTES;
        near_left_ -= count;
    }
    if (!ready) return;
    flying_bytes_ = ask.bytes;
    flying_first_ = far_ % WORD;
    flying_ = true;
    inside_ = !ask.last;
    far_ += ask.bytes;
    far_left_ -= ask.bytes;
}

// The next entry of the list.
void VmeMaster::start() {
    job_ = entries_.front();
    entries_.pop();
    near_ = job_.near;
    far_ = job_.far;
    near_left_ = far_left_ = job_.length;
    busy_ = 1;
    ends_ = stopped_ = cut_berr_ = cut_timeout_ = inside_ = false;
    arrived_ = 0;
    align_.clear();
}

std::uint32_t VmeMaster::edge(const Write& write, const VmeLines& seen, std::uint8_t bgin_n, std::uint32_t data,
                              bool given, std::uint32_t word) {
    // Nothing to do, nothing to answer.
    if (!busy_ && !parked_ && state_ == State::IDLE && !done_ && requester_.rests() && seen.bgin_n == 0xF &&
        bgin_n == 0xF && !entries_.level() && left_ == GRANT - 1) {
        answers_ = false;
        return work(write, false, {}, false, false, 0);
    }
    const Ask dma = dma_ask(), window = window_ask();
    const Asker who = chosen(dma, window);
    const Ask& ask = who == Asker::DMA ? dma : window;
    const bool over = done_ && held_;
    const Asker whose = turn_;
    const bool wanted = state_ == State::IDLE ? ask.valid && ask.first : state_ != State::GIVE;
    // What is told of a transfer is there for one cycle: whoever it is told to looks before transfer().
    const bool ready = takes(ask, seen);
    share(ask, who, done_, ready);
    answer_window(over && whose == Asker::WINDOW, ready && who == Asker::WINDOW);
    const std::uint32_t raised =
        work(write, over && whose == Asker::DMA, dma, ready && who == Asker::DMA, given, word);
    transfer(ask, seen, data);
    requester_.edge(seen, bgin_n, wanted, driven_);
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
            entries_.push({address % region::DATA_BYTES, remote_, write.data & reg::VD_SEND_LENGTH,
                           static_cast<std::uint8_t>(get(reg::VD_SEND_MODIFIER, write.data)),
                           (write.data & reg::VD_SEND_HALF) != 0, write.address == reg::VD_SEND,
                           (write.data & reg::VD_SEND_NOTIFY) != 0});
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
                   put(reg::VD_STATUS_BUSY, busy_) | put(reg::VD_STATUS_OWNER, requester_.owns()) |
                   put(reg::VD_STATUS_DONE, counted_);
        case reg::VD_PROGRESS: return arrived_;
        default: return 0;
    }
}

}  // namespace nectar::fast

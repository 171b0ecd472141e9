#include "cab_in.h"

namespace nectar::fast {

namespace {

constexpr int START = static_cast<int>(Control::START), END = static_cast<int>(Control::END);

}  // namespace

void FiberIn::reset() {
    *this = FiberIn{};
}

std::uint32_t FiberIn::result() const {
    if (!received_) return 0;
    return put(reg::RX_RESULT_LENGTH, stored_) | put(reg::RX_RESULT_HEADER, header_count_) |
           put(reg::RX_RESULT_CRC_BAD, crc_bad_) | put(reg::RX_RESULT_TOO_LONG, too_long_) |
           put(reg::RX_RESULT_FRAMING, framing_) | put(reg::RX_RESULT_DISCARDED, discarded_);
}

std::uint32_t FiberIn::status() const {
    const bool within = state_ == State::HEADER || state_ == State::WAIT || state_ == State::BODY;
    return put(reg::RX_STATUS_LEVEL, level) | put(reg::RX_STATUS_OPEN, within && !ended_) |
           put(reg::RX_STATUS_DMA, state_ == State::BODY && !discarded_) | put(reg::RX_STATUS_AREAS, scatter.free());
}

std::uint32_t FiberIn::oldest() const {
    if (!input()) return 0;
    const std::uint16_t entry = ring_[head_ % RING];
    return put(reg::RX_QUEUE_VALID, 1) | put(reg::RX_QUEUE_SYMBOL, entry & 0x1FF) |
           put(reg::RX_QUEUE_LOST, (entry & LOST) != 0);
}

std::uint32_t FiberIn::change(const Write& write, std::uint32_t read, bool stored, int symbol, Errors& errors) {
    std::uint32_t raised = 0;
    const std::uint32_t almost = almost_, tail = tail_;
    const bool full = replies_.full();
    if (read == reg::REPLY && replies_.level()) replies_.pop();
    receive(write, read, stored, errors, raised);
    if (symbol_ >= 0) sort(full, errors, raised);
    visible_ = almost;
    almost_ = tail;
    if (write.address == reg::RX_CONTROL && write.data & reg::RX_CONTROL_RESET) {
        head_ = visible_ = almost_ = tail_;
        marks_ = 0;
        lost_ = false;
    }
    enter(write);
    look_ahead(symbol);
    return raised;
}

// change() for a packet that waits or is being stored, while is_stream().
std::uint32_t FiberIn::stream(bool stored, int symbol) {
    std::uint32_t raised = 0;
    const std::uint32_t almost = almost_, tail = tail_;
    int byte = -1;
    if (state_ == State::BODY) {
        const bool leaves = front_valid_ && writer.ready(stored);
        if (leaves) {
            byte = front_;
            if (++stored_ == threshold) raised = irq::RX_THRESHOLD;
        }
        const bool takes = !spare_valid_ && head_ != visible_;
        pass_on(takes ? emerge(ring_[head_++ % RING]) : -1, leaves);
    }
    writer.edge(stored, byte, nullptr, false, false);
    if (symbol_ >= 0) {
        ++count_;
        ring_[tail_++ % RING] = static_cast<std::uint16_t>(symbol_);
    }
    visible_ = almost;
    almost_ = tail;
    look_ahead(symbol);
    return raised;
}

// The cycle ends; `symbol` arrives.
void FiberIn::look_ahead(int symbol) {
    level = static_cast<std::uint16_t>(tail_ - head_);
    symbol_ = symbol;
    idle = symbol_ < 0 && !moves() && !writer_moves() && !scatter.moves() && (!level || head_ != visible_);
    rests_ = idle && visible_ == tail_;
}

// What software writes.
void FiberIn::enter(const Write& write) {
    switch (write.address) {
        case reg::RX_ADDRESS: scatter.address = write.data & ((1u << cab::ADDRESS_BITS) - 1); break;
        case reg::RX_AREA: scatter.add(write.data & reg::RX_AREA_LENGTH); break;
        case reg::RX_START: scatter.start(write.data & reg::RX_START_LIMIT); break;
        case reg::RX_THRESHOLD: threshold = write.data & reg::RX_THRESHOLD_BYTES; break;
        case reg::RX_MODE:
            mode = write.data & (reg::RX_MODE_CHECK | reg::RX_MODE_DIRECT | reg::RX_MODE_SKIP);
            break;
        default: break;
    }
}

// Who gets the symbol that has arrived. A reply may stand inside a command.
void FiberIn::sort(bool replies_full, Errors& errors, std::uint32_t& raised) {
    const auto symbol = static_cast<std::uint16_t>(symbol_);
    const auto control = static_cast<Control>(symbol);
    if (control == Control::IDLE) return;
    ++count_;
    if (!(symbol & CONTROL_BIT)) {
        if (reply_left_) {
            reply_word_ = (reply_word_ << 8 | symbol) & 0xFFFFFF;
            if (--reply_left_ == 0) {
                if (replies_full) {
                    ++errors.reply_lost;
                } else {
                    replies_.push(reply_word_);
                }
            }
        } else if (command_left_) {
            --command_left_;
        } else {
            push(symbol, errors);
        }
        return;
    }
    if (control == Control::READY) return;
    if (reply_left_) ++errors.framing;
    reply_left_ = 0;
    switch (control) {
        case Control::REPLY: reply_left_ = COMMAND_LENGTH - 1; break;
        case Control::COMMAND:
            if (command_left_) ++errors.framing;
            command_left_ = COMMAND_LENGTH - 1;
            break;
        case Control::START: raised |= irq::START; [[fallthrough]];
        case Control::END:
            if (command_left_) ++errors.framing;
            command_left_ = 0;
            push(symbol, errors);
            break;
        default: ++errors.stray;
    }
}

// Into the input queue, as full as it was at the cycle's begin.
void FiberIn::push(std::uint16_t symbol, Errors& errors) {
    if (level == QUEUE_SYMBOLS) {
        ++errors.overrun;
        lost_ = true;
        return;
    }
    const auto entry = static_cast<std::uint16_t>(symbol | (lost_ ? LOST : 0));
    ring_[tail_++ % RING] = entry;
    marks_ += entry >= CONTROL_BIT;
    lost_ = false;
}

// The head leaves the queue.
void FiberIn::leave() { marks_ -= ring_[head_++ % RING] >= CONTROL_BIT; }

// The head of the queue, the packet, and what is stored of it.
void FiberIn::receive(const Write& write, std::uint32_t read, bool stored, Errors& errors, std::uint32_t& raised) {
    const bool control = write.address == reg::RX_CONTROL;
    const bool discards = control && write.data & reg::RX_CONTROL_DISCARD && (waits() || state_ == State::BODY);
    const bool reset = control && write.data & reg::RX_CONTROL_RESET;
    const bool area = scatter.valid();
    const bool flush = state_ == State::FINISH;
    const State before = state_;
    const bool drained = flush && writer.empty();
    const bool body_empty = !front_valid_;

    int byte = -1;
    bool leaves = discarded_;
    if (front_valid_ && !discarded_) {
        if (writer.ready(stored)) {
            byte = front_;
            leaves = true;
            if (++stored_ == threshold) raised |= irq::RX_THRESHOLD;
        } else if (writer.exhausted(area)) {
            too_long_ = leaves = true;
        }
    }

    int emerged = -1;
    switch (state_) {
        case State::CLOSED: closed(read, errors); break;
        case State::HEADER: emerged = take(errors); break;
        case State::WAIT: break;
        case State::BODY:
            if (!ended_ && !spare_valid_) emerged = take(errors);
            break;
        case State::FINISH: break;
    }
    if (before == State::HEADER) {
        if (emerged >= 0) {
            header_[header_count_ / 4] |= static_cast<std::uint32_t>(emerged) << (24 - 8 * (header_count_ % 4));
            ++header_count_;
        }
        if (ended_ || header_count_ == cab::HEADER_BYTES) state_ = State::WAIT;
    } else if (before == State::WAIT) {
        if (write.address == reg::RX_START || discards) state_ = State::BODY;
    } else if (before == State::BODY) {
        pass_on(emerged, leaves);
        if (ended_ && body_empty) state_ = State::FINISH;
    }
    if (discards) discarded_ = true;

    const bool over = drained || reset;
    const Place place = scatter.front();
    const bool takes_area = area && writer.wants_area();
    writer.edge(stored, byte, takes_area ? &place : nullptr, flush, over);
    scatter.edge(takes_area, over);
    if (drained) {
        state_ = State::CLOSED;
        received_ = !reset;
    } else if (write.address == reg::RX_RELEASE) {
        received_ = false;
    }
    if (reset) {
        state_ = State::CLOSED;
        in_run_ = front_valid_ = spare_valid_ = false;
    }
}

// The bytes on the way to the areas: one comes if `emerged` is none less than 0, the first one goes if `leaves`.
void FiberIn::pass_on(int emerged, bool leaves) {
    if (!front_valid_ || leaves) {
        front_ = spare_valid_ ? spare_ : static_cast<std::uint8_t>(emerged);
        front_valid_ = spare_valid_ || emerged >= 0;
        spare_valid_ = false;
    } else if (emerged >= 0) {
        spare_ = static_cast<std::uint8_t>(emerged);
        spare_valid_ = true;
    }
}

// No packet is open: the symbol at the head is software's, opens one, or is dropped.
void FiberIn::closed(std::uint32_t read, Errors& errors) {
    if (head_ == visible_) return;
    if (mode & reg::RX_MODE_DIRECT) {
        if (read == reg::RX_QUEUE) leave();
        return;
    }
    if ((ring_[head_ % RING] & 0x1FF) != START) {
        if (!in_run_) ++errors.stray;
        in_run_ = true;
        leave();
    } else if (!received_) {
        leave();
        open();
    }
}

void FiberIn::open() {
    state_ = State::HEADER;
    ended_ = in_run_ = crc_bad_ = too_long_ = framing_ = discarded_ = false;
    check_ = mode & reg::RX_MODE_CHECK;
    skip_ = get(reg::RX_MODE_SKIP, mode);
    for (std::uint32_t& word : header_) word = 0;
    header_count_ = held_count_ = stored_ = 0;
    crc_.begin();
    sum_.begin();
}

// Takes the packet's next symbol. Returns the byte that comes out behind those that may be the checksum; -1: none does.
int FiberIn::take(Errors& errors) {
    if (head_ == visible_) return -1;
    const std::uint16_t entry = ring_[head_ % RING];
    const int symbol = entry & 0x1FF;
    if (symbol == START) {
        ++errors.framing;
        framing_ = true;
        end();
        return -1;
    }
    leave();
    if (entry & LOST) framing_ = true;
    if (symbol == END) {
        end();
        return -1;
    }
    return emerge(symbol);
}

// A byte of the packet comes out of the queue. Returns the one that comes out behind those that may be the checksum;
// -1: none does.
int FiberIn::emerge(int symbol) {
    const int bytes = CHECK_BYTES[check_];
    int byte = symbol;
    if (bytes) {
        byte = held_ >> 8 * (bytes - 1) & 0xFF;
        held_ = held_ << 8 | static_cast<std::uint32_t>(symbol);
        if (held_count_ < bytes) {
            ++held_count_;
            return -1;
        }
    }
    crc_.add(static_cast<std::uint8_t>(byte));
    if (header_count_ >= skip_) sum_.add(static_cast<std::uint8_t>(byte));
    return byte;
}

// The packet has ended: is its checksum right?
void FiberIn::end() {
    ended_ = true;
    const int bytes = CHECK_BYTES[check_];
    crc_bad_ = held_count_ < bytes || (check_ == cab::CRC32 && held_ != crc_.value()) ||
               (check_ == cab::INTERNET && (held_ & 0xFFFF) != sum_.value());
}

// Whether anything is going on at the head of the queue and behind it.
bool FiberIn::moves() const {
    const bool head = head_ != visible_;
    switch (state_) {
        case State::CLOSED:
            return head && !(mode & reg::RX_MODE_DIRECT) && !((ring_[head_ % RING] & 0x1FF) == START && received_);
        case State::HEADER: return head;
        case State::WAIT: return false;
        case State::BODY: return (head && !ended_ && !spare_valid_) || front_valid_ || ended_;
        default: return true;
    }
}

bool FiberIn::writer_moves() const {
    return writer.moves(scatter.valid(), front_valid_ && !discarded_, state_ == State::FINISH);
}

}  // namespace nectar::fast

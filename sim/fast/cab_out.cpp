#include "cab_out.h"

namespace nectar::fast {

bool FiberOut::rests() const {
    if (stops_ || state_ == State::PASS_ON || fetches() || unsent_ || !output_empty() || taken_) return false;
    if (state_ == State::NEXT && entries_.level()) {
        if (has_bytes(entries_.front()) || items_.level() < AHEAD) return false;
    }
    return waiting() || !(item_valid_ || items_.level());
}

std::uint32_t FiberOut::status() const {
    const bool begun = item_.command && item_.lanes && !item_.prefix && item_valid_;
    const bool emits = stops_ ? packet_open_ || begun : item_valid_;
    const bool busy = (!stops_ && (working || items_.level())) || emits || !output_empty();
    return put(reg::TX_STATUS_FREE, cab::TX_LIST_DEPTH - entries_.level()) | put(reg::TX_STATUS_BUSY, busy) |
           put(reg::TX_STATUS_READY, ready_) | put(reg::TX_STATUS_WAITING, waiting()) |
           put(reg::TX_STATUS_SENT, sent_);
}

void FiberOut::reset() {
    *this = FiberOut{};
}

std::uint32_t FiberOut::change(const Write& write, const std::uint32_t* memory, bool fetched, bool fiber_ready,
                               bool ready_signal) {
    std::uint32_t raised = 0;
    if (left_) {
        ++sent_;
        raised = irq::SENT;
    }
    taken_count_ += taken_;
    const bool start_left = start_left_;

    // Ready signals go first. What is ahead may be filled if there was a place as the cycle began.
    Outgoing pushed{};
    const bool sends_ready = unsent_ && !spare_valid_ && !stops_;
    const bool ahead = items_.level() < AHEAD;
    bool push = emit(pushed, raised);
    if (sends_ready) {
        pushed = {static_cast<std::uint16_t>(Control::READY), false, false};
        push = true;
    }
    if (write.address == reg::TX_READY) {
        if (!sends_ready && unsent_ != READY_LIMIT) ++unsent_;
    } else if (sends_ready) {
        --unsent_;
    }
    if (stops_) {
        items_.clear();
        special_ = lined_up_ = 0;
        state_ = State::NEXT;
    } else {
        gather(memory, fetched, ahead);
    }
    enter(write);
    leave(pushed, push, fiber_ready);
    if (start_left) {
        ready_ = false;
    } else if (ready_signal || (write.address == reg::TX_CONTROL && write.data & reg::TX_CONTROL_SET_READY)) {
        ready_ = true;
    }
    working = state_ != State::NEXT;
    idle = rests();
    streams_ = is_stream();
    return raised;
}

// Whether the next edges do what stream() does, if no software writes and no ready signal arrives.
bool FiberOut::is_stream() const {
    const bool bytes = item_valid_ && item_.lanes && !(item_.prefix | item_.command | item_.crc | item_.end);
    const bool told = item_.notify | left_ | front_.notify | spare_.notify;
    const bool starts = start_left_ | front_.start | spare_.start;
    return bytes && !told && !starts && !unsent_ && !stops_;
}

// change() where bytes of an area follow each other.
std::uint32_t FiberOut::stream(const std::uint32_t* memory, bool fetched, bool fiber_ready) {
    std::uint32_t raised = 0;
    taken_count_ += taken_;
    const bool ahead = items_.level() < AHEAD;
    const bool push = !spare_valid_;
    Outgoing pushed{};
    if (push) {
        const auto byte = static_cast<std::uint8_t>(item_.word >> (24 - 8 * item_.first));
        pushed.symbol = byte;
        crc_.add(byte);
        sum_.add(byte);
        if (++progress_ == threshold) raised = irq::TX_THRESHOLD;
        progress_ &= LENGTH_MASK;
        if (item_.first++ == item_.last) {
            next_item();
            streams_ = is_stream();
        }
    }
    gather(memory, fetched, ahead);
    leave(pushed, push, fiber_ready);
    working = state_ != State::NEXT;
    return raised;
}

// What software writes.
void FiberOut::enter(const Write& write) {
    stops_ = false;
    switch (write.address) {
        case reg::TX_CONTROL:
            stops_ = write.data & reg::TX_CONTROL_RESET;
            if (stops_) entries_.clear();
            break;
        case reg::TX_COMMAND: entries_.push({Kind::COMMAND, write.data, 0}); break;
        case reg::TX_SYMBOL: entries_.push({Kind::SYMBOL, write.data & reg::TX_SYMBOL_SYMBOL, 0}); break;
        case reg::TX_AREA: entries_.push({Kind::AREA, write.data, address - region::DATA}); break;
        case reg::TX_ADDRESS: address = write.data & ADDRESS_MASK; break;
        case reg::TX_THRESHOLD: threshold = write.data & reg::TX_THRESHOLD_BYTES; break;
        default: break;
    }
}

// The symbols that wait for the fiber; one more if `push`, which is when there is room.
void FiberOut::leave(const Outgoing& pushed, bool push, bool fiber_ready) {
    taken_ = front_valid_ && fiber_ready;
    left_ = taken_ && front_.notify;
    start_left_ = taken_ && front_.start;
    if (fiber_ready || !front_valid_) {
        front_valid_ = spare_valid_ || push;
        front_ = spare_valid_ ? spare_ : pushed;
        spare_valid_ = false;
    } else if (push) {
        spare_ = pushed;
        spare_valid_ = true;
    }
    valid = front_valid_;
    payload = front_.symbol;
}

// Whether a symbol of the item at work leaves it in this cycle; and what becomes of the item.
bool FiberOut::emit(Outgoing& pushed, std::uint32_t& raised) {
    if (stops_) {
        stop_item();
        return false;
    }
    bool done = !item_valid_;
    bool sends = item_valid_ && !spare_valid_ && !unsent_ && (!item_.wait_ready || may_go());
    if (item_valid_ && !(item_.prefix || item_.lanes || item_.crc || item_.end)) {
        // Nothing to send: to be told of once all before it has left.
        sends = false;
        done = !item_.notify || output_empty();
        if (done && item_.notify) {
            ++sent_;
            raised |= irq::SENT;
        }
    }
    if (sends) done = send(pushed, raised);
    if (done) next_item();
    return sends;
}

void FiberOut::next_item() {
    item_valid_ = items_.level() != 0;
    if (item_valid_) {
        item_ = items_.front();
        items_.pop();
        special_ -= !item_.is_plain();
        lined_up_ -= item_.symbols();
    }
    byte_number_ = 0;
}

// The item's next symbol. Returns whether that is its last.
bool FiberOut::send(Outgoing& pushed, std::uint32_t& raised) {
    bool is_data = true;
    std::uint16_t own;
    if (item_.prefix) {
        own = item_.symbol;
        is_data = !(own & CONTROL_BIT) && !item_.command;
        item_.prefix = item_.wait_ready = false;
    } else if (item_.lanes) {
        own = item_.word >> (24 - 8 * item_.first) & 0xFF;
        is_data = !item_.command;
        item_.lanes = item_.first++ != item_.last;
    } else if (item_.crc) {
        if (byte_number_ == 0) checksum_ = item_.internet ? std::uint32_t{sum_.value()} << 16 : crc_.value();
        own = checksum_ >> 24;
        checksum_ <<= 8;
        item_.crc = ++byte_number_ != (item_.internet ? 2 : cab::CRC_BYTES);
    } else {
        own = static_cast<std::uint16_t>(Control::END);
        is_data = item_.end = false;
    }
    const bool last = !(item_.lanes || item_.crc || item_.end);
    const bool starts = own == static_cast<std::uint16_t>(Control::START);
    pushed = {own, item_.notify && last, starts};
    if (starts) {
        crc_.begin();
        sum_.begin();
        progress_ = 0;
        packet_open_ = true;
    } else if (is_data) {
        crc_.add(static_cast<std::uint8_t>(own));
        sum_.add(static_cast<std::uint8_t>(own));
        if (++progress_ == threshold) raised |= irq::TX_THRESHOLD;
        progress_ &= LENGTH_MASK;
    } else if (own == static_cast<std::uint16_t>(Control::END)) {
        packet_open_ = false;
    }
    return last;
}

// Behind a stop: the rest of the command that has begun, and the end of the packet that is open.
void FiberOut::stop_item() {
    const bool begun = item_valid_ && item_.command && item_.lanes && !item_.prefix;
    item_valid_ = packet_open_ || begun;
    item_.wait_ready = item_.prefix = item_.crc = item_.notify = false;
    item_.lanes = begun;
    item_.end = packet_open_;
}

// An entry is begun, or a word of its area passed on.
void FiberOut::gather(const std::uint32_t* memory, bool fetched, bool ahead) {
    switch (state_) {
        case State::NEXT:
            if (entries_.level() && (ahead || has_bytes(entries_.front()))) {
                const Entry entry = entries_.front();
                entries_.pop();
                begin(entry);
            }
            break;
        case State::READ:
            if (fetched) {
                word_ = memory[address_ / 4];
                state_ = State::PASS_ON;
            }
            break;
        case State::PASS_ON: {
            const unsigned first = address_ & 3;
            const unsigned reach = first + remaining_;
            const bool final = reach <= 4;
            Item item{};
            item.word = word_;
            item.lanes = true;
            item.last = 3;
            if (!first && reach > 4 && !(flags_ & reg::TX_AREA_START)) {
                // Most words: 4 % of the instructions that send a packet.
                line_up(item);
                remaining_ -= 4;
                address_ += 4;
                state_ = State::READ;
                break;
            }
            item.symbol = static_cast<std::uint16_t>(Control::START);
            item.prefix = flags_ & reg::TX_AREA_START;
            item.first = static_cast<std::uint8_t>(first);
            if (final) item.last = static_cast<std::uint8_t>(reach - 1);
            item.internet = flags_ & reg::TX_AREA_INTERNET;
            if (final) {
                item.crc = flags_ & reg::TX_AREA_CRC;
                item.end = flags_ & reg::TX_AREA_END;
                item.notify = flags_ & reg::TX_AREA_NOTIFY;
            }
            line_up(item);
            flags_ &= ~reg::TX_AREA_START;
            remaining_ -= 4 - first;
            address_ += 4 - first;
            state_ = final ? State::NEXT : State::READ;
            break;
        }
    }
}

void FiberOut::begin(const Entry& entry) {
    if (has_bytes(entry)) {
        remaining_ = entry.value & reg::TX_AREA_LENGTH;
        address_ = entry.address;
        flags_ = entry.value;
        state_ = State::READ;
    } else {
        line_up(item_of(entry));
    }
}

// What an entry without bytes puts on the fiber.
FiberOut::Item FiberOut::item_of(const Entry& entry) {
    Item item{};
    switch (entry.kind) {
        case Kind::COMMAND:
            item.word = entry.value;
            item.symbol = static_cast<std::uint16_t>(Control::COMMAND);
            item.prefix = item.lanes = item.command = true;
            item.first = 1;
            item.last = 3;
            item.notify = entry.value & reg::TX_COMMAND_NOTIFY;
            item.wait_ready = entry.value & reg::TX_COMMAND_WAIT_READY;
            break;
        case Kind::SYMBOL:
            item.symbol = static_cast<std::uint16_t>(entry.value);
            item.prefix = entry.value != static_cast<std::uint32_t>(Control::IDLE);
            break;
        case Kind::AREA:
            item.symbol = static_cast<std::uint16_t>(Control::START);
            item.prefix = entry.value & reg::TX_AREA_START;
            item.crc = entry.value & reg::TX_AREA_CRC;
            item.internet = entry.value & reg::TX_AREA_INTERNET;
            item.end = entry.value & reg::TX_AREA_END;
            item.notify = entry.value & reg::TX_AREA_NOTIFY;
            break;
    }
    return item;
}

}  // namespace nectar::fast

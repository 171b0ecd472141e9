// What a fast CAB will do at its next edges if it is left alone. docs/engine.md, "Naps".
#include "cab.h"
#include "port.h"

#include <algorithm>

namespace nectar::fast {

Cab::Rest Cab::rest() const {
    if (!streams_ || !timers_.rests() || held_.valid || held_.rst || pins_.rst || vme_) return {};
    if ((held_.rx_valid && held_.rx_payload >= CONTROL_BIT) || (pins_.rx_valid && pins_.rx_payload >= CONTROL_BIT)) {
        return {};
    }
    if (!out_.idle && !out_.sends_bytes()) return {};
    Rest rest;
    rest.sends = !out_.idle;
    rest.edges = in_.calm(rest.takes_bytes);
    if (!rest.takes_bytes && (held_.rx_valid | pins_.rx_valid)) return {};
    // An area may not be read while a packet is stored in it.
    if (rest.sends && in_.stores_at(out_.area())) return {};
    return rest;
}

std::size_t Cab::ahead(std::uint16_t* symbols, std::size_t most) const {
    return out_.ahead(data_.words(), symbols, most);
}

// edge() again and again, but for what stays as it is: accesses, and what interrupts tell.
__attribute__((flatten)) std::int64_t Cab::catch_up(Port& port, std::int64_t time, std::int64_t period,
                                                    std::int64_t edges) {
    std::int64_t awake = 0;
    bool idle = idle_;
    bool ready = held_.tx_ready;
    int symbol = held_.rx_valid ? held_.rx_payload : -1;
    for (std::int64_t left = edges; left > 0; --left) {
        if (out_.valid & port.ready) port.send_known(time);
        time += period;
        port.ready = port.last_start <= time;
        const int arrives = port.first <= time ? port.receive() : -1;
        awake += !idle || symbol >= 0 || arrives >= 0;
        const unsigned wants = (in_.writer.waits ? FIBER_IN : 0) | (out_.fetches() ? FIBER_OUT : 0);
        const unsigned given = wants ? arbitrate(wants) : 0;
        ++slot_;
        const bool stores = given & FIBER_IN && in_.writer.select;
        if (given & FIBER_IN) data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
        Errors errors;
        out_.edge(write_, data_.words(), given & FIBER_OUT, ready, false);
        in_.edge(write_, read_, given & FIBER_IN, symbol, errors);
        if (!interrupts_.settled()) interrupts_.edge(write_, states(), 0);
        idle = out_.idle && in_.idle && !stores;
        ready = port.ready;
        symbol = arrives;
    }
    timers_.pass(static_cast<std::uint32_t>(edges));
    held_.tx_ready = ready;
    held_.rx_valid = symbol >= 0;
    if (symbol >= 0) held_.rx_payload = static_cast<std::uint16_t>(symbol);
    pins_.rx_valid = held_.rx_valid;
    idle_ = idle;
    return awake;
}

bool Cab::minds(std::uint32_t address) const {
    address &= ~3u;
    if (address - region::DATA < region::DATA_BYTES) return out_.area().meets({address - region::DATA, 4});
    if (address - region::PROGRAM < region::PROGRAM_BYTES) return false;
    switch (address) {
        case reg::IRQ_PENDING:
        case reg::IRQ_ENABLE:
        case reg::RX_RELEASE:
        case reg::RX_ADDRESS:
        case reg::TX_COMMAND:
        case reg::TX_SYMBOL:
        case reg::TX_ADDRESS:
        case reg::TX_AREA: return false;
        default: return true;
    }
}

// The part that has not been read of the area that is being sent.
Place FiberOut::area() const { return {address_, state_ == State::NEXT ? 0 : remaining_}; }

// The bytes that leave next: those that wait for the fiber, those of words that were read, and those that will be read,
// but for the last four. Behind them may come something else than bytes.
std::size_t FiberOut::ahead(const std::uint32_t* memory, std::uint16_t* symbols, std::size_t most) const {
    constexpr std::size_t KEPT = 4;
    const std::uint32_t untold = threshold > progress_ ? threshold - progress_ - 1 : LENGTH_MASK - progress_;
    most = std::min<std::size_t>(most, untold);
    if (most <= KEPT + 2) return 0;
    most += KEPT;
    std::size_t count = 0;
    symbols[count++] = front_.symbol;
    symbols[count++] = spare_.symbol;
    const auto add = [&](std::uint32_t word, unsigned first, unsigned last) {
        for (unsigned lane = first; lane <= last && count < most; ++lane) {
            symbols[count++] = word >> (24 - 8 * lane) & 0xFF;
        }
    };
    bool plain = true;
    add(item_.word, item_.first, item_.last);
    for (unsigned n = 0; n < items_.level() && count < most; ++n) {
        const Item& item = items_.at(n);
        plain = item.lanes && !(item.prefix | item.command | item.crc | item.end | item.notify);
        if (!plain) break;
        add(item.word, item.first, item.last);
    }
    if (plain && state_ != State::NEXT && !(flags_ & reg::TX_AREA_START)) {
        std::uint32_t at = address_, left = remaining_;
        for (; left > 4 && count < most; ++count, ++at, --left) {
            symbols[count] = memory[at / 4] >> (24 - 8 * (at & 3)) & 0xFF;
        }
    }
    return count > KEPT ? count - KEPT : 0;
}

// For how many edges nothing happens that a CPU would hear of, unless a control code arrives; `bytes`: bytes may.
std::uint32_t FiberIn::calm(bool& bytes) const {
    constexpr std::uint32_t MARGIN = 8;
    bytes = false;
    if (symbol_ >= CONTROL_BIT || (reply_left_ | command_left_)) return 0;
    if (level + MARGIN >= QUEUE_SYMBOLS) return 0;
    const std::uint32_t room = QUEUE_SYMBOLS - MARGIN - level;
    std::uint32_t edges = room;
    switch (state_) {
        case State::CLOSED:
            // The next packet waits for software to take the last one.
            bytes = received_ && !(mode & reg::RX_MODE_DIRECT) && head_ != visible_ &&
                    (ring_[head_ % RING] & 0x1FF) == static_cast<std::uint16_t>(Control::START);
            return bytes || rests_ ? room : 0;
        case State::WAIT: break;
        case State::BODY:
            if (ended_ || discarded_) return 0;
            if (threshold > stored_) edges = std::min(edges, threshold - stored_ - 1);
            for (std::uint32_t n = 0; n < level && n < edges; ++n) {
                if (ring_[(head_ + n) % RING] >= CONTROL_BIT) edges = n;
            }
            break;
        default: return 0;
    }
    bytes = true;
    return edges;
}

// Whether a byte of the packet may be stored there.
bool FiberIn::stores_at(const Place& place) const {
    return place.length && (writer.stores_at(place) || scatter.stores_at(place));
}

}  // namespace nectar::fast
